"""A node's metadata: the topics of its cluster as clients may see them, and the nodes' common configuration.

    topics                  the cluster's, by the mirror; a name or an id that it lacks is asked for when a client asks
    coordinators' topics    by Apache Kafka's names, with the partitions of the nodes' state topics; they always exist
    hidden                  the nodes' own topics, and the cluster's with the coordinators' names
    properties, users,      a state that all nodes read from one log of the cluster, and write to it (`KeptByNodes`)
    rights, quotas

Features, as far as they are about the cluster's records, are the cluster's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, Protocol, TypeVar

from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.commit_gate import CommitGate
from shareq.broker.foundation.pending import Pending, completed, gather
from shareq.broker.metadata.changes import (
    DropAcl,
    MetaChange,
    MetaState,
    PutAcl,
    PutConfig,
    PutQuota,
    PutScram,
    ResourceName,
)
from shareq.broker.metadata.features import DEAD_LETTERS, GROUP_VERSION, SHARE_GROUPS, SHARE_VERSION
from shareq.broker.metadata.news import News
from shareq.broker.metadata.topic_names import name_error
from shareq.broker.quotas.entity import QuotaEntity
from shareq.broker.security.acls import Acl
from shareq.broker.security.credentials import CredentialKey, ScramCredential
from shareq.cluster.forward.forwarding import is_hidden
from shareq.cluster.mirror.topics import MOST_TOPICS, Found, TopicMirror
from shareq.cluster.state.slot import StateTopic
from shareq.coordinator.ports import TopicImage
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode
from shareq.protocol.primitives import ZERO_UUID

T = TypeVar("T")

HEARING_MS: Final = 5_000
"""The time for which a client's request waits until the cluster has answered; a client waits little longer for its own
answer.
"""
MOST_DELETED: Final = 1_000
"""The number of deleted topics whose names are remembered."""

_UNHEARD: Final = ErrorCode.REQUEST_TIMED_OUT
_NO_CONFIGS: Final[Mapping[str, str]] = {}


class KeptByNodes(Protocol):
    """The metadata that nodes keep together, apart from share groups. All nodes apply the same changes in the same
    order.
    """

    @property
    def state(self) -> MetaState:
        """The properties, rights, users and quotas read so far. The caller must not change them."""

    @property
    def secret(self) -> bytes:
        """Random bytes that all nodes know, and no client."""

    def write(self, changes: Sequence[MetaChange]) -> Pending[ApiError]:
        """Write all changes, or none. Completes when `state` shows them, or with an error, after which they may still
        appear.
        """

    def on_change(self, listener: Callable[[Sequence[MetaChange]], None]) -> None:
        """Call `listener` with changes of any node after `state` shows them."""

    def close(self) -> None:
        """Apply no more changes; complete all waiting writes with an error."""


class NodeMetadata:
    """`Metadata` of a node, and its `Hearing`. `internal` are the state topics by the coordinators' names for them,
    `features` the level of share groups as configured, and all other levels as the cluster has them.
    """

    def __init__(
        self,
        env: Environment,
        mirror: TopicMirror,
        kept: KeptByNodes,
        *,
        cluster_id: str,
        features: Mapping[str, int],
        internal: Mapping[str, StateTopic],
    ) -> None:
        self.cluster_id: Final = cluster_id
        self.features: Final = dict(features)
        self.features_epoch: Final = 1
        self.gate: Final = CommitGate(env.clock.call_soon)
        """Always open: nothing that is written waits for a disk here."""
        self._clock: Final = env.clock
        self._budget: Final = env.budget
        self._mirror: Final = mirror
        self._kept: Final = kept
        self._internal: Final = {
            name: TopicImage(name, topic.topic_id, topic.partitions, internal=True) for name, topic in internal.items()
        }
        self._internal_by_id: Final = {image.topic_id: image for image in self._internal.values()}
        self._deleted: Final[deque[TopicImage]] = deque(maxlen=MOST_DELETED)
        self._news: Final = News()
        self.on_topics_deleted(self._deleted.extend)
        kept.on_change(self._news.notify)

    # -- features

    @property
    def share_groups_enabled(self) -> bool:
        return self.features.get(SHARE_VERSION, 0) >= SHARE_GROUPS

    @property
    def dead_letters_enabled(self) -> bool:
        return self.features.get(SHARE_VERSION, 0) >= DEAD_LETTERS

    @property
    def consumer_groups_enabled(self) -> bool:
        return self.features.get(GROUP_VERSION, 0) >= 1

    # -- topics

    def topic(self, name: str) -> TopicImage | None:
        """Return a topic by its name. For an unknown one return None and ask the cluster; listeners are called if it
        exists.
        """
        own = self._internal.get(name)
        return own if own is not None or is_hidden(name) else self._mirror.topic(name)

    def topic_by_id(self, topic_id: bytes) -> TopicImage | None:
        """Return a topic by its id. For an unknown one return None and ask the cluster; listeners are called if it
        exists.
        """
        own = self._internal_by_id.get(topic_id)
        if own is not None:
            return own
        image = self._mirror.topic_by_id(topic_id)
        return None if image is None or is_hidden(image.name) else image

    def topics(self) -> list[TopicImage]:
        """Return all known topics, sorted by name."""
        seen = [image for image in self._mirror.topics() if not is_hidden(image.name)]
        return sorted([*self._internal.values(), *seen], key=lambda image: image.name)

    def topic_names(self) -> list[str]:
        """Return the names of all known topics, sorted."""
        return [image.name for image in self.topics()]

    def deleted_topics(self) -> list[TopicImage]:
        """Return the topics whose deletion was proved last, at most MOST_DELETED."""
        return list(self._deleted)

    # -- hearing

    @property
    def hearing(self) -> NodeMetadata:
        """This object itself, which asks the mirror."""
        return self

    async def of(self, topics: Iterable[str] | Iterable[str | bytes]) -> Collection[str | bytes]:
        """Have the mirror ask for the topics that it lacks, a limited number at a time. Return those without an answer
        in time.
        """
        unheard: list[str | bytes] = []
        lacking: dict[str | bytes, None] = {}
        give_up_ms = self._clock.now_ms() + HEARING_MS
        for key in topics:
            if self._is_lacking(key):
                lacking[key] = None
                if len(lacking) == MOST_TOPICS:
                    unheard += await self._ask_for(lacking, give_up_ms)
                    lacking.clear()
            await self._budget.breathe()
        unheard += await self._ask_for(lacking, give_up_ms)
        return unheard

    def _is_lacking(self, key: str | bytes) -> bool:
        if isinstance(key, bytes):
            return key != ZERO_UUID and key not in self._internal_by_id
        return self._mirror.known(key) is None and name_error(key) is None and _is_shown(key)

    async def _ask_for(self, keys: Collection[str | bytes], give_up_ms: int) -> list[str | bytes]:
        if self._clock.now_ms() >= give_up_ms:
            return list(keys)
        found: dict[str | bytes, Found] = {}
        asked = [self._mirror.find(key).then(partial(found.setdefault, key)) for key in keys]
        await self._until(gather(asked), give_up_ms)
        return [key for key in keys if found.get(key, _UNHEARD) is _UNHEARD]

    def _until(self, heard: Pending[T], give_up_ms: int) -> Pending[None]:
        """Return a `Pending` that is completed when `heard` is, or at `give_up_ms`."""
        over: Pending[None] = Pending()
        timer = self._clock.call_at(give_up_ms, lambda: None if over.done else over.complete(None))
        heard.on_complete(lambda _value: None if over.done else over.complete(None))
        over.on_complete(lambda _none: timer.cancel())
        return over

    async def of_all(self) -> None:
        """Have the mirror ask for all topics. If the answer is late, callers use the known topics."""
        await self._until(self._mirror.find_all(_is_shown), self._clock.now_ms() + HEARING_MS)

    # -- what the nodes keep

    def configs(self, kind: str, name: str) -> Mapping[str, str]:
        """Return the properties that are set on a group or a node. Those of topics are kept by the cluster."""
        return self._kept.state.configs.get(ResourceName(kind, name), _NO_CONFIGS)

    def config_names(self, kind: str) -> list[str]:
        """Return the names of the resources of a kind that have properties set, sorted."""
        return sorted(resource.name for resource in self._kept.state.configs if resource.kind == kind)

    @property
    def acls(self) -> Collection[Acl]:
        return self._kept.state.acls.keys()

    @property
    def credentials(self) -> Mapping[CredentialKey, ScramCredential]:
        return self._kept.state.scram

    @property
    def quotas(self) -> Mapping[QuotaEntity, Mapping[str, float]]:
        return self._kept.state.quotas

    def own_secret(self) -> bytes:
        """Return the secret that all nodes share, so that each of them answers a client in the same way."""
        return self._kept.secret

    def alter_configs(self, changes: Sequence[PutConfig]) -> Pending[ApiError]:
        """Set and remove properties."""
        return self._write(changes)

    def alter_acls(self, changes: Sequence[PutAcl | DropAcl]) -> Pending[ApiError]:
        """Add and remove access control list entries."""
        return self._write(changes)

    def alter_credentials(self, changes: Sequence[PutScram]) -> Pending[ApiError]:
        """Set and remove SCRAM credentials."""
        return self._write(changes)

    def alter_quotas(self, changes: Sequence[PutQuota]) -> Pending[ApiError]:
        """Set and remove quotas of clients."""
        return self._write(changes)

    def _write(self, changes: Sequence[MetaChange]) -> Pending[ApiError]:
        return self._kept.write(changes) if changes else completed(NO_ERROR)

    # -- news

    def on_topics_changed(self, listener: Callable[[Sequence[TopicImage]], None]) -> None:
        """Call `listener` with each topic of the cluster that is newly known, or has got more partitions."""
        self._mirror.on_topic_created(lambda image: None if is_hidden(image.name) else listener((image,)))
        self._mirror.on_topic_grown(lambda image, _before: None if is_hidden(image.name) else listener((image,)))

    def on_topics_deleted(self, listener: Callable[[Sequence[TopicImage]], None]) -> None:
        """Call `listener` with topics whose deletion was proved."""
        self._mirror.on_topic_deleted(lambda image: None if is_hidden(image.name) else listener((image,)))

    def on_config_changed(self, listener: Callable[[ResourceName], None]) -> None:
        """Call `listener` with each resource whose properties have changed."""
        self._news.configs.append(listener)

    def on_features_changed(self, listener: Callable[[], None]) -> None:
        """Ignore the listener: a node's feature levels do not change while it runs."""

    def on_credentials_changed(self, listener: Callable[[Sequence[PutScram]], None]) -> None:
        """Call `listener` with changes of users."""
        self._news.credentials.append(listener)

    def on_quotas_changed(self, listener: Callable[[], None]) -> None:
        """Call `listener` after quotas have changed."""
        self._news.quotas.append(listener)

    def on_acls_changed(self, listener: Callable[[Sequence[PutAcl | DropAcl]], None]) -> None:
        """Call `listener` with changes of access control list entries."""
        self._news.acls.append(listener)


def _is_shown(name: str) -> bool:
    """Return True if clients may see a topic of the cluster."""
    return not is_hidden(name)
