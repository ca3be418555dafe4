"""The port for requests to the brokers of a node's cluster, by which alone other parts of a node reach brokers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, StrEnum
from typing import NamedTuple, Protocol

from shareq.broker.foundation.pending import Pending
from shareq.protocol.primitives import Message


class Purpose(StrEnum):
    """The purpose of a connection.

    A broker answers the requests of one connection in their order, so a request that may wait long has a separate
    connection.
    """

    GENERAL = "general"
    STATE = "state"  # appends to state topics, and what a take-over reads
    TAIL = "tail"  # fetches that wait for records
    BEHIND = "behind"  # fetches for readers that are behind
    CONFIG = "config"  # a fetch that waits for what other nodes set
    MEMBERSHIP = "membership"
    FORWARD = "forward"  # what clients asked
    COORDINATOR = "coordinator"  # what clients asked of groups and transactions


class Failure(Enum):
    """The kinds of reasons for a request without an answer."""

    NOT_SENT = "not sent"  # no broker saw it: it cannot be reached, or is not known
    LOST = "lost"  # it may have been handled, or may be handled yet
    UNSUPPORTED = "unsupported"  # the broker does not serve the API in any of the versions asked for
    REFUSED = "refused"  # the broker does not take the node's credentials


class LinkFailure(NamedTuple):
    """The value that a caller gets in place of an answer. `text` names the broker and says what happened."""

    failure: Failure
    text: str


class BrokerAddress(NamedTuple):
    """The address of a broker of the cluster, or of a node."""

    host: str
    port: int


class Link(Protocol):
    """Requests to brokers by node id. Each broker, purpose and lane has a connection, which is opened when it is
    needed.

    Requests of one connection are sent in the order of the calls and answered in that order. No request is sent twice.
    When a connection is lost, all its waiting requests fail, in order, before any is sent on a new one.

    The addresses of brokers are learned from every answer of Metadata, DescribeCluster and FindCoordinator.
    """

    @property
    def brokers(self) -> Mapping[int, BrokerAddress]:
        """The addresses of the known brokers, by node id. Empty until the first answer has come."""

    def send(
        self,
        node: int | None,
        message: Message,
        *,
        purpose: Purpose = Purpose.GENERAL,
        timeout_ms: int | None = None,
        min_version: int = 0,
        max_version: int | None = None,
        lane: int = 0,
    ) -> Pending[Message | LinkFailure]:
        """Send a request to a broker; None as `node`: to any broker.

        Return its answer or the failure, which comes within the timeout (by default the link's `request.timeout.ms`).
        """

    def offers(self, node: int | None, api_key: int) -> int | None:
        """Return the highest version of an API that both the broker and this release serve; None if there is none, or
        the broker's versions are unknown.
        """

    def on_lost(self, listener: Callable[[int, Purpose], None]) -> None:
        """Call `listener` with node id and purpose whenever an open connection is lost."""

    def close(self) -> None:
        """Close all connections. Requests under way fail, and so do all later ones."""


class NodeLink(Protocol):
    """Requests to the other nodes, by node id. Each node and lane has one connection, opened when it is needed.
    Requests of a lane are sent in the order of the calls, and never twice.
    """

    def know(self, nodes: Mapping[int, BrokerAddress]) -> None:
        """Set the addresses of all other nodes."""

    def send(
        self, node: int, message: Message, *, timeout_ms: int, min_version: int = 0, lane: int = 0
    ) -> Pending[Message | LinkFailure]:
        """Send a request to a node; return its answer or the failure, which comes within the timeout."""

    def close(self) -> None:
        """Close all connections. Requests under way fail, and so do all later ones."""
