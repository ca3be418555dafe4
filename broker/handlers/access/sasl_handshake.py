"""SaslHandshake: v0-1 (KIP-43, KIP-152, KIP-368).

Behaviour: agrees on a SASL mechanism. A mechanism that is not enabled gets UNSUPPORTED_SASL_MECHANISM with a list of
the enabled ones, and the connection is closed. If the client need not authenticate, or has authenticated and need not
do so again: ILLEGAL_SASL_STATE. v0: the tokens follow without a request header, each behind its size. v1: the tokens
are in SaslAuthenticate requests.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.pending import Pending
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse


def handle(
    ctx: RequestContext, request: SaslHandshakeRequest
) -> SaslHandshakeResponse | Pending[SaslHandshakeResponse]:
    gate = ctx.connection.gate
    if gate is None:
        return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
    mechanisms = list(gate.mechanisms)
    if request.mechanism not in mechanisms:
        ctx.connection.close("it asks for a SASL mechanism that is not enabled")
        return gate.after_failure(SaslHandshakeResponse(ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms))
    if not gate.handshake(request.mechanism, raw=ctx.api_version == 0):
        return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
    return SaslHandshakeResponse(ErrorCode.NONE, mechanisms)
