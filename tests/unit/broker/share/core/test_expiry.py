"""Records that expire are rejected where they would be handed out (`shareq.ttl.ms`, `shareq.not.after.enable`)."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shareq.broker.share.core.effects import Cause, DeadLetter, DeadLetters, StateBatch
from shareq.broker.share.core.partition import SharePartition
from shareq.broker.share.core.window.expiry import (
    MOST_EXPIRED,
    Expired,
    joined,
    past,
    reasons_of,
    too_old,
)
from shareq.broker.share.core.window.window import Change, InFlightWindow, Run
from shareq.coordinator.ports import TimeToLive
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import RecordState
from tests.support.models.share_partition import BATCHES, RELEASE, ack, settings, share_partition, spans

WALL_MS = 1_700_000_000_000


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"%d" % WALL_MS, b""),
        (b"%d" % (WALL_MS - 1), b"expired: shareq.not.after.ms is 1699999999999"),
        (b"0", b"expired: shareq.not.after.ms is 0"),
        (b"9" * 15, b""),
        *(
            (value, b"shareq.not.after.ms is no time in milliseconds since the epoch")
            for value in (b"", b"-1", b"soon", b"9" * 16, b"1.5", "٣".encode())
        ),
    ],
)
def test_the_reason_why_a_time_in_a_header_is_over(value: bytes, expected: bytes) -> None:
    assert past(value, WALL_MS) == expected


def test_the_reason_without_a_header() -> None:
    assert too_old(TimeToLive(500)) == b"expired: older than shareq.ttl.ms (500)"
    assert too_old(TimeToLive(500, True)) == b"expired: older than shareq.ttl.ms, or past its shareq.not.after.ms"


@given(st.dictionaries(st.integers(0, 30), st.sampled_from((b"", b"a", b"b"))))
def test_neighbours_with_one_reason_are_one_range(reasons: dict[int, bytes]) -> None:
    found = joined(Expired(at, at, reasons[at]) for at in sorted(reasons))
    assert {at: each.reason for each in found for at in range(each[0], each[1] + 1)} == reasons
    for one, other in itertools.pairwise(found):
        assert one.last_offset + 1 < other.first_offset or one.reason != other.reason


@given(st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)), st.integers(1, 6))
def test_only_what_was_rejected_has_a_reason(late: set[int], rejected: set[int], most: int) -> None:
    expired = joined(Expired(at, at, b"" if at % 7 == 0 else b"%d" % (at // 3)) for at in sorted(late))
    rows = [StateBatch(at, at, RecordState.ARCHIVED, 0) for at in sorted(rejected)]
    own = [(at, b"%d" % (at // 3)) for at in sorted(late & rejected) if at % 7]
    assert list(reasons_of(expired, rows, most)) == own[-most:]


def take(partition: SharePartition, expired: list[Expired], count: int = 4) -> list[tuple[int, int, int]]:
    acquired = partition.acquire("m", BATCHES, 500, 500, 0, spans((0, count - 1)), 0, expired=expired)
    return [(first, last, deliveries) for first, last, deliveries in acquired]


def test_what_has_expired_is_not_counted_as_delivered_and_is_written() -> None:
    partition = share_partition()
    assert take(partition, [Expired(0, 0), Expired(2, 9)]) == [(1, 1, 1)]
    (write,) = partition.take_rejections()
    assert [tuple(each) for each in write.batches] == [(0, 0, RecordState.ARCHIVED, 0), (2, 3, RecordState.ARCHIVED, 0)]
    assert partition.take_rejections() == []
    assert (partition.counters.deliveries, partition.counters.expired) == (1, 3)
    partition.on_state_written(write.write_id, ErrorCode.NONE, 0)
    assert partition.start_offset == 1


def test_neighbours_with_reasons_of_their_own_are_rejected_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Change their status once: a batch may have 20,000 of them."""
    calls: list[tuple[int, int]] = []
    original = InFlightWindow.remap

    def remap(self: InFlightWindow, batch: Any, first: int, last: int, change: Change) -> list[Run]:
        calls.append((first, last))
        return original(self, batch, first, last, change)

    monkeypatch.setattr(InFlightWindow, "remap", remap)
    assert take(share_partition(), [Expired(at, at, b"%d" % at) for at in range(1, 500)], 600) == [
        (0, 0, 1),
        (500, 599, 1),
    ]
    assert calls == [(1, 499)]


def test_many_ranges_end_in_several_turns() -> None:
    records = 3 * MOST_EXPIRED
    partition = share_partition(limit=records, log_end=records)
    expired = [Expired(at, at) for at in range(0, records, 2)]
    left = [at for at in range(records) if at % 2]
    taken: list[int] = []
    rejected: list[int] = []
    fetch_offset = 0
    while len(taken) < len(left):
        late = [each for each in expired if each.first_offset >= fetch_offset]
        acquired = partition.acquire(
            "m", BATCHES, records, records, fetch_offset, spans((0, records - 1)), 0, expired=late
        )
        rejections = partition.take_rejections()
        assert sum(len(write.batches) for write in rejections) <= MOST_EXPIRED
        for write in rejections:
            rejected += [at for each in write.batches for at in range(each.first_offset, each.last_offset + 1)]
            partition.on_state_written(write.write_id, ErrorCode.NONE, 0)
        assert acquired, "each reading goes on behind the last one"
        taken += [at for first, last, _ in acquired for at in range(first, last + 1)]
        fetch_offset = partition.next_fetch_offset()
    assert taken == left
    assert rejected == [each.first_offset for each in expired]


def test_what_a_member_holds_does_not_expire_in_its_hands() -> None:
    partition = share_partition()
    assert take(partition, []) == [(0, 3, 1)]
    assert take(partition, [Expired(0, 3)]) == []
    assert partition.take_rejections() == []
    assert [each.state for each in partition.snapshot()] == [RecordState.ACQUIRED]


@pytest.mark.parametrize("error", [ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE])
def test_a_letter_follows_the_write_whatever_comes_of_it(error: ErrorCode) -> None:
    """Another leader finds the record again, and rejects it again."""
    partition = share_partition()
    partition.settings = settings()._replace(dead_letters=True)
    assert take(partition, []) == [(0, 3, 1)]
    outcome = ack(partition, 1, 2, RELEASE, member="m")
    assert outcome.write_id is not None
    partition.on_state_written(outcome.write_id, ErrorCode.NONE, 0)
    assert take(partition, [Expired(0, 1)]) == [(2, 2, 2)]
    (write,) = partition.take_rejections()
    effects = partition.on_state_written(write.write_id, error, 0)
    letters = [each for effect in effects if isinstance(effect, DeadLetters) for each in effect.letters]
    assert letters == [DeadLetter(1, 1, 1, Cause.EXPIRED)]
