"""The port behind cluster metadata: a small database whose commits are atomic and durable.

A commit is a list of changes of which all or none happen. When `commit` has returned, the changes survive a power loss;
when it raised, none of them happened; after a kill inside it, the next start finds all of them or none.
`sqlite.SqliteMetaDb` is the real one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, starmap
from typing import NamedTuple, Protocol, TypeVar

from shareq.broker.quotas.entity import QuotaEntity
from shareq.broker.security.acls import Acl
from shareq.broker.security.credentials import CredentialKey, ScramCredential

K = TypeVar("K")
V = TypeVar("V")


class TopicRow(NamedTuple):
    """A topic. `topic_id` has 16 bytes; `partitions` is a count."""

    name: str
    topic_id: bytes
    partitions: int
    internal: bool


class ResourceName(NamedTuple):
    """The owner of properties: `kind` is topic, broker or group; a broker's name is its id, "" means all brokers."""

    kind: str
    name: str


class PutTopic(NamedTuple):
    """Create a topic, or change its partition count."""

    topic: TopicRow


class DropTopic(NamedTuple):
    """Delete a topic by name, and remember it as deleted; its properties are deleted by separate changes."""

    name: str


class PutDeleted(NamedTuple):
    """Remember a deleted topic that may still have folders."""

    topic: TopicRow


class ForgetTopic(NamedTuple):
    """Forget a deleted topic that has no folders left."""

    topic_id: bytes


class PutConfig(NamedTuple):
    """Set one property of a resource, or remove it (`value` None)."""

    resource: ResourceName
    key: str
    value: str | None


class PutFeature(NamedTuple):
    """Set the finalized level of a feature."""

    name: str
    level: int


class PutMeta(NamedTuple):
    """Set one entry of the cluster's own values: cluster id, format version, next producer id …"""

    key: str
    value: str


class PutAcl(NamedTuple):
    """Add an access control list entry."""

    acl: Acl


class DropAcl(NamedTuple):
    """Remove an access control list entry."""

    acl: Acl


class PutScram(NamedTuple):
    """Set a user's credential for one SCRAM mechanism, or remove it (`credential` None)."""

    key: CredentialKey
    credential: ScramCredential | None


class PutQuota(NamedTuple):
    """Set one quota of an entity, or remove it (`value` None)."""

    entity: QuotaEntity
    key: str
    value: float | None


MetaChange = (
    PutTopic
    | DropTopic
    | PutDeleted
    | ForgetTopic
    | PutConfig
    | PutFeature
    | PutMeta
    | PutAcl
    | DropAcl
    | PutScram
    | PutQuota
)


class MetaState:
    """The whole content of the database. Owned by the caller of `load`."""

    __slots__ = ("acls", "configs", "deleted", "features", "meta", "quotas", "scram", "topics")

    def __init__(self) -> None:
        self.topics: dict[str, TopicRow] = {}
        self.configs: dict[ResourceName, dict[str, str]] = {}
        self.features: dict[str, int] = {}
        self.meta: dict[str, str] = {}
        self.acls: dict[Acl, None] = {}
        self.scram: dict[CredentialKey, ScramCredential] = {}
        self.deleted: dict[bytes, TopicRow] = {}
        self.quotas: dict[QuotaEntity, dict[str, float]] = {}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MetaState):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in MetaState.__slots__)

    __hash__ = None  # type: ignore[assignment]  # it changes

    def apply(self, change: MetaChange) -> None:  # noqa: C901 - one case for each change
        """Apply one change to this object."""
        match change:
            case PutTopic(topic):
                self.topics[topic.name] = topic
            case DropTopic(name):
                if (dropped := self.topics.pop(name, None)) is not None:
                    self.deleted[dropped.topic_id] = dropped
            case PutDeleted(topic):
                self.deleted[topic.topic_id] = topic
            case ForgetTopic(topic_id):
                self.deleted.pop(topic_id, None)
            case PutConfig(resource, key, value):
                _put(self.configs, resource, key, value)
            case PutQuota(entity, key, number):
                _put(self.quotas, entity, key, number)
            case PutFeature(name, level):
                self.features[name] = level
            case PutMeta(key, text):
                self.meta[key] = text
            case PutAcl(acl):
                self.acls[acl] = None
            case DropAcl(acl):
                self.acls.pop(acl, None)
            case PutScram(user, credential):
                if credential is None:
                    self.scram.pop(user, None)
                else:
                    self.scram[user] = credential

    def copy(self) -> MetaState:
        """Return an independent copy."""
        copy = MetaState()
        copy.topics.update(self.topics)
        copy.configs.update((resource, dict(properties)) for resource, properties in self.configs.items())
        copy.features.update(self.features)
        copy.meta.update(self.meta)
        copy.acls.update(self.acls)
        copy.scram.update(self.scram)
        copy.deleted.update(self.deleted)
        copy.quotas.update((entity, dict(quotas)) for entity, quotas in self.quotas.items())
        return copy

    def rows(self) -> Iterator[MetaChange]:
        """Return the changes that make this state from an empty one, one for each row."""
        return chain(
            map(PutTopic, self.topics.values()),
            map(PutDeleted, self.deleted.values()),
            (PutConfig(owner, *each) for owner, properties in self.configs.items() for each in properties.items()),
            starmap(PutFeature, self.features.items()),
            starmap(PutMeta, self.meta.items()),
            map(PutAcl, self.acls),
            starmap(PutScram, self.scram.items()),
            (PutQuota(entity, *each) for entity, quotas in self.quotas.items() for each in quotas.items()),
        )


def _put(rows: dict[K, dict[str, V]], owner: K, key: str, value: V | None) -> None:
    """Set one value of an owner, or remove it (None); an owner without values is not kept."""
    values = rows.setdefault(owner, {})
    if value is None:
        values.pop(key, None)
    else:
        values[key] = value
    if not values:
        del rows[owner]


class MetaDb(Protocol):
    """The database of cluster metadata. See the module's docstring."""

    def load(self) -> MetaState:
        """Return everything committed so far."""

    def commit(self, changes: Sequence[MetaChange]) -> None:
        """Commit all changes durably, or none of them. Raise OSError if that failed."""

    def close(self) -> None:
        """Close the database. A second call has no effect."""
