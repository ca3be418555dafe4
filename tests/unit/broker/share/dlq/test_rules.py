"""The rules of dead letters, without I/O: the queue, the retry of a failed write, the text of a letter (KIP-1191)."""

from __future__ import annotations

import pytest

from shareq.broker.share.core.effects import Cause, DeadLetter
from shareq.broker.share.dlq.letters import Origin, died_before_for, kept_letter, letter_bytes, plain_letter
from shareq.broker.share.dlq.rules import QueuePolicy, QueueTopic, delay_ms, partition_for, refusal
from shareq.protocol.records.batch import HEADER_SIZE, Headers, Record, RecordData, build_batch

OPEN = QueuePolicy("dlq.", creates=True)
CLOSED = QueuePolicy("dlq.", creates=False)
LETTER = DeadLetter(3, 9, 2, Cause.CLIENT_REJECT, "m")
ORIGIN = Origin("g", "t", 4)


def topic(name: str, *, takes_letters: bool = True) -> QueueTopic:
    return QueueTopic(name, 1, takes_letters, 1_000)


@pytest.mark.parametrize(
    ("name", "found", "policy", "text"),
    [
        ("", None, OPEN, "Configured DLQ topic name in share group: g is empty."),
        ("__x", topic("__x"), OPEN, "Configured DLQ topic name in share group: g cannot start with __, topic: __x."),
        # The flag is checked before the prefix, as is the broker's permission to create.
        (
            "z",
            topic("z", takes_letters=False),
            OPEN,
            "DLQ is not enabled on configured DLQ topic for share group: g, topic: z.",
        ),
        (
            "z",
            None,
            CLOSED,
            "DLQ topic does not exist and auto create is disabled on cluster for share group: g, topic: z.",
        ),
        *(
            (
                "z",
                found,
                policy,
                "Configured DLQ topic name does not comply with the DLQ topic prefix in share group: g, topic: z, "
                "prefix: dlq..",
            )
            for found, policy in ((topic("z"), CLOSED), (None, OPEN))
        ),
    ],
)
def test_the_first_rule_that_is_broken_is_named(
    name: str, found: QueueTopic | None, policy: QueuePolicy, text: str
) -> None:
    """The texts are Apache Kafka's, which people search for."""
    assert refusal("g", name, found, policy) == text


@pytest.mark.parametrize("policy", [OPEN, CLOSED, QueuePolicy("", creates=False)])
def test_a_queue_that_takes_letters_may_be_used(policy: QueuePolicy) -> None:
    assert refusal("g", "dlq.t", topic("dlq.t"), policy) is None


def test_a_queue_may_be_created_where_that_is_allowed() -> None:
    assert refusal("g", "dlq.t", None, OPEN) is None
    assert refusal("g", "dlq.t", None, CLOSED) is not None


def test_partitions_wrap_round() -> None:
    assert [partition_for(each, 3) for each in range(5)] == [0, 1, 2, 0, 1]


def test_delays_double_up_to_half_a_minute_and_spread_by_a_fifth() -> None:
    assert [delay_ms(attempts, 0.5) for attempts in (1, 2, 3, 4, 5, 1_000_000)] == [
        2_000,
        4_000,
        8_000,
        16_000,
        30_000,
        30_000,
    ]
    assert (delay_ms(1, 0.0), delay_ms(1, 0.999999)) == (1_600, 2_400)


def test_a_plain_letter_has_nothing_of_the_source_but_key_and_value() -> None:
    source = Record(5, 77, b"k", b"v", (("own", b"1"),))
    letter = plain_letter(ORIGIN, LETTER, 5, source, 1_000)
    assert (letter.key, letter.value, letter.timestamp_ms) == (b"k", b"v", 1_000)
    assert [name for name, _ in letter.headers] == [
        "__dlq.errors.topic",
        "__dlq.errors.partition",
        "__dlq.errors.offset",
        "__dlq.errors.group",
        "__dlq.errors.delivery.count",
        "__dlq.errors.message",
    ]
    assert [value for _, value in letter.headers] == [b"t", b"4", b"5", b"g", b"2", b"Offset rejected by client."]


@pytest.mark.parametrize(("timestamp", "kept"), [(77, 77), (-1, 1_000)])
def test_a_kept_letter_has_the_sources_time_if_it_has_one(timestamp: int, kept: int) -> None:
    source = Record(5, timestamp, b"k", b"v", (("own", b"1"),))
    letter = kept_letter(ORIGIN, LETTER, 5, source, 1_000, copies=True)
    assert letter.timestamp_ms == kept
    assert letter.headers[0] == ("own", b"1")


def test_a_kept_letter_without_copies_keeps_earlier_deaths_alone() -> None:
    """Without these, loops could not be found."""
    headers: Headers = (("own", b"1"), ("__dlq.errors.topic", b"s"))
    letter = kept_letter(ORIGIN, LETTER, 5, Record(5, 77, b"k", b"v", headers), 1_000, copies=False)
    assert (letter.key, letter.value) == (None, None)
    assert letter.headers[:2] == (("__dlq.errors.topic", b"s"), ("__dlq.errors.topic", b"t"))


def test_a_record_has_been_in_the_queues_that_its_deaths_name() -> None:
    record = Record(0, 0, None, None, (("__dlq.errors.topic", b"a"), ("__dlq.errors.topic", b"b"), ("other", b"c")))
    assert [died_before_for(record, queue) for queue in "abc"] == [True, True, False]


@pytest.mark.parametrize("size", [0, 1, 200, 100_000])
def test_the_size_of_a_letter_is_never_guessed_too_small(size: int) -> None:
    source = Record(5, 1 << 40, b"k" * size, b"v" * size, tuple((f"h{n}é", b"x" * size) for n in range(5)))
    letter = kept_letter(ORIGIN, LETTER, 5, source, 1_000, copies=True)
    many = [letter, RecordData(None, None), letter]
    assert len(build_batch(many, timestamp_ms=0)) <= HEADER_SIZE + sum(map(letter_bytes, many))
