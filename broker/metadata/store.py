"""Cluster metadata: topics, properties of topics, groups and brokers, features, cluster id, producer-id blocks.

The image in memory is what `meta.db` holds: every mutation is committed first, then applied to the image, then the
listeners are notified, all within one call. A mutation whose commit fails changes nothing and raises OSError; those of
`Metadata` return KAFKA_STORAGE_ERROR.

The order of commits and folder changes, and the state that a crash at each point leaves:

    create      1. commit the topic with a fresh id   2. the log makes each partition's folder with its first append
      before 1: nothing. Between 1 and 2, or between two folders: an empty topic; missing folders are made when needed.
    grow        as create: commit the new count, folders follow with the first append.
    delete      1. commit the removal   2. the log renames the folders away   3. the files are removed later
      before 1: the topic is whole. After 1: metadata remembers the topic as deleted; each folder contains its id in
      `partition.metadata`, so that a topic created again under the same name (with another id) never takes it over, and
      the log removes the remaining folders at the next start. The deleted topic is forgotten with a later commit, after
      the renames are durable.

So a folder of a deleted topic can be removed and a topic without folders is empty: neither order of events loses a
record of an existing topic, and nothing has to be undone. No folder is ever made or renamed before its commit. So this
leaves no folder of a topic that is neither known nor deleted: if there is one, it stays, and the log refuses to open.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.commit_gate import CommitGate
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.metadata.changes import (
    DropAcl,
    DropTopic,
    ForgetTopic,
    MetaChange,
    MetaDb,
    PutAcl,
    PutConfig,
    PutFeature,
    PutMeta,
    PutQuota,
    PutScram,
    PutTopic,
    ResourceName,
    TopicRow,
)
from shareq.broker.metadata.features import (
    DEAD_LETTERS,
    FEATURES,
    GROUP_VERSION,
    SHARE_GROUPS,
    SHARE_VERSION,
    check_level,
)
from shareq.broker.metadata.format_version import FORMAT_VERSION
from shareq.broker.metadata.news import News, few, notify
from shareq.broker.metadata.topic_names import collision_key, name_error
from shareq.broker.quotas.entity import QuotaEntity
from shareq.broker.security.acls import Acl
from shareq.broker.security.credentials import CredentialKey, ScramCredential
from shareq.coordinator.ports import TopicImage
from shareq.protocol.errors import NO_ERROR, ApiError, storage_failure
from shareq.protocol.primitives import uuid_to_text

logger = logging.getLogger(__name__)

_FORMAT: Final = "format.version"
_CLUSTER_ID: Final = "cluster.id"
_NEXT_PRODUCER_ID: Final = "producer.id.next"
_FEATURES_EPOCH: Final = "features.epoch"
_OWN_SECRET: Final = "own.secret"
_SECRET_BYTES: Final = 32
_NO_CONFIGS: Final[Mapping[str, str]] = MappingProxyType({})

_HIGHEST_PRODUCER_ID: Final = 2**63 - 1


class NewTopic(NamedTuple):
    """A topic to create. The caller has checked it: a legal, free name, at least one partition, valid properties."""

    name: str
    partitions: int
    configs: Mapping[str, str] = _NO_CONFIGS
    internal: bool = False


class MetadataStore:
    """The image and its mutations: the `Metadata` of a data folder. Used by one thread.

    A new database gets a cluster id (`cluster_id`, or a random one), the initial feature levels and the format
    version; an existing one keeps its levels. `features` are the levels requested at the start, which are stored if
    they differ; None requests any level above 0, so that a feature that is off gets its initial level. `rack` is
    this broker's rack. Raise OSError if the database cannot be used, or has a newer format than this code.
    """

    hearing: Final = None
    """None, because an unknown topic does not exist."""

    def __init__(
        self,
        db: MetaDb,
        env: Environment,
        *,
        features: Mapping[str, int | None] | None = None,
        rack: str | None = None,
        cluster_id: str | None = None,
    ) -> None:
        self._db = db
        self._env = env
        self._racks = () if rack is None else (rack,)
        self._state = db.load()
        self._by_id: dict[bytes, TopicImage] = {}
        self._by_name: dict[str, TopicImage] = {}
        self._collisions: dict[str, set[str]] = {}
        self._changed: list[Callable[[Sequence[TopicImage]], None]] = []
        self._deleted: list[Callable[[Sequence[TopicImage]], None]] = []
        self._features_changed: list[Callable[[], None]] = []
        self._news: Final = News()
        self._forgettable: set[bytes] = set()
        self.gate: Final = CommitGate(env.clock.call_soon)
        """The gate to pass before work that commits for clients: one commit in each turn of the loop."""
        self.topic_changes = 0
        """A number that grows with every topic that is created, gets more partitions, or is deleted."""
        self._bootstrap(features or {}, cluster_id)
        for row in self._state.topics.values():
            self._index(row)

    # -- the image

    @property
    def cluster_id(self) -> str:
        """The cluster id of 22 characters, chosen once for this data folder."""
        return self._state.meta[_CLUSTER_ID]

    @property
    def features(self) -> Mapping[str, int]:
        return self._state.features

    @property
    def features_epoch(self) -> int:
        return int(self._state.meta[_FEATURES_EPOCH])

    @property
    def share_groups_enabled(self) -> bool:
        """True if share.version is 1 or more."""
        return self._state.features.get(SHARE_VERSION, 0) >= SHARE_GROUPS

    @property
    def dead_letters_enabled(self) -> bool:
        """True if share.version is 2 or more now.

        This is looked up when a record becomes unprocessable, as in Apache Kafka, so that a changed level applies
        from the next record on.
        """
        return self._state.features.get(SHARE_VERSION, 0) >= DEAD_LETTERS

    @property
    def consumer_groups_enabled(self) -> bool:
        """True if group.version is 1 or more."""
        return self._state.features.get(GROUP_VERSION, 0) >= 1

    def topic(self, name: str) -> TopicImage | None:
        return self._by_name.get(name)

    def topic_by_id(self, topic_id: bytes) -> TopicImage | None:
        return self._by_id.get(topic_id)

    def topics(self) -> list[TopicImage]:
        """Return all topics, by name."""
        return [self._by_name[name] for name in sorted(self._by_name)]

    def topic_names(self) -> list[str]:
        return list(self._by_name)

    def deleted_topics(self) -> list[TopicImage]:
        """Return the deleted topics that may still have folders."""
        return [self._image(row) for row in self._state.deleted.values()]

    def folders_are_gone(self, topic_ids: Collection[bytes]) -> None:
        """Let the next commit forget these deleted topics, none of which has a folder any longer, even after a power
        loss.
        """
        self._forgettable.update(self._state.deleted.keys() & topic_ids)

    def configs(self, kind: str, name: str) -> Mapping[str, str]:
        return self._state.configs.get(ResourceName(kind, name), _NO_CONFIGS)

    def config_names(self, kind: str) -> list[str]:
        return sorted(resource.name for resource in self._state.configs if resource.kind == kind)

    @property
    def acls(self) -> Collection[Acl]:
        """All access control list entries, in the order in which they were added."""
        return self._state.acls.keys()

    @property
    def credentials(self) -> Mapping[CredentialKey, ScramCredential]:
        """The credentials of SCRAM users."""
        return self._state.scram

    @property
    def quotas(self) -> Mapping[QuotaEntity, Mapping[str, float]]:
        """The quotas of clients, by their entity and key."""
        return self._state.quotas

    def colliding_topic(self, name: str) -> str | None:
        """Return a topic whose name differs only in '.' and '_'; None if there is none."""
        others = self._collisions.get(collision_key(name), set()) - {name}
        return min(others) if others else None

    # -- mutations

    def create_topics(self, topics: Sequence[NewTopic]) -> list[TopicImage]:
        """Create all topics in one commit. Raise ValueError for an illegal or existing name, and OSError if the
        commit fails.
        """
        rows: list[TopicRow] = []
        changes: list[MetaChange] = []
        for topic in topics:
            problem = name_error(topic.name)
            if problem is not None or topic.name in self._by_name or topic.partitions < 1:
                raise ValueError(problem or f"topic {topic.name} with {topic.partitions} partitions cannot be created")
            row = TopicRow(topic.name, self._env.random_uuid(), topic.partitions, topic.internal)
            rows.append(row)
            changes.append(PutTopic(row))
            resource = ResourceName("topic", topic.name)
            changes.extend(PutConfig(resource, key, value) for key, value in topic.configs.items())
        self._commit(changes)
        images = [self._index(row) for row in rows]
        for image in few(logger, images, "topics created"):
            logger.info(
                "topic %s: created, id %s, partitions %d", image.name, uuid_to_text(image.topic_id), image.partitions
            )
        notify(_named(images), self._changed, images)
        return images

    def create_topic(self, topic: NewTopic) -> TopicImage:
        """Create one topic, as `create_topics` does."""
        return self.create_topics([topic])[0]

    def delete_topics(self, names: Iterable[str]) -> None:
        """Delete topics and their properties in one commit. Raise KeyError for an unknown name, and OSError as
        `create_topics` does.
        """
        images = [self._by_name[name] for name in names]
        changes: list[MetaChange] = []
        for image in images:
            resource = ResourceName("topic", image.name)
            changes.extend(PutConfig(resource, key, None) for key in self.configs("topic", image.name))
            changes.append(DropTopic(image.name))
        self._commit(changes)
        for image in images:
            self._unindex(image)
        for image in few(logger, images, "topics deleted"):
            logger.info("topic %s: deleted, id %s", image.name, uuid_to_text(image.topic_id))
        notify(_named(images), self._deleted, images)

    def create_partitions(self, counts: Mapping[str, int]) -> None:
        """Raise partition counts to the new totals, in one commit.

        Raise KeyError for an unknown name, ValueError for a smaller total, and OSError as `create_topics` does.
        """
        changes: list[MetaChange] = []
        for name, count in counts.items():
            old = self._by_name[name]
            if count <= old.partitions:
                raise ValueError(f"topic {name} has {old.partitions} partitions, cannot change to {count}")
            changes.append(PutTopic(TopicRow(name, old.topic_id, count, old.internal)))
        before = {name: self._by_name[name].partitions for name in counts}
        self._commit(changes)
        for name in few(logger, list(counts), "topics grown"):
            logger.info("topic %s: partitions %d -> %d", name, before[name], counts[name])
        images = [self._index(self._state.topics[name]) for name in counts]
        notify(_named(images), self._changed, images)

    def alter_configs(self, changes: Sequence[PutConfig]) -> Pending[ApiError]:
        """Set and remove properties in one commit; the caller has checked them."""
        return self._alter(changes)

    def set_features(self, levels: Mapping[str, int]) -> None:
        """Finalize feature levels in one commit. Raise FeatureError for an unknown feature or level, and OSError as
        `create_topics` does.
        """
        changes = self._feature_changes(levels)
        if changes:
            self._commit(changes)
            logger.info("features: %s", ", ".join(f"{name}={level}" for name, level in levels.items()))
            notify("features", self._features_changed)

    def alter_acls(self, changes: Sequence[PutAcl | DropAcl]) -> Pending[ApiError]:
        """Add and remove access control list entries in one commit; the caller has checked them."""
        return self._alter(changes)

    def alter_credentials(self, changes: Sequence[PutScram]) -> Pending[ApiError]:
        """Set and remove SCRAM credentials in one commit; the caller has checked them."""
        return self._alter(changes)

    def alter_quotas(self, changes: Sequence[PutQuota]) -> Pending[ApiError]:
        """Set and remove quotas of clients in one commit; the caller has checked them."""
        return self._alter(changes)

    @property
    def has_own_secret(self) -> bool:
        """True if `own_secret` needs no commit."""
        return _OWN_SECRET in self._state.meta

    def own_secret(self) -> bytes:
        """Return random bytes that only this broker knows. They are stored at the first call, so they are the same
        after each start.

        If they cannot be stored, they change with the next start.
        """
        kept = self._state.meta.get(_OWN_SECRET)
        if kept is not None:
            return bytes.fromhex(kept)
        secret = self._env.secret_bytes(_SECRET_BYTES)
        try:
            self._commit([PutMeta(_OWN_SECRET, secret.hex())])
        except OSError as error:
            logger.warning("the broker's own secret could not be kept, the next start makes another one: %s", error)
        return secret

    def allocate_producer_ids(self, count: int) -> range:
        """Return `count` producer ids that were never returned before, even after crashes.

        Raise ValueError if none are left.
        """
        first = int(self._state.meta.get(_NEXT_PRODUCER_ID, "0"))
        if first + count > _HIGHEST_PRODUCER_ID:
            raise ValueError("producer ids are used up")
        # Committed before the first is used: a crash wastes the rest of the block, and repeats none.
        self._commit([PutMeta(_NEXT_PRODUCER_ID, str(first + count))])
        return range(first, first + count)

    # -- listeners, called after the commit, in the order they were added

    def on_topics_changed(self, listener: Callable[[Sequence[TopicImage]], None]) -> None:
        """Call `listener` with the present state of the topics that one commit creates, or gives more partitions."""
        self._changed.append(listener)

    def on_topics_deleted(self, listener: Callable[[Sequence[TopicImage]], None]) -> None:
        """Call the listener with the topics that one commit has deleted; `topic(name)` no longer finds them."""
        self._deleted.append(listener)

    def on_config_changed(self, listener: Callable[[ResourceName], None]) -> None:
        """Call `listener` with each resource whose properties change, except when a topic is created or deleted."""
        self._news.configs.append(listener)

    def on_features_changed(self, listener: Callable[[], None]) -> None:
        self._features_changed.append(listener)

    def on_credentials_changed(self, listener: Callable[[Sequence[PutScram]], None]) -> None:
        """Call the listener with the changes of the commit, in their order."""
        self._news.credentials.append(listener)

    def on_quotas_changed(self, listener: Callable[[], None]) -> None:
        self._news.quotas.append(listener)

    def on_acls_changed(self, listener: Callable[[Sequence[PutAcl | DropAcl]], None]) -> None:
        """Call the listener with the changes of the commit, in their order."""
        self._news.acls.append(listener)

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    # -- inside

    def _bootstrap(self, requested: Mapping[str, int | None], cluster_id: str | None) -> None:
        meta = self._state.meta
        stored = int(meta.get(_FORMAT, FORMAT_VERSION))
        if stored > FORMAT_VERSION:
            raise OSError(f"metadata has format version {stored}, and this release reads up to {FORMAT_VERSION}")
        changes: list[MetaChange] = []
        if _CLUSTER_ID not in meta:
            changes.append(PutMeta(_CLUSTER_ID, cluster_id or uuid_to_text(self._env.random_uuid())))
        if meta.get(_FORMAT) != str(FORMAT_VERSION):
            changes.append(PutMeta(_FORMAT, str(FORMAT_VERSION)))
        # Also features this release has and the database's did not.
        new = {name: feature for name, feature in FEATURES.items() if name not in self._state.features}
        initial = {name: feature.initial for name, feature in new.items() if feature.initial}
        asked = {name: self._on(name) if level is None else level for name, level in requested.items()}
        changes += self._feature_changes({**initial, **asked})
        if changes:
            self._store(changes)  # not of a turn of the loop

    def _on(self, name: str) -> int:
        """Return the level of a feature to be turned on: its current one or, if it is off or has none, its initial
        one.
        """
        return self._state.features.get(name, 0) or FEATURES[name].initial

    def _feature_changes(self, levels: Mapping[str, int]) -> list[MetaChange]:
        for name, level in levels.items():
            check_level(name, level)
        changed = {name: level for name, level in levels.items() if self._state.features.get(name) != level}
        if not changed:
            return []
        epoch = int(self._state.meta.get(_FEATURES_EPOCH, "0")) + 1
        return [*(PutFeature(name, level) for name, level in changed.items()), PutMeta(_FEATURES_EPOCH, str(epoch))]

    def _alter(self, changes: Sequence[MetaChange]) -> Pending[ApiError]:
        """Commit the changes, if there are any, and notify the listeners. Return the error if the commit failed."""
        try:
            if changes:
                self._commit(changes)
        except OSError as error:
            return completed(storage_failure(error))
        self._news.notify(changes)
        return completed(NO_ERROR)

    def _commit(self, changes: Sequence[MetaChange]) -> None:
        self.gate.committed()
        self._store([*changes, *map(ForgetTopic, sorted(self._forgettable))])
        self._forgettable.clear()

    def _store(self, changes: Sequence[MetaChange]) -> None:
        self._db.commit(changes)
        for change in changes:
            self._state.apply(change)

    def _image(self, row: TopicRow) -> TopicImage:
        return TopicImage(row.name, row.topic_id, row.partitions, row.internal, self._racks)

    def _index(self, row: TopicRow) -> TopicImage:
        image = self._image(row)
        self._by_name[row.name] = image
        self._by_id[row.topic_id] = image
        self._collisions.setdefault(collision_key(row.name), set()).add(row.name)
        self.topic_changes += 1
        return image

    def _unindex(self, image: TopicImage) -> None:
        del self._by_name[image.name]
        del self._by_id[image.topic_id]
        self.topic_changes += 1
        key = collision_key(image.name)
        self._collisions[key].discard(image.name)
        if not self._collisions[key]:
            del self._collisions[key]


def _named(topics: Sequence[TopicImage]) -> str:
    return f"topic {topics[0].name}" if len(topics) == 1 else f"{len(topics)} topics"
