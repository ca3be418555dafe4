"""What the coordinators ask of the rest of the broker: topics, and the settings of share groups."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Final, NamedTuple, Protocol

MAX_MEMBER_ID_LENGTH: Final = 36
"""Characters of a share-group member's id; it need not be a UUID (KIP-932, version 1 of the RPCs)."""


class TopicImage(NamedTuple):
    """One topic as metadata knows it. `topic_id` is 16 bytes, `partitions` a count; `racks` are those of the brokers
    that have its partitions, ascending.
    """

    name: str
    topic_id: bytes
    partitions: int
    internal: bool = False
    racks: tuple[str, ...] = ()


class MetadataImage(Protocol):
    """The topics that exist now."""

    def topic(self, name: str) -> TopicImage | None: ...

    def topic_by_id(self, topic_id: bytes) -> TopicImage | None: ...


class TopicNames(MetadataImage, Protocol):
    """The topics that exist now, and all of them: patterns are matched against their names."""

    def topics(self) -> Sequence[TopicImage]: ...


class IsolationLevel(IntEnum):
    """`share.isolation.level` and Fetch's IsolationLevel."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


class AutoOffsetReset(NamedTuple):
    """`share.auto.offset.reset`: strategy is latest, earliest or by_duration; `duration_ms` only for the last."""

    strategy: str = "latest"
    duration_ms: int = 0


class RedeliveryBackoff(NamedTuple):
    """`shareq.redelivery.backoff.*`: a record that failed waits `initial_ms` (0: not at all), `multiplier` times longer
    after each further failure, at most `max_ms`; `jitter` is the greatest part of it that is added or taken away.
    """

    initial_ms: int = 0
    max_ms: int = 300_000
    multiplier: float = 2.0
    jitter: float = 0.0


class ShareGroupSettings(NamedTuple):
    """A share group's effective settings: the group's own values over the broker's (share-group configs, KIP-932)."""

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    record_lock_duration_ms: int = 30_000
    delivery_count_limit: int = 5
    partition_max_record_locks: int = 2_000
    assignment_interval_ms: int = 1_000
    auto_offset_reset: AutoOffsetReset = AutoOffsetReset()
    isolation_level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
    renew_acknowledge_enable: bool = True
    dead_letters: bool = False  # whether dead records get dead letters before they are archived (KIP-1191)
    dead_letter_queue: str = ""  # the topic of these
    copy_dead_records: bool = False  # with key and value
    keep_dead_records: bool = False  # dead records wait for their letters, however long that takes
    redelivery: RedeliveryBackoff = RedeliveryBackoff()
    order_by_key: bool = False  # whether a record waits until the earlier ones of its key are finished


class ShareGroupSettingsSource(Protocol):
    """Settings by group id, looked up on every use so that a change takes effect at once."""

    def share_group(self, group_id: str) -> ShareGroupSettings: ...


class ConsumerGroupSettings(NamedTuple):
    """A consumer group's effective settings (KIP-848), in milliseconds."""

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    assignment_interval_ms: int = 1_000


class GroupSettingsSource(ShareGroupSettingsSource, Protocol):
    """The same of groups of both kinds that have settings."""

    def consumer_group(self, group_id: str) -> ConsumerGroupSettings: ...
