"""AlterUserScramCredentials: v0 (KIP-554).

Behaviour: every user is handled separately; all valid changes are made, up to 500 users in one commit. The client sends
the salted password, never the password; only the keys derived from it are kept. A user named twice gets
DUPLICATE_RESOURCE; the removal of a missing credential gets RESOURCE_NOT_FOUND; fewer than 4096 or more than 16384
iterations, or no salted password, get UNACCEPTABLE_CREDENTIAL. Any salt is accepted. ALTER on the cluster is needed.
Connected clients stay connected.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.turn_budget import pieces
from shareq.broker.metadata.changes import PutScram
from shareq.broker.security.credentials import MAX_ITERATIONS, MIN_ITERATIONS, SCRAM_NUMBERS, CredentialKey
from shareq.broker.security.rights import ALTER_CLUSTER
from shareq.broker.security.scram_keys import credential_from_salted
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode, text_of
from shareq.protocol.generated.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)

logger = logging.getLogger(__name__)

_TWICE: Final = ApiError(ErrorCode.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request")
_MISSING: Final = ApiError(ErrorCode.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist")


CHANGED_TOGETHER: Final = 500
"""The most users checked and changed in one commit, 10 µs each plus the time of the disk."""


async def handle(ctx: RequestContext, request: AlterUserScramCredentialsRequest) -> AlterUserScramCredentialsResponse:
    if not ctx.may(ALTER_CLUSTER):
        return failed(request, ALTER_CLUSTER.error)
    times = Counter(_users(request))
    outcomes: dict[str, ApiError] = {}
    wanted: list[ScramCredentialDeletion | ScramCredentialUpsertion] = [*request.deletions, *request.upsertions]
    for some in pieces(wanted, CHANGED_TOGETHER):
        await ctx.services.metadata.gate.passing()
        changes: list[PutScram] = []
        for each in some:
            change = _TWICE if times[each.name] > 1 else _change(ctx, each)
            outcomes[each.name] = change if isinstance(change, ApiError) else NO_ERROR
            if isinstance(change, PutScram):
                changes.append(change)
        failure = await ctx.services.metadata.alter_credentials(changes)
        if failure:
            logger.error("credentials: not changed: %s", failure.message)
            outcomes.update((change.key.user, failure) for change in changes)
        await ctx.breathe(len(some))
    response = AlterUserScramCredentialsResponse()
    for user, outcome in outcomes.items():
        response.results.append(AlterUserScramCredentialsResult(user, *outcome))
        await ctx.breathe()
    return response


def failed(request: AlterUserScramCredentialsRequest, error: ErrorCode) -> AlterUserScramCredentialsResponse:
    return AlterUserScramCredentialsResponse(
        results=[
            AlterUserScramCredentialsResult(user, error, text_of(error)) for user in dict.fromkeys(_users(request))
        ]
    )


def _users(request: AlterUserScramCredentialsRequest) -> list[str]:
    return [each.name for each in request.deletions] + [each.name for each in request.upsertions]


def _change(ctx: RequestContext, wanted: ScramCredentialDeletion | ScramCredentialUpsertion) -> PutScram | ApiError:
    mechanism = SCRAM_NUMBERS.get(wanted.mechanism)
    if not wanted.name:
        return ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if mechanism is None:
        return ApiError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    key = CredentialKey(wanted.name, mechanism)
    if isinstance(wanted, ScramCredentialDeletion):
        return PutScram(key, None) if key in ctx.services.metadata.credentials else _MISSING
    if wanted.iterations < MIN_ITERATIONS:
        return ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    if wanted.iterations > MAX_ITERATIONS:
        return ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    salted = bytes(wanted.salted_password)
    if not salted:
        return ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "The salted password is empty")
    return PutScram(key, credential_from_salted(mechanism, bytes(wanted.salt), salted, wanted.iterations))
