"""The acknowledgements of one request: each partition on its own, validated before anything is applied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from shareq.broker.foundation.loop.coroutines import begin
from shareq.broker.foundation.loop.turns import Turns
from shareq.broker.foundation.pending import Pending
from shareq.broker.foundation.turn_budget import TurnBudget
from shareq.broker.share.acknowledgements import MOST_BATCHES, AckResults, PartitionAcks, ShareAcknowledgements
from shareq.broker.share.core.effects import StateBatch
from shareq.broker.share.core.partition import AckBatch
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import AcknowledgeType
from tests.support.fakes.share_rig import ShareRig

NONE = ErrorCode.NONE
ACCEPT, RENEW = AcknowledgeType.ACCEPT, AcknowledgeType.RENEW


def ack(first: int, last: int, *types: int) -> AckBatch:
    return AckBatch(first, last, list(types) or [ACCEPT])


class Rig(ShareRig):
    """Three records in each partition, acquired by member m."""

    def __init__(self) -> None:
        super().__init__()
        for partition in (0, 1):
            self.source(partition).fill(b"0", b"1", b"2")
        self.acquire(0, 1)
        self.failures: list[Exception] = []
        self.turn_budget = TurnBudget(self.clock)
        self.service = ShareAcknowledgements(self.manager, self.topics, self.turn_budget)
        self.turns = Turns(self.clock.call_soon)

    def apply(
        self,
        *acks: tuple[int, Sequence[AckBatch]],
        refuse: Callable[[str], ErrorCode] = lambda _topic: NONE,
        renew_request: bool = False,
        renew_version: bool = False,
        member: str = "m",
        topic_id: bytes | None = None,
    ) -> Pending[AckResults]:
        parts = [PartitionAcks(topic_id or self.topic_id, partition, batches) for partition, batches in acks]
        applied = self.service.apply(
            "g", member, parts, refuse, renew_request=renew_request, renew_version=renew_version
        )
        failed = self.failures.append
        found: Any = begin(applied, self.turn_budget, lambda work: self.turns.run(work, failed), failed)
        return found  # type: ignore[no-any-return]

    def codes(self, results: AckResults) -> dict[int, ErrorCode]:
        return {partition: code for (_topic_id, partition), code in results.items()}

    @property
    def counted(self) -> tuple[int, int]:
        topic = self.manager.counters.of_topic(self.topic_id)
        return topic.acknowledgements, topic.failed_acknowledgements


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_every_partition_is_acknowledged_and_all_of_it_durable_before_the_answer(rig: Rig) -> None:
    rig.states.holds = True
    answer = rig.apply((0, [ack(0, 2)]), (1, [ack(0, 0)]))
    rig.states.answer(1)
    assert (answer.done, rig.counted) == (False, (0, 0))
    rig.states.answer()
    assert rig.codes(answer.value) == {0: NONE, 1: NONE}
    assert [rig.leader(each).core.start_offset for each in (0, 1)] == [3, 1]
    assert rig.counted == (1, 0)


def test_an_error_of_one_partition_touches_no_other(rig: Rig) -> None:
    results = rig.apply((0, [ack(2, 0)]), (1, [ack(0, 2)]), (5, [ack(0, 0)])).value
    assert rig.codes(results) == {
        0: ErrorCode.INVALID_REQUEST,
        1: NONE,
        5: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert [rig.leader(each).core.start_offset for each in (0, 1)] == [0, 3]
    assert rig.counted == (1, 1)


@pytest.mark.parametrize("partition", [-1, 2])
def test_a_partition_that_does_not_exist(partition: int) -> None:
    assert Rig().apply((partition, [ack(0, 0)])).value == {
        (Rig().topic_id, partition): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    }


def test_a_topic_that_does_not_exist_is_not_counted(rig: Rig) -> None:
    unknown = b"x" * 16
    assert rig.apply((0, [ack(0, 0)]), topic_id=unknown).value == {(unknown, 0): ErrorCode.UNKNOWN_TOPIC_ID}
    assert set(rig.manager.counters.topics) == {rig.topic_id}
    assert rig.counted == (0, 0)


def test_a_partition_with_more_batches_than_one_turn_takes_is_refused(rig: Rig) -> None:
    answer = rig.apply((0, [ack(0, 0)] * (MOST_BATCHES + 1)), (1, [ack(0, 2)]))
    rig.clock.run_until_idle()
    assert rig.codes(answer.value) == {0: ErrorCode.INVALID_REQUEST, 1: NONE}


def test_many_batches_are_looked_at_in_turns(rig: Rig) -> None:
    """190 partitions of 1,000 batches each, two of which exist, are checked over several turns."""
    looked_at: list[int] = []
    in_this_tick = 0

    def refuse(_topic: str) -> ErrorCode:
        nonlocal in_this_tick
        in_this_tick += 1
        return NONE

    batches = [ack(offset, offset) for offset in range(1_000)]
    answer = rig.apply(*((partition, batches) for partition in range(190)), refuse=refuse)
    looked_at.append(in_this_tick)
    in_this_tick = 0
    while rig.clock.run_tick():
        looked_at.append(in_this_tick)
        in_this_tick = 0
    assert sum(looked_at) == 190
    assert max(looked_at) * len(batches) <= 2_000
    codes = rig.codes(answer.value)
    assert set(codes.values()) == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_REQUEST}
    assert list(codes) == list(range(190))


def test_what_fails_among_many_batches_is_reported(rig: Rig) -> None:
    defect, asked = RuntimeError("a defect"), [0]

    def refuse(_topic: str) -> ErrorCode:
        asked[0] += 1
        if asked[0] > 1:
            raise defect
        return NONE

    batches = [ack(offset, offset) for offset in range(1_000)]
    answer = rig.apply(*((partition, batches) for partition in range(3)), refuse=refuse)
    rig.clock.run_until_idle()
    assert rig.failures == [defect]
    assert not answer.done


def test_who_may_not_is_refused_before_the_partition_is_looked_at(rig: Rig) -> None:
    asked: list[str] = []

    def refuse(topic: str) -> ErrorCode:
        asked.append(topic)
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED

    results = rig.apply((0, [ack(0, 0)]), (9, [ack(0, 0)]), refuse=refuse).value
    assert set(rig.codes(results).values()) == {ErrorCode.TOPIC_AUTHORIZATION_FAILED}
    assert (asked, rig.states.writes, rig.counted) == (["t", "t"], [], (1, 1))


def test_a_partition_that_is_not_in_memory(rig: Rig) -> None:
    """After a restart acknowledgements are refused until the next fetch loads the partition."""
    rig.manager.group_empty("g")
    assert rig.codes(rig.apply((0, [ack(0, 0)])).value) == {0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_a_partition_named_twice_has_its_batches_taken_together(rig: Rig) -> None:
    results = rig.apply((0, [ack(0, 0)]), (1, [ack(0, 0)]), (0, [ack(1, 1)])).value
    assert rig.codes(results) == {0: NONE, 1: NONE}
    assert [write.batches for write in rig.states.writes] == [(StateBatch(0, 1, 2, 1),), (StateBatch(0, 0, 2, 1),)]


def test_a_partition_that_is_merely_named_is_answered_only_beside_acknowledgements(rig: Rig) -> None:
    assert rig.apply((0, []), (1, [])).value == {}
    assert rig.apply().value == {}
    assert rig.codes(rig.apply((0, []), (1, [ack(0, 0)])).value) == {0: NONE, 1: NONE}
    assert rig.codes(rig.apply((0, []), (7, [])).value) == {7: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert rig.codes(rig.apply((0, []), (1, [ack(2, 0)])).value) == {1: ErrorCode.INVALID_REQUEST}
    rig.manager.group_empty("g")
    assert rig.codes(rig.apply((0, []), (1, [ack(0, 0)])).value)[0] is NONE


@pytest.mark.parametrize("renew_request", [False, True])
@pytest.mark.parametrize("renew_version", [False, True])
def test_renewing_needs_a_request_that_announces_it_and_a_version_that_knows_it(
    renew_request: bool, renew_version: bool, rig: Rig
) -> None:
    results = rig.apply((0, [ack(0, 2, RENEW)]), renew_request=renew_request, renew_version=renew_version).value
    expected = NONE if renew_request and renew_version else ErrorCode.INVALID_REQUEST
    assert rig.codes(results) == {0: expected}


def test_what_another_member_holds(rig: Rig) -> None:
    assert rig.codes(rig.apply((0, [ack(0, 0)]), member="other").value) == {0: ErrorCode.INVALID_RECORD_STATE}


def test_the_error_of_a_state_write(rig: Rig) -> None:
    rig.states.errors["write"] = ErrorCode.FENCED_STATE_EPOCH
    assert rig.codes(rig.apply((0, [ack(0, 0)])).value) == {0: ErrorCode.NOT_LEADER_OR_FOLLOWER}
    assert rig.counted == (1, 1)


def test_a_partition_that_is_named_alone_must_exist(rig: Rig) -> None:
    """The first partition number that does not exist is rejected, even beside valid ones."""
    assert rig.codes(rig.apply((2, []), (0, [ack(0, 0)])).value) == {2: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0: NONE}
