"""UnregisterBroker: v0 (KIP-746).

Behaviour: there is one broker, which is needed: INVALID_REQUEST for its id, BROKER_ID_NOT_REGISTERED for any other.
ALTER on the cluster is needed.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.security.rights import ALTER_CLUSTER
from shareq.protocol.errors import ErrorCode, text_of
from shareq.protocol.generated.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse


def handle(ctx: RequestContext, request: UnregisterBrokerRequest) -> UnregisterBrokerResponse:
    broker_id = request.broker_id
    if not ctx.may(ALTER_CLUSTER):
        return UnregisterBrokerResponse(error_code=ALTER_CLUSTER.error, error_message=text_of(ALTER_CLUSTER.error))
    if broker_id == ctx.services.started_with.node_id:
        message = f"Broker ID {broker_id} is the only broker, and answers this"
        return UnregisterBrokerResponse(error_code=ErrorCode.INVALID_REQUEST, error_message=message)
    message = f"Broker ID {broker_id} is not currently registered"
    return UnregisterBrokerResponse(error_code=ErrorCode.BROKER_ID_NOT_REGISTERED, error_message=message)
