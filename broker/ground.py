"""The port to a broker's ground: its topics, their records, the coordinators' logs and the states.

A ground is made outside and given to the broker. The broker's parts, the handlers that serve every ground and the
metrics that all brokers have know it by this port alone. What serves one ground only is named by that ground: in its
own table of handlers, by its own module of metrics.
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
    """Keeps the state of share partitions, for their leaders and for the group coordinator."""


class HeardSources(RecordSources, Protocol):
    """The sources that share partitions read from, and news of them."""

    def add_listener(self, on_high_watermark: Callable[[RecordSource], None]) -> None:
        """Call back after a source's high watermark moved, or has come in reach."""


class FetchedLogs(Protocol):
    """News of the logs that consumers fetch from."""

    def add_listener(self, on_high_watermark: Callable[[FetchedLog], None]) -> None:
        """Call back after a log's high watermark moved, or has come in reach."""

    def add_log_start_listener(self, on_log_start: Callable[[FetchedLog], None]) -> None:
        """Call back after a log's start offset moved."""


class Ground(Protocol[ServicesT_contra]):
    """The ground under a broker. Its user opens it once and closes it once, in the end also if opening it failed.

    `name` is its name in messages. The broker's coordinators run on `host`. `states` keeps the state of share
    partitions; None means this broker's share coordinator. `handlers` are the RPCs served on it. `metrics` is the full
    name of the module with its metrics; `first_used` are further modules that are imported at the first use of a
    feature. All modules are imported when they are first needed.
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
        """Return the topics that dead letters are written to. Long work on them is done in `turns`."""

    async def auto_create(self, names: Sequence[str]) -> Mapping[str, ApiError]:
        """Create topics as they are created for a client that asks for their metadata: a few, each once. Return why
        some could not be, by name; one without an error may exist a while later.
        """

    def open(self, services: ServicesT_contra) -> None:
        """Begin to serve the broker of these services: have its coordinators load, and call the listeners from now on.

        A part of the ground that wants the broker's events adds itself to `services.made`. An exception means that the
        ground cannot be used; the caller must call `close` then, too.
        """

    def leave(self) -> Pending[None]:
        """Hand over to other brokers what is served here, when the last request is answered. Arrives when they know it;
        `close` follows, then or if that takes too long.
        """

    def close(self, *, clean: bool) -> None:
        """Write everything out and close it, when all services have stopped; unless `clean`, leave it as a crash would.

        Nothing is called after this.
        """
