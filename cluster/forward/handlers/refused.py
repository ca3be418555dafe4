"""Refused RPCs: those of producers, with `--no-proxy`; WriteTxnMarkers, because brokers write the markers; the start of
a redrive, which reads logs of its topics that a node does not have.

Behaviour: each part of the request gets POLICY_VIOLATION, which no client retries. The error message, if the response
has a field for it, and a line in the log name the cluster's addresses.
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import Final

from shareq.broker.dispatch.table import HANDLERS
from shareq.cluster.forward.forwarding import OF_PRODUCERS, ForwardContext
from shareq.protocol.api_keys import ApiKey, codec
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.produce import ProduceResponse
from shareq.protocol.primitives import Message

CONTEXT = ForwardContext
logger = logging.getLogger(__name__)

_NO_REDRIVES: Final = (
    "This node keeps no data, and sends no dead letters back; who consumes the queue can produce its records again."
)


def handle(ctx: ForwardContext, request: Message) -> Message:
    """Refuse the request."""
    key = ApiKey(request.API_KEY)
    where = _where_to_go(ctx, key)
    ctx.warn(logger, "refused %s of client id %r: %s", key.name, ctx.client_id, where)
    response = _refused(key, request)
    if "error_message" in type(response).FIELDS:
        response.error_message = where  # type: ignore[attr-defined]
    elif isinstance(response, ProduceResponse):
        for topic in response.responses:
            for row in topic.partition_responses:
                row.error_message = where
    return response


def _where_to_go(ctx: ForwardContext, key: ApiKey) -> str:
    if key is ApiKey.START_REDRIVE:
        return _NO_REDRIVES
    return ctx.forwarding.where_to_produce if key in OF_PRODUCERS else ctx.forwarding.where_to_write_markers


def _refused(key: ApiKey, request: Message) -> Message:
    module = import_module(HANDLERS[key].module)
    failed = getattr(module, "failed", None)
    if failed is not None:
        response: Message = failed(request, ErrorCode.POLICY_VIOLATION)
        return response
    return codec(key).response_class(error_code=ErrorCode.POLICY_VIOLATION)  # type: ignore[call-arg]
