"""Dead letters and the code around the core of a share partition: writing them, and resuming them after a load."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from shareq.broker.share.core.effects import Cause, DeadLetter, StateBatch
from shareq.broker.share.leader import LeaderState, SharePartitionLeader
from shareq.coordinator.ports import ShareGroupSettings
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import AcknowledgeType, RecordState
from tests.support.fakes.share_leaders import filled, in_memory, state
from tests.support.fakes.share_rig import LOCK_MS, ShareRig
from tests.support.fakes.share_states import KeptState

REJECT, RELEASE = AcknowledgeType.REJECT, AcknowledgeType.RELEASE
WITH_QUEUE = ShareGroupSettings(record_lock_duration_ms=LOCK_MS, dead_letters=True)


class Written:
    """A `DeadLetterWriter` that records its calls; the functions in `finish` complete them."""

    def __init__(self) -> None:
        self.letters: list[DeadLetter] = []
        self.finish: list[Callable[[], None]] = []

    def write(
        self, leader: SharePartitionLeader, letters: Sequence[DeadLetter], done: Callable[[int, int], None]
    ) -> None:
        for letter in letters:
            self.letters.append(letter)
            self.finish.append(lambda letter=letter: done(letter.first_offset, letter.last_offset))  # type: ignore[misc]

    def give_up(self, leader: SharePartitionLeader, letters: Sequence[DeadLetter], reason: str) -> None:
        raise AssertionError(reason)

    def records_came(self, leader: SharePartitionLeader) -> None:
        raise AssertionError("all records are here")


@pytest.fixture
def writer() -> Written:
    return Written()


def with_queue(writer: Written) -> ShareRig:
    rig = filled(4)
    rig.settings.share = WITH_QUEUE
    rig.manager._dead_letters = writer
    return rig


def test_the_client_is_answered_before_the_letter_is_written(writer: Written) -> None:
    rig = with_queue(writer)
    rig.states.holds = True
    rig.start()
    rig.states.answer()
    assert rig.acquire() == [(0, 3, 1)]
    answer = rig.acknowledge(0, 3, REJECT)
    assert (answer.done, writer.letters) == (False, [])
    rig.states.answer()
    assert (answer.value, writer.letters) == (ErrorCode.NONE, [DeadLetter(0, 3, 1, Cause.CLIENT_REJECT, "m")])
    assert state(rig) == (RecordState.ARCHIVING, 1)
    assert rig.leader().unburied == 4
    writer.finish.pop()()
    assert rig.states.writes[-1].batches == (StateBatch(0, 3, 4, 1),)
    assert rig.leader().unburied == 0
    rig.states.answer()
    assert rig.leader().core.start_offset == 4


def test_without_queues_the_dead_are_archived_at_once() -> None:
    """Dead records of a state that was written while the group had a queue are archived, too."""
    rig = filled(4)
    rig.states.states[rig.key()] = KeptState(1, 0, (StateBatch(0, 3, 3, 1),))
    assert rig.leader().core.start_offset == 4
    assert rig.states.writes[-1].batches == (StateBatch(0, 3, 4, 1),)


def test_a_load_begins_again_with_unfinished_letters(writer: Written) -> None:
    rig = with_queue(writer)
    rig.states.states[rig.key()] = KeptState(1, 0, (StateBatch(0, 1, 3, 1), StateBatch(2, 2, 3, 5)))
    assert rig.leader().unburied == 3
    assert writer.letters == [
        DeadLetter(0, 1, 1, Cause.CLIENT_REJECT),
        DeadLetter(2, 2, 5, Cause.DELIVERY_COUNT_EXCEEDED),
    ]


def test_a_load_that_loses_the_end_of_the_log_keeps_the_dead_that_are_left(writer: Written) -> None:
    rig = with_queue(writer)
    rig.states.states[rig.key()] = KeptState(1, 0, (StateBatch(0, 9, 3, 1),))
    rig.leader()
    assert rig.states.states[rig.key()].batches == (StateBatch(0, 3, 3, 1),)
    assert writer.letters == [DeadLetter(0, 3, 1, Cause.CLIENT_REJECT)]


def test_a_lock_that_runs_out_for_the_last_time_has_its_letter(writer: Written) -> None:
    rig = with_queue(writer)
    rig.settings.share = WITH_QUEUE._replace(delivery_count_limit=1)
    assert rig.acquire() == [(0, 3, 1)]
    rig.clock.advance(LOCK_MS)
    assert writer.letters == [DeadLetter(0, 3, 1, Cause.DELIVERY_COUNT_EXCEEDED)]


def test_a_group_without_sessions_is_forgotten_when_its_dead_are_buried(writer: Written) -> None:
    """The group waits for the letters: the next leader would write them once more."""
    rig = with_queue(writer)
    rig.acquire()
    rig.acknowledge(0, 3, REJECT)
    rig.manager.group_empty("g")
    assert in_memory(rig) == [("g", 0)]
    writer.finish.pop()()
    assert in_memory(rig) == []
    assert rig.states.writes[-1].batches == (StateBatch(0, 3, 4, 1),)


def test_a_group_without_sessions_is_not_forgotten_while_its_members_records_die(writer: Written) -> None:
    rig = with_queue(writer)
    rig.settings.share = WITH_QUEUE._replace(delivery_count_limit=1)
    rig.acquire()
    rig.states.holds = True
    rig.manager.release(rig.key(), "m")
    rig.manager.group_empty("g")
    assert in_memory(rig) == [("g", 0)]
    rig.states.answer()
    assert writer.letters == [DeadLetter(0, 3, 1, Cause.DELIVERY_COUNT_EXCEEDED)]
    writer.finish.pop()()
    assert in_memory(rig) == []


def test_a_group_without_sessions_is_forgotten_when_its_members_records_could_not_die(writer: Written) -> None:
    rig = with_queue(writer)
    rig.settings.share = WITH_QUEUE._replace(delivery_count_limit=1)
    rig.acquire()
    rig.states.holds = True
    rig.manager.release(rig.key(), "m")
    rig.manager.group_empty("g")
    rig.states.errors["write"] = ErrorCode.COORDINATOR_NOT_AVAILABLE
    rig.states.answer()
    assert (in_memory(rig), writer.letters) == ([], [])


def test_a_member_that_comes_before_the_dead_are_buried_keeps_the_leader(writer: Written) -> None:
    rig = with_queue(writer)
    rig.acquire()
    rig.acknowledge(0, 1, REJECT)
    rig.manager.group_empty("g")
    leader = rig.leader()
    writer.finish.pop()()
    assert (rig.manager.get(rig.key()), leader.state) == (leader, LeaderState.ACTIVE)


def test_a_dropped_leader_leaves_its_dead_to_the_next_one(writer: Written) -> None:
    rig = with_queue(writer)
    rig.acquire()
    rig.acknowledge(0, 3, REJECT)
    rig.manager.state_replaced([rig.key()])
    writes = len(rig.states.writes)
    writer.finish.pop()()
    assert len(rig.states.writes) == writes
