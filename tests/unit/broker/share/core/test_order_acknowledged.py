"""Order by key: acknowledgements of whole runs are applied in one pass, with the same result as one by one."""

from __future__ import annotations

import random

import pytest

from shareq.broker.share.core.acknowledge import Acknowledgement
from shareq.broker.share.core.effects import WriteState
from shareq.broker.share.core.partition import AckBatch, AckOutcome, SharePartition
from shareq.broker.share.core.values import AckRanges, AcquiredRange
from shareq.protocol.errors import ErrorCode
from tests.support.models.key_hashes import key_hashes
from tests.support.models.share_partition import (
    ACCEPT,
    BATCHES,
    FAILED,
    GAP,
    KEY,
    RECORDS,
    REJECT,
    RELEASE,
    RENEW,
    batches,
    settings,
)

_TAKEN = Acknowledgement._accept_runs
RECORDS_IN_ALL = 120


class Life:
    """Two members that fetch and acknowledge at random; `seen` records everything that results."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.keys = {offset: self.rng.randrange(30) for offset in range(RECORDS_IN_ALL) if self.rng.random() < 0.9}
        group = settings(limit=80, max_deliveries=4, lock_ms=1_000)._replace(order_by_key=True)
        self.core = SharePartition(KEY, 1, group)
        self.core.load(1, 0, (), log_start_offset=0, log_end_offset=RECORDS_IN_ALL)
        self.held: dict[str, list[AcquiredRange]] = {"m1": [], "m2": []}
        self.writes: list[int] = []
        self.seen: list[object] = []

    def run(self) -> list[object]:
        for step in range(40):
            for member in self.held:
                self._fetch(member, step)
                self._acknowledge(member, step)
            if self.rng.random() < 0.7:
                self._write(step)
            self.seen.append(self.core.snapshot())
            self.seen.append((self.core.start_offset, self.core.delivery_complete_count))
        return self.seen

    def _fetch(self, member: str, step: int) -> None:
        offset = self.core.next_fetch_offset()
        read = [span for span in batches(0, RECORDS_IN_ALL - 1, 40) if span.last_offset >= offset]
        if read and self.core.can_acquire():
            first, last = self.core.keys_wanted(read) or (1, 0)
            keys = {each: self.keys[each] for each in range(first, last + 1) if each in self.keys}
            mode = self.rng.choice((BATCHES, RECORDS))
            self.held[member] += self.core.acquire(member, mode, 40, 20, offset, read, step, keys=key_hashes(keys))

    def _acknowledge(self, member: str, step: int) -> None:
        other = self.held["m1" if member == "m2" else "m2"]
        mine = self.held[member]
        chosen = [each for each in mine if self.rng.random() < 0.8]
        if other and self.rng.random() < 0.1:
            chosen.append(self.rng.choice(other))
        acks = [ack for acquired in sorted(chosen) for ack in self._acks(acquired)]
        if acks:
            outcome = self.core.acknowledge(member, self._given(acks), step)
            self.seen.append(outcome)
            self._keep(outcome)
            if outcome.error is ErrorCode.NONE:
                renewed = {ack.first_offset for ack in acks if RENEW in ack.acknowledge_types}
                done = {each for each in chosen if each.first_offset not in renewed}
                self.held[member] = [each for each in mine if each not in done]

    def _acks(self, acquired: AcquiredRange) -> list[AckBatch]:
        first, last, _ = acquired
        kind = self.rng.choice((ACCEPT,) * 12 + (RELEASE, REJECT, RENEW, GAP))
        if self.rng.random() < 0.1:  # record by record
            return [AckBatch(each, each, [kind]) for each in range(first, last + 1)]
        if self.rng.random() < 0.1:  # a type for each
            return [AckBatch(first, last, [kind] * (last - first + 1))]
        return [AckBatch(first, last, [kind])]

    @staticmethod
    def _given(acks: list[AckBatch]) -> list[AckBatch] | AckRanges:
        if len(acks) < 4 or any(len(ack.acknowledge_types) > 1 for ack in acks):
            return acks
        return AckRanges([number for first, last, types in acks for number in (first, last, types[0])])

    def _keep(self, outcome: AckOutcome) -> None:
        self.writes += [each.write_id for each in outcome.effects if isinstance(each, WriteState)]

    def _write(self, step: int) -> None:
        while self.writes:
            error = FAILED if self.rng.random() < 0.1 else ErrorCode.NONE
            self.seen.append(self.core.on_state_written(self.writes.pop(0), error, step))


def test_in_one_pass_as_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = 0

    def counted(self: Acknowledgement, acks: list[int], at: int) -> int:
        nonlocal taken
        behind = _TAKEN(self, acks, at)
        taken += behind - at
        return behind

    for seed in range(60):
        monkeypatch.setattr(Acknowledgement, "_accept_runs", counted)
        at_once = Life(seed).run()
        monkeypatch.setattr(Acknowledgement, "_accept_runs", lambda _self, _acks, at: at)
        assert Life(seed).run() == at_once, f"seed {seed}"
    assert taken > 1_000


def test_what_another_member_has_undoes_those_before_it() -> None:
    core = SharePartition(KEY, 1, settings()._replace(order_by_key=True))
    core.load(1, 0, (), log_start_offset=0, log_end_offset=10)
    keys = dict.fromkeys(range(0, 10, 2), 100) | {offset: offset for offset in range(1, 10, 2)}
    core.next_fetch_offset()
    core.acquire("m1", RECORDS, 10, 3, 0, batches(0, 9, 10), 0, keys=key_hashes(keys))  # 0, 1, 3
    core.acquire("m2", RECORDS, 10, 3, core.next_fetch_offset(), batches(0, 9, 10), 0)  # 5, 7, 9
    before = core.snapshot()
    acks = [AckBatch(each, each, [ACCEPT]) for each in (0, 3, 5)]
    assert core.acknowledge("m1", acks, 0).error is ErrorCode.INVALID_RECORD_STATE
    assert core.snapshot() == before
    assert core.delivery_complete_count == 0
    assert core.acknowledge("m1", acks[:2], 0).error is ErrorCode.NONE
    assert core.delivery_complete_count == 2
