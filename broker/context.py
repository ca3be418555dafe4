"""What a handler is given beside the request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shareq.broker.broker import Broker
    from shareq.broker.frame_queue import Connection


@dataclass(frozen=True, slots=True)
class RequestContext:
    """Who asks, and in which version. Shared by all requests of a connection that agree in both."""

    broker: Broker
    connection: Connection
    api_version: int
    client_id: str | None
