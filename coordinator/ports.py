"""The ports from coordinators to the rest of the broker: topics, and the settings of groups, declared with their
properties.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Any, Final, NamedTuple, Protocol

from shareq.coordinator.iso_durations import duration_ms
from shareq.protocol.config_def import (
    BrokerDefault,
    ConfigKey,
    ConfigValue,
    OneOf,
    UpdateMode,
    boolean,
    double,
    integer,
    long,
    text,
)
from shareq.protocol.names import (
    AUTO_OFFSET_RESET,
    BREAKER_LETTERS,
    BREAKER_WINDOW_MS,
    DELAY_ENABLE,
    DELAY_MAX_MS,
    DELIVERY_COUNT_LIMIT,
    DLQ_COPY_RECORD,
    DLQ_TOPIC_NAME,
    HEARTBEAT_INTERVAL_MS,
    ISOLATION_LEVEL,
    NOT_AFTER_ENABLE,
    NOT_PAUSED,
    PARTITION_MAX_RECORD_LOCKS,
    PAUSED,
    PAUSED_BY_BREAKER,
    RECORD_LOCK_DURATION_MS,
    SESSION_TIMEOUT_MS,
    TTL_MS,
)
from shareq.protocol.settings import keys_of, setting, settings

MAX_MEMBER_ID_LENGTH: Final = 36
"""The most characters of a share-group member's id, which need not be a UUID (KIP-932, version 1 of the RPCs)."""
_BY_DURATION: Final = "by_duration:"
_WEEK_MS: Final = 604_800_000
_DAY_MS: Final = 86_400_000
_MAX_RECORD_LOCKS: Final = 1_000_000


class TopicImage(NamedTuple):
    """One topic as metadata knows it. `topic_id` has 16 bytes, `partitions` is a count; `racks` are those of the
    brokers with replicas of its partitions, ascending.
    """

    name: str
    topic_id: bytes
    partitions: int
    internal: bool = False
    racks: tuple[str, ...] = ()


class MetadataImage(Protocol):
    """The topics that exist now, one at a time."""

    def topic(self, name: str) -> TopicImage | None: ...

    def topic_by_id(self, topic_id: bytes) -> TopicImage | None: ...


class TopicNames(MetadataImage, Protocol):
    """The topics that exist now, and a list of all of them, since patterns are matched against all names."""

    def topics(self) -> Sequence[TopicImage]: ...


class IsolationLevel(IntEnum):
    """The values of `share.isolation.level`, and of the field IsolationLevel in Fetch."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1

    @classmethod
    def of(cls, text: str) -> IsolationLevel:
        """Return the level that a property's text names."""
        return cls[text.upper()]


class AutoOffsetReset(NamedTuple):
    """A value of `share.auto.offset.reset`: strategy is latest, earliest or by_duration; `duration_ms` is for the last
    only.
    """

    strategy: str = "latest"
    duration_ms: int = 0

    @classmethod
    def of(cls, text: str) -> AutoOffsetReset:
        """Parse latest, earliest, or by_duration: followed by an ISO 8601 duration that is not negative. Raises
        ValueError for any other text.
        """
        if text in ("latest", "earliest"):
            return cls(text)
        if not text.startswith(_BY_DURATION):
            raise ValueError(text)
        return cls("by_duration", duration_ms(text.removeprefix(_BY_DURATION)))


class _AutoOffsetResetText:
    allowed: Final = "must be latest, earliest, or by_duration: and an ISO 8601 duration that is not negative"

    def accepts(self, value: ConfigValue) -> bool:
        try:
            AutoOffsetReset.of(str(value))
        except ValueError:
            return False
        return True


class _DeadLetterQueue:
    allowed: Final = "DLQ topic name must not start with '__'"

    def accepts(self, value: ConfigValue) -> bool:
        return not str(value).startswith("__")


@settings
class RedeliveryBackoff(NamedTuple):
    """The properties `shareq.redelivery.backoff.*`. A failed record waits `initial_ms` (0: not at all), `multiplier`
    times longer after each further failure, at most `max_ms`; `jitter` is the greatest fraction that is added or
    subtracted at random.
    """

    initial_ms: int = setting(
        long(
            "shareq.redelivery.backoff.ms",
            0,
            "How long a record waits after its first failed delivery before it is delivered again; 0: not at all.",
            at_least=0,
            at_most=_WEEK_MS,
            internal=True,
        )
    )
    max_ms: int = setting(
        long(
            "shareq.redelivery.backoff.max.ms",
            300_000,
            "The longest wait, whatever the number of failed deliveries, and after a restart whatever the clock says.",
            at_least=1,
            at_most=_WEEK_MS,
            internal=True,
        )
    )
    multiplier: float = setting(
        double(
            "shareq.redelivery.backoff.multiplier",
            2.0,
            "How much longer a record waits after each further failed delivery.",
            at_least=1,
            at_most=100,
            internal=True,
        )
    )
    jitter: float = setting(
        double(
            "shareq.redelivery.backoff.jitter",
            0.0,
            "The greatest part of the wait that is added to it or taken from it, so that records spread.",
            at_least=0,
            at_most=1,
            internal=True,
        )
    )


@settings
class RecordDelays(NamedTuple):
    """The properties `shareq.delay.*`. With `enabled`, a record waits in the broker until its time.

    The sender sets the time, or a member that releases the record; it is at most `max_ms` ahead.
    """

    enabled: bool = setting(
        boolean(
            DELAY_ENABLE,
            False,
            "Whether the broker keeps records until the time in their header `shareq.not.before.ms`, and those that "
            "consumers give back with a time.",
            internal=True,
        )
    )
    max_ms: int = setting(
        long(
            DELAY_MAX_MS,
            86_400_000,
            "How far ahead that time may lie: records with a later or an invalid time are rejected.",
            at_least=1,
            at_most=_WEEK_MS,
            internal=True,
        )
    )


@settings
class TimeToLive(NamedTuple):
    """The properties `shareq.ttl.ms` and `shareq.not.after.enable`. An expired record is rejected where it would be
    handed out: `ms` after its timestamp (0: never), and with `by_header` after the time in its own header.
    """

    ms: int = setting(
        long(
            TTL_MS,
            0,
            "How old a record may be, by its timestamp, when it is handed out; older ones are rejected. 0: of any age.",
            at_least=0,
            internal=True,
        )
    )
    by_header: bool = setting(
        boolean(
            NOT_AFTER_ENABLE,
            False,
            "Whether records are rejected after the time in their header `shareq.not.after.ms`.",
            internal=True,
        )
    )


@settings
class LetterBreaker(NamedTuple):
    """The properties `shareq.breaker.*`. The group pauses after this many dead letters (0: never) within
    `window_ms`.
    """

    letters: int = setting(
        integer(
            BREAKER_LETTERS,
            0,
            "How many dead letters within `shareq.breaker.window.ms` pause the group; 0: none do.",
            at_least=0,
            internal=True,
        )
    )
    window_ms: int = setting(
        long(
            BREAKER_WINDOW_MS,
            60_000,
            "The time within which `shareq.breaker.letters` are counted.",
            at_least=1_000,
            at_most=_DAY_MS,
            internal=True,
        )
    )


@settings
class ShareGroupSettings(NamedTuple):
    """A share group's effective settings: the group's own values before the broker's (share-group configs, KIP-932).

    Bounds are Apache Kafka 4.3.1's, except that of record locks, which is 10,000 there: here a window is a few ranges,
    whatever its width. `internal` properties are not Apache Kafka's: they are listed for a group that sets them, or by
    name. `dead_letters`: dead records get dead letters before they are archived (KIP-1191).
    """

    session_timeout_ms: int = setting(
        integer(
            SESSION_TIMEOUT_MS,
            45_000,
            "A member silent for so long leaves.",
            at_least=1,
            broker=BrokerDefault("A member silent for so long leaves its share group.", 45_000, 60_000),
        )
    )
    heartbeat_interval_ms: int = setting(
        integer(
            HEARTBEAT_INTERVAL_MS,
            5_000,
            "How often members send heartbeats.",
            at_least=1,
            broker=BrokerDefault(
                "How often members are asked to send heartbeats; less than the session timeout.", 5_000, 15_000
            ),
        )
    )
    record_lock_duration_ms: int = setting(
        integer(
            RECORD_LOCK_DURATION_MS,
            30_000,
            "How long a record stays acquired.",
            at_least=1_000,
            broker=BrokerDefault(
                "How long an acquired record stays locked.",
                15_000,
                60_000,
                within=(1_000, 3_600_000),
                least_within=(1_000, 30_000),
                greatest_within=(30_000, 3_600_000),
                greatest_aliases=("group.share.record.lock.duration.max.ms",),
            ),
        )
    )
    delivery_count_limit: int = setting(
        integer(
            DELIVERY_COUNT_LIMIT,
            5,
            "Deliveries before a record is archived.",
            at_least=2,
            broker=BrokerDefault(
                "Number of deliveries after which a record is archived.",
                2,
                10,
                within=(2, 10),
                least_within=(2, 5),
                greatest_within=(5, 25),
            ),
        )
    )
    partition_max_record_locks: int = setting(
        integer(
            PARTITION_MAX_RECORD_LOCKS,
            2_000,
            "Offsets that may be in flight.",
            at_least=100,
            broker=BrokerDefault(
                "How many offsets of a share partition may be in flight.",
                100,
                4_000,
                within=(100, _MAX_RECORD_LOCKS),
                least_within=(100, 2_000),
                greatest_within=(2_000, _MAX_RECORD_LOCKS),
                aliases=("group.share.record.lock.partition.limit",),
            ),
        )
    )
    assignment_interval_ms: int = setting(
        integer(
            "share.assignment.interval.ms",
            1_000,
            "Least time between two assignments.",
            at_least=0,
            broker=BrokerDefault(
                "The least time between two assignments of a share group.", 0, 15_000, mode=UpdateMode.CLUSTER_WIDE
            ),
        )
    )
    auto_offset_reset: AutoOffsetReset = setting(
        text(
            AUTO_OFFSET_RESET,
            "latest",
            "Where a share partition starts that a group has not read: latest, earliest, or by_duration:<ISO 8601>.",
            valid=_AutoOffsetResetText(),
        ),
        AutoOffsetReset.of,
    )
    isolation_level: IsolationLevel = setting(
        text(
            ISOLATION_LEVEL,
            "read_uncommitted",
            "Whether records of open and aborted transactions are delivered.",
            valid=OneOf("read_uncommitted", "read_committed"),
        ),
        IsolationLevel.of,
    )
    renew_acknowledge_enable: bool = setting(
        boolean("share.renew.acknowledge.enable", True, "Whether consumers may renew locks.")
    )
    dead_letters: bool = False
    dead_letter_queue: str = setting(
        text(
            DLQ_TOPIC_NAME,
            "",
            "The group's dead-letter queue, a topic; empty: it has none.",
            valid=_DeadLetterQueue(),
        )
    )
    copy_dead_records: bool = setting(
        boolean(DLQ_COPY_RECORD, False, "Whether dead letters carry the record's key and value.")
    )
    keep_dead_records: bool = setting(
        boolean(
            "shareq.dlq.keep",
            False,
            "Whether a dead record stays in flight until its dead letter is written, with the record's headers and "
            "timestamp.",
            internal=True,
        )
    )
    redelivery: RedeliveryBackoff = RedeliveryBackoff()
    delay: RecordDelays = RecordDelays()
    ttl: TimeToLive = TimeToLive()
    breaker: LetterBreaker = LetterBreaker()
    order_by_key: bool = setting(
        text(
            "shareq.order",
            "none",
            "With `key` no record is delivered while an earlier one of its key and partition is not finished.",
            valid=OneOf("none", "key"),
            internal=True,
        ),
        "key".__eq__,
    )
    order_records_per_key: int = setting(
        integer(
            "shareq.order.records.per.key",
            1,
            "With `shareq.order=key`, at most so many records of a key and partition are with consumers at a time; "
            "more than one may be finished in any order.",
            at_least=1,
            at_most=10_000,
            internal=True,
        )
    )
    order_look_ahead: int = setting(
        integer(
            "shareq.order.look.ahead",
            0,
            "With `shareq.order=key`, so many records that are finished, or wait for their key, do not count in "
            "`share.partition.max.record.locks`: keys with many records do not hold up the others.",
            at_least=0,
            at_most=1_000_000,
            internal=True,
        )
    )
    paused_by: str = setting(
        text(
            PAUSED,
            NOT_PAUSED,
            "With `true` no records are handed out; what consumers hold they may go on to acknowledge and renew. "
            "`breaker` is the same, set by the group's breaker.",
            valid=OneOf(NOT_PAUSED, "true", PAUSED_BY_BREAKER, any_case=True),
            internal=True,
        ),
        str.lower,
    )

    @property
    def paused(self) -> bool:
        """True while the group hands out no records."""
        return self.paused_by != NOT_PAUSED


class ShareGroupSettingsSource(Protocol):
    """The settings of share groups by id. They are looked up on every use, so that a change has effect at once."""

    def share_group(self, group_id: str) -> ShareGroupSettings: ...


@settings
class ConsumerGroupSettings(NamedTuple):
    """A consumer group's effective settings (KIP-848), in milliseconds."""

    session_timeout_ms: int = setting(
        integer(
            "consumer.session.timeout.ms",
            45_000,
            "A member silent for so long leaves.",
            at_least=1,
            broker=BrokerDefault("Session timeout of consumer group members.", 45_000, 60_000),
        )
    )
    heartbeat_interval_ms: int = setting(
        integer(
            "consumer.heartbeat.interval.ms",
            5_000,
            "How often members send heartbeats.",
            at_least=1,
            broker=BrokerDefault("Heartbeat interval of consumer group members.", 5_000, 15_000),
        )
    )
    assignment_interval_ms: int = setting(
        integer(
            "consumer.assignment.interval.ms",
            1_000,
            "Least time between two assignments.",
            at_least=0,
            broker=BrokerDefault(
                "Least time between two assignments of a consumer group.", 0, 15_000, mode=UpdateMode.CLUSTER_WIDE
            ),
        )
    )


def group_properties() -> Iterator[ConfigKey[Any]]:
    """Yield the properties of groups that are settings of this class."""
    yield from keys_of(ShareGroupSettings)
    yield from keys_of(ConsumerGroupSettings)


class GroupSettingsSource(ShareGroupSettingsSource, Protocol):
    """The settings of groups of both kinds that have settings, by id."""

    def consumer_group(self, group_id: str) -> ConsumerGroupSettings: ...
