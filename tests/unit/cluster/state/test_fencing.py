"""The batches that count in a log written by several owners, some of them deposed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shareq.cluster.state.fencing import (
    MOST_BYTES,
    NEXT_GENERATION,
    Counting,
    Owner,
    Producer,
    Verdict,
    alive_batch,
    take_over_batch,
)
from shareq.protocol.records.batch import RecordData, build_batch, read_header, stamp

A: Final = Producer(7, 0)
B: Final = Producer(7, 1)


def log_of(*batches: bytearray) -> list[bytes]:
    offset, log = 0, []
    for batch in batches:
        stamp(batch, offset, 0)
        offset = read_header(batch).next_offset
        log.append(bytes(batch))
    return log


def judged(log: Sequence[bytes]) -> list[Verdict]:
    counting = Counting()
    return [counting.judge(read_header(batch), batch) for batch in log]


def owner_of(log: Sequence[bytes]) -> Owner | None:
    counting = Counting()
    for batch in log:
        counting.judge(read_header(batch), batch)
    return counting.owner


def taken_over(producer: Producer, generation: int = NEXT_GENERATION, node_id: int = 1) -> bytearray:
    return take_over_batch(producer, node_id=node_id, sequence=0, now_wall_ms=5, generation=generation)


def written(
    producer: Producer,
    key: bytes = b"k",
    value: bytes | None = b"v",
    *,
    control: bool = False,
    transactional: bool = False,
) -> bytearray:
    return build_batch(
        [RecordData(key, value)],
        timestamp_ms=5,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        base_sequence=1,
        control=control,
        transactional=transactional,
    )


def test_a_batch_counts_behind_its_owners_record_until_the_next_one() -> None:
    log = log_of(written(A), taken_over(A), written(A), written(B), taken_over(B), written(A), written(B))
    assert judged(log) == [
        Verdict.SKIPPED,
        Verdict.OWNERS,
        Verdict.COUNTS,
        Verdict.SKIPPED,
        Verdict.OWNERS,
        Verdict.SKIPPED,
        Verdict.COUNTS,
    ]
    assert owner_of(log) == Owner(generation=2, node_id=1, producer=B, offset=4)


def test_alive_records_are_no_coordinators() -> None:
    alive = [alive_batch(producer, sequence=3, now_wall_ms=5) for producer in (A, B, A)]
    log = log_of(alive[0], taken_over(A), alive[1], alive[2])
    assert judged(log) == [Verdict.SKIPPED, Verdict.OWNERS, Verdict.SKIPPED, Verdict.OWNERS]
    assert owner_of(log) == Owner(1, 1, A, 1)


def test_an_owner_goes_on_with_its_generation_under_a_new_producer() -> None:
    log = log_of(taken_over(A), written(A), taken_over(B, 1), written(A), written(B), taken_over(A))
    assert judged(log)[2:5] == [Verdict.OWNERS, Verdict.SKIPPED, Verdict.COUNTS]
    found = owner_of(log)
    assert found is not None
    assert found.generation == 2


def test_a_log_may_begin_with_the_record_that_it_was_pruned_to() -> None:
    log = log_of(taken_over(A, 41), written(A), taken_over(B))
    assert judged(log) == [Verdict.OWNERS, Verdict.COUNTS, Verdict.OWNERS]
    found = owner_of(log)
    assert found is not None
    assert found.generation == 42


def test_what_a_zombie_had_under_way_does_not_give_it_the_slot_back() -> None:
    """A zombie's late record, for pruning or for its new producer, follows its successor's record."""
    for late in (taken_over(A, 1), taken_over(Producer(7, 2), 1)):
        log = log_of(taken_over(A), taken_over(B), late, written(A), written(Producer(7, 2)), written(B))
        assert judged(log)[2:] == [Verdict.SKIPPED] * 3 + [Verdict.COUNTS]


@pytest.mark.parametrize("batch", [written(A, control=True), written(A, transactional=True)])
def test_an_owner_writes_no_transactions(batch: bytearray) -> None:
    assert judged(log_of(taken_over(A), batch))[1] is Verdict.SKIPPED


def test_a_record_that_names_another_owner_takes_nothing_over() -> None:
    forged = taken_over(B)
    forged[43:57] = taken_over(A)[43:57]  # the producer of the batch; a reader has looked at its CRC before
    log = log_of(taken_over(A), forged, written(B), written(A))
    assert judged(log) == [Verdict.OWNERS, Verdict.SKIPPED, Verdict.SKIPPED, Verdict.COUNTS]
    nobody = log_of(taken_over(Producer(-1, -1)), written(Producer(-1, -1)))
    assert judged(nobody) == [Verdict.SKIPPED, Verdict.SKIPPED]


@pytest.mark.parametrize("key", [b"\x7f\xff", b"\x7f\xff\x00\x00", b"\x7f\xff\x00\x07later", b"\x7f\xff\x03"])
@pytest.mark.parametrize("value", [b"", b"\x00", b"\x07something"])
def test_records_for_owners_of_later_releases_change_nothing(key: bytes, value: bytes) -> None:
    log = log_of(taken_over(A), written(A, key, value), written(B, key, value), written(A))
    assert judged(log) == [Verdict.OWNERS, Verdict.OWNERS, Verdict.SKIPPED, Verdict.COUNTS]
    assert owner_of(log) == Owner(1, 1, A, 0)


def test_a_take_over_record_may_have_more_behind_it() -> None:
    batch = taken_over(B)
    key, value = b"\x7f\xff\x05\x00" + bytes(10) + b"more", bytes(batch[-24:])
    value = b"\x05" + (9).to_bytes(4, "big") + (3).to_bytes(4, "big") + (7).to_bytes(8, "big") + b"\x00\x01" + b"more"
    log = log_of(written(B, key, value), written(B))
    assert judged(log) == [Verdict.OWNERS, Verdict.COUNTS]
    assert owner_of(log) == Owner(9, 3, B, 0)


@given(st.binary(max_size=40), st.one_of(st.none(), st.binary(max_size=40)))
def test_any_bytes_are_judged(key: bytes, value: bytes | None) -> None:
    assert judged(log_of(taken_over(A), written(A, b"\x7f\xff" + key, value)))[1] in set(Verdict)
    assert len(taken_over(A)) <= MOST_BYTES


def test_each_take_over_has_a_key_of_its_own() -> None:
    """If compaction removed an owner's record, nothing that the owner wrote would count."""
    from shareq.protocol.records.batch import decode_records

    keys = {decode_records(taken_over(producer, generation))[0].key for producer in (A, B) for generation in (-1, 4)}
    assert len(keys) == 2
    assert len({decode_records(alive_batch(each, sequence=0, now_wall_ms=0))[0].key for each in (A, B)}) == 1


# -- owners and zombies side by side


@dataclass
class Incarnation:
    """An owner as the product's: at most two batches in flight, and an end at the first unexpected offset."""

    number: int
    producer: Producer
    generation: int
    knows: list[int]  # offsets that count, of others and of its own
    expected: int
    under_way: list[tuple[int, int]] = field(default_factory=list)  # offset, and the one that was expected
    over: bool = False


class Slot:
    """A log, and owners that write into it, even after they were deposed."""

    def __init__(self) -> None:
        self.log: list[bytes] = []
        self.incarnations: list[Incarnation] = []
        self.known: dict[int, list[int]] = {}  # offset of a batch: the offsets that its writer knew to count
        self.confirmed: set[int] = set()

    def append(self, batch: bytearray) -> int:
        stamp(batch, len(self.log), 0)
        self.log.append(bytes(batch))
        return len(self.log) - 1

    def take_over(self, number: int, *, answered: bool) -> None:
        producer = Producer(number // 3, number % 3)
        offset = self.append(taken_over(producer))
        if not answered:
            return  # its node restarts as another process
        read = self.counted()
        owner = owner_of(self.log)
        assert owner is not None
        assert owner.producer == producer
        self.incarnations.append(Incarnation(number, producer, owner.generation, read, offset + 1))

    def write(self, who: Incarnation, what: str, number: int) -> None:
        if who.over or len(who.under_way) == 2:
            return
        if what == "write":
            batch = written(who.producer)
        elif what == "prune":
            batch = taken_over(who.producer, who.generation)
        else:
            who.producer = Producer(number // 3, number % 3)
            batch = taken_over(who.producer, who.generation)
        offset = self.append(batch)
        if what == "write":
            self.known[offset] = list(who.knows)
            who.knows.append(offset)
        who.under_way.append((offset, who.expected))
        who.expected += 1

    def answer(self, who: Incarnation, *, lost: bool) -> None:
        if not who.under_way or who.over:
            return
        offset, expected = who.under_way.pop(0)
        who.over = lost or offset != expected
        if not who.over:
            self.confirmed.add(offset)

    def counted(self) -> list[int]:
        return [at for at, verdict in enumerate(judged(self.log)) if verdict is Verdict.COUNTS]


STEPS: Final = st.lists(
    st.tuples(
        st.sampled_from(
            ["take over", "lost take over", "write", "write", "write", "answer", "answer", "renew", "prune", "lose"]
        ),
        st.integers(0, 1),
    ),
    min_size=4,
    max_size=40,
)


@settings(max_examples=300)
@given(STEPS)
def test_what_an_owner_confirms_counts_and_was_decided_on_all_that_counts_before_it(
    steps: list[tuple[str, int]],
) -> None:
    slot = Slot()
    for number, (what, at) in enumerate([("take over", 0), *steps[:2], ("take over", 0), *steps[2:]]):
        if what.endswith("take over"):
            slot.take_over(number, answered=what == "take over")
        elif slot.incarnations:
            who = slot.incarnations[-1 - at % len(slot.incarnations)]
            if what in ("answer", "lose"):
                slot.answer(who, lost=what == "lose")
            else:
                slot.write(who, what, number)
    counted = slot.counted()
    writes = slot.known.keys()
    assert slot.confirmed & writes <= set(counted)
    for at, offset in enumerate(counted):
        assert slot.known[offset] == counted[:at]
