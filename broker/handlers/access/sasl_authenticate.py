"""SaslAuthenticate: v0-2 (KIP-152, KIP-368).

Behaviour: carries the tokens of a SASL mechanism; each one is answered, the last one of PLAIN with an empty token. A
failure is SASL_AUTHENTICATION_FAILED with a message that reveals nothing about users, returned after a delay
(connection.failed.authentication.delay.ms), and the connection is closed. v1: the response has the lifetime of the
session in milliseconds; 0 if it lasts until the connection ends.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.pending import Pending
from shareq.broker.security.sasl_mechanisms import AuthenticationFailed
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse

_TOO_LATE = "SaslAuthenticate request received after successful authentication"


def handle(
    ctx: RequestContext, request: SaslAuthenticateRequest
) -> SaslAuthenticateResponse | Pending[SaslAuthenticateResponse]:
    gate = ctx.connection.gate
    if gate is None or not gate.expects_token:
        return SaslAuthenticateResponse(ErrorCode.ILLEGAL_SASL_STATE, _TOO_LATE)
    try:
        answer = gate.token(bytes(request.auth_bytes))
    except AuthenticationFailed as error:
        return gate.after_failure(SaslAuthenticateResponse(ErrorCode.SASL_AUTHENTICATION_FAILED, str(error)))
    return SaslAuthenticateResponse(ErrorCode.NONE, None, answer.token, answer.lifetime_ms)
