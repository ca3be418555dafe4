"""MoveUserScramCredentials: v0 (shareq's own, ADR 20).

Behaviour: a request without credentials returns all existing ones, with salt and keys, which let the reader log in as
any of the users. So ALTER on the cluster is needed, and a broker without an authorizer returns none
(SECURITY_DISABLED). A request with credentials adds them, up to 500 in one commit. If the user already has a different
credential for the mechanism, that stays (DUPLICATE_RESOURCE); an equal one is no error. A credential that no password
could have produced gets UNACCEPTABLE_CREDENTIAL.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from shareq.broker.foundation.turn_budget import pieces
from shareq.broker.metadata.changes import PutScram
from shareq.broker.security.credentials import (
    MAX_ITERATIONS,
    MIN_ITERATIONS,
    SCRAM_NUMBERS,
    CredentialKey,
    ScramCredential,
)
from shareq.broker.security.rights import ALTER_CLUSTER
from shareq.broker.security.scram_keys import HASHES
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode, text_of
from shareq.protocol.generated.move_user_scram_credentials import (
    MovedScramCredential,
    MovedScramResult,
    MoveUserScramCredentialsRequest,
    MoveUserScramCredentialsResponse,
    ShownScramCredential,
)

if TYPE_CHECKING:
    from shareq.broker.dispatch.context import RequestContext

logger = logging.getLogger(__name__)

ADDED_TOGETHER: Final = 500
"""The most credentials added in one commit, about 10 µs each plus the time of the disk."""
_NUMBERS: Final = {name: number for number, name in SCRAM_NUMBERS.items()}
_SIZES: Final = {mechanism: hashlib.new(name).digest_size for mechanism, name in HASHES.items()}


async def handle(ctx: RequestContext, request: MoveUserScramCredentialsRequest) -> MoveUserScramCredentialsResponse:
    if not ctx.may(ALTER_CLUSTER):
        return _refused(ALTER_CLUSTER.error, text_of(ALTER_CLUSTER.error))
    if request.credentials is not None:
        return await _added(ctx, request.credentials)
    if ctx.services.authorizer is None:
        return _refused(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured on the broker")
    response = MoveUserScramCredentialsResponse()
    for key, kept in sorted(ctx.services.metadata.credentials.items()):
        row = ShownScramCredential(
            key.user, _NUMBERS[key.mechanism], kept.iterations, kept.salt, kept.stored_key, kept.server_key
        )
        response.credentials.append(row)
        await ctx.breathe()
    return response


def _refused(error: ErrorCode, message: str) -> MoveUserScramCredentialsResponse:
    return MoveUserScramCredentialsResponse(error_code=error, error_message=message)


async def _added(ctx: RequestContext, wanted: Sequence[MovedScramCredential]) -> MoveUserScramCredentialsResponse:
    response = MoveUserScramCredentialsResponse()
    for some in pieces(wanted, ADDED_TOGETHER):
        await ctx.services.metadata.gate.passing()
        changes: dict[CredentialKey, PutScram] = {}
        outcomes = [_look(ctx, each, changes) for each in some]
        failure = await ctx.services.metadata.alter_credentials(list(changes.values()))
        if failure:
            logger.error("credentials: not added: %s", failure.message)
        for each, outcome in zip(some, outcomes, strict=True):
            response.results.append(MovedScramResult(each.user, each.mechanism, *(outcome or failure)))
        await ctx.breathe(len(some))
    return response


def _look(ctx: RequestContext, wanted: MovedScramCredential, changes: dict[CredentialKey, PutScram]) -> ApiError:
    """Add a credential to the changes unless it exists. Return the error if it may not be added, or NO_ERROR."""
    mechanism = SCRAM_NUMBERS.get(wanted.mechanism)
    if mechanism is None:
        return ApiError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    size = _SIZES[mechanism]
    if (
        not wanted.user
        or not MIN_ITERATIONS <= wanted.iterations <= MAX_ITERATIONS
        or not len(wanted.stored_key) == len(wanted.server_key) == size
    ):
        return ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "No password could have made this credential")
    key = CredentialKey(wanted.user, mechanism)
    credential = ScramCredential(
        bytes(wanted.salt), bytes(wanted.stored_key), bytes(wanted.server_key), wanted.iterations
    )
    known = ctx.services.metadata.credentials.get(key)
    if known is None and key in changes:
        known = changes[key].credential
    if known is None:
        changes[key] = PutScram(key, credential)
    elif known != credential:
        return ApiError(ErrorCode.DUPLICATE_RESOURCE, "The user has another credential of this mechanism")
    return NO_ERROR
