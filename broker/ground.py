"""The port to a broker's ground: its topics, their records, the coordinators' logs and the states.

A ground is created outside and passed to the broker. The broker's parts, the handlers for every ground and the
metrics of all brokers use it only through this port. A ground names what is specific to it: its own table of
handlers and its own module of metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from shareq.broker.config.service import ConfigService
from shareq.broker.coordinator_runtime.ports import CoordinatorHost
from shareq.broker.fetch.ports import FetchedLog
from shareq.broker.foundation.handler_rows import HandlerRow
from shareq.broker.foundation.loop.turns import Turns
from shareq.broker.foundation.pending import Pending
from shareq.broker.groups.ports import ShareStates
from shareq.broker.metadata.ports import Metadata
from shareq.broker.share.dlq.ports import QueueTopics
from shareq.broker.share.persister import Persister
from shareq.broker.share.ports import RecordSource, RecordSources
from shareq.broker.topics.leaders import Leaders
from shareq.broker.topics.lookup import PartitionLookup
from shareq.broker.topics.nodes import NodesView
from shareq.broker.topics.ports import CoordinatorTopics
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ApiError

ServicesT_contra = TypeVar("ServicesT_contra", contravariant=True)


class ShareStateStore(Persister, ShareStates, Protocol):
    """A store of the states of share partitions, for their leaders and for the group coordinator."""


class HeardSources(RecordSources, Protocol):
    """The sources from which share partitions read, and news of them."""

    def add_listener(self, on_high_watermark: Callable[[RecordSource], None]) -> None:
        """Call `on_high_watermark` with each source whose high watermark has moved, or whose new records can be read
        now.
        """


class FetchedLogs(Protocol):
    """News of the logs from which consumers fetch."""

    def add_listener(self, on_high_watermark: Callable[[FetchedLog], None]) -> None:
        """Call `on_high_watermark` with each log whose high watermark has moved, or whose new records can be read
        now.
        """

    def add_log_start_listener(self, on_log_start: Callable[[FetchedLog], None]) -> None:
        """Call `on_log_start` with each log whose start offset has moved."""


class Ground(Protocol[ServicesT_contra]):
    """The ground under a broker. Its user calls `open` once and `close` once, even if `open` failed.

    `name` is its name in messages. `host` has the parts that the broker's coordinators use. `states` stores the
    states of share partitions; None means this broker's share coordinator. `handlers` are the RPCs served on it.
    `metrics` is the full name of the module with its metrics; `first_used` are further modules that are imported at
    the first use of a feature. All modules are imported when they are first needed.
    """

    @property
    def name(self) -> str: ...
    @property
    def metadata(self) -> Metadata: ...
    @property
    def configs(self) -> ConfigService: ...
    @property
    def leaders(self) -> Leaders: ...
    @property
    def host(self) -> CoordinatorHost: ...
    @property
    def sources(self) -> HeardSources: ...
    @property
    def fetched(self) -> FetchedLogs: ...
    @property
    def lookup(self) -> PartitionLookup[FetchedLog]: ...
    @property
    def states(self) -> ShareStateStore | None: ...
    @property
    def internal_topics(self) -> CoordinatorTopics: ...
    @property
    def handlers(self) -> Mapping[ApiKey, HandlerRow]: ...
    @property
    def metrics(self) -> str: ...
    @property
    def first_used(self) -> Sequence[str]: ...
    @property
    def nodes(self) -> NodesView | None:
        """All nodes that serve the ground together; None if this broker is alone on it."""

    @property
    def problem(self) -> str | None:
        """The reason why clients are not served now, in a few words; None if they are."""

    def queues(self, turns: Turns) -> QueueTopics:
        """Return the port for dead-letter queues. Its long work is done in `turns`."""

    async def auto_create(self, names: Sequence[str]) -> Mapping[str, ApiError]:
        """Create topics for a client that asks for their metadata: a few, each named once.

        Return the errors of topics that could not be created, by name. A topic without an error may exist only a
        little later.
        """

    def open(self, services: ServicesT_contra) -> None:
        """Begin to serve the broker of these services: load its coordinators, and call the listeners from now on.

        A part of the ground that needs the broker's events adds itself to `services.made`. After an exception the
        ground cannot be used, but the caller must still call `close`.
        """

    def leave(self) -> Pending[None]:
        """Hand over to other brokers what is served here, after the last request was answered.

        The result arrives when they know it; the caller then calls `close`, or earlier if that takes too long.
        """

    def close(self, *, clean: bool) -> None:
        """Write everything out and close the ground, after all services have stopped. Unless `clean`, leave it as a
        crash would.

        No callback is called after this.
        """
