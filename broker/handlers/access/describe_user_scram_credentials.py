"""DescribeUserScramCredentials: v0 (KIP-554).

Behaviour: returns the users with credentials, their mechanisms and iterations, but never salt or keys. A request
without names means all users. A user named twice gets DUPLICATE_RESOURCE, one without credentials RESOURCE_NOT_FOUND.
DESCRIBE on the cluster is needed.
"""

from __future__ import annotations

from collections import Counter

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.security.credentials import SCRAM_NUMBERS, CredentialKey
from shareq.broker.security.rights import DESCRIBE_CLUSTER
from shareq.protocol.errors import ErrorCode, text_of
from shareq.protocol.generated.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)


async def handle(
    ctx: RequestContext, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    if not ctx.may(DESCRIBE_CLUSTER):
        error = DESCRIBE_CLUSTER.error
        return DescribeUserScramCredentialsResponse(error_code=error, error_message=text_of(error))
    if request.users:
        times = Counter(user.name for user in request.users)
    else:
        times = Counter({key.user: 1 for key in sorted(ctx.services.metadata.credentials)})
    response = DescribeUserScramCredentialsResponse(error_message=None)
    for user, count in times.items():
        response.results.append(_result(ctx, user, repeated=count > 1))
        await ctx.breathe()
    return response


def _result(ctx: RequestContext, user: str, *, repeated: bool) -> DescribeUserScramCredentialsResult:
    if repeated:
        message = f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
        return DescribeUserScramCredentialsResult(user, ErrorCode.DUPLICATE_RESOURCE, message)
    credentials = ctx.services.metadata.credentials
    infos = [
        CredentialInfo(number, credential.iterations)
        for number, mechanism in SCRAM_NUMBERS.items()
        if (credential := credentials.get(CredentialKey(user, mechanism))) is not None
    ]
    if not infos:
        message = f"Attempt to describe a user credential that does not exist: {user}"
        return DescribeUserScramCredentialsResult(user, ErrorCode.RESOURCE_NOT_FOUND, message)
    return DescribeUserScramCredentialsResult(user, ErrorCode.NONE, None, infos)
