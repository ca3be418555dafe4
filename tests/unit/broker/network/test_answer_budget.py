from __future__ import annotations

from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.network.answer_budget import LEAST_BYTES, LOOKS, ROOM_WAIT_MS, STALL_MS, AnswerBudget

MB = 1024 * 1024


class Reader:
    def __init__(self, budget: AnswerBudget) -> None:
        self._budget = budget
        self.left = self.held = self.looks = 0
        self.reason = ""

    def answer(self, size: int) -> Reader:
        self.left += size
        self.held += size
        self._budget.note_unsent(self, self.held)
        return self

    def take(self, size: int) -> None:
        """Read bytes of a response, which stays in memory until its last byte was read."""
        self.left = max(self.left - size, 0)
        if not self.left:
            self.held = 0
            self._budget.note_unsent(self, 0)

    def untaken(self) -> int:
        self.looks += 1
        return self.left

    def give_way(self, reason: str) -> None:
        assert not self.reason, "closed once"
        self.reason = reason


def room(total_bytes: int = 100 * MB) -> tuple[AnswerBudget, VirtualClock]:
    clock = VirtualClock()
    return AnswerBudget(clock, total_bytes), clock


def test_answers_that_are_not_taken_leave_less_for_others() -> None:
    shared, _ = room()
    assert shared.grant() == 50 * MB
    reader = Reader(shared).answer(50 * MB)
    assert shared.grant() == 25 * MB
    reader.take(50 * MB)
    assert shared.grant() == 50 * MB


def test_a_little_is_always_granted() -> None:
    shared, _ = room(MB)
    Reader(shared).answer(10 * MB)
    assert shared.grant() == LEAST_BYTES


def test_what_one_tick_reads_counts_until_the_sockets_have_it() -> None:
    """All waiting fetches that one append wakes are answered before any response is sent."""
    shared, clock = room()
    for expected in (50, 25, 12.5):
        assert shared.grant() == expected * MB
        shared.note_read(shared.grant())
    assert clock.run_tick() == 1
    assert shared.grant() == 50 * MB


def test_fifteen_hundred_that_fetch_and_never_read_hold_no_more_than_the_total() -> None:
    """Each gets a first batch of any size, which grants alone do not limit."""
    shared, clock = room()
    readers: list[Reader] = []
    most = 0
    for _ in range(1500):
        if shared.has_room():
            readers.append(Reader(shared).answer(max(shared.grant() // 4, MB)))
        most = max(most, shared.held)
        clock.advance(1)
    assert most <= 100 * MB
    assert any(reader.reason for reader in readers)
    assert not readers[-1].reason


def test_an_answer_counts_whole_until_its_last_byte_is_taken() -> None:
    """Counting only the unsent rest once let 256 MB become 2.4 GB."""
    shared, _ = room()
    reader = Reader(shared).answer(80 * MB)
    reader.take(80 * MB - 1)
    assert shared.held == 80 * MB
    assert not shared.has_room()
    reader.take(1)
    assert shared.has_room()


def test_clients_that_take_nothing_are_closed_when_others_need_the_room() -> None:
    shared, clock = room()
    idle, slow = Reader(shared).answer(40 * MB), Reader(shared).answer(40 * MB)
    clock.advance(100 * STALL_MS)
    assert not shared.has_room(), "that was the first look"
    for _ in range(STALL_MS // ROOM_WAIT_MS - 1):
        slow.take(LEAST_BYTES)
        clock.advance(ROOM_WAIT_MS)
        assert not shared.has_room()
    assert not idle.reason
    clock.advance(ROOM_WAIT_MS)
    assert shared.has_room()
    assert not slow.reason
    assert idle.reason.startswith("answers of 41943040 bytes that its client does not take give way to others: 0 taken")
    assert shared.held == 40 * MB


def test_a_client_that_takes_next_to_nothing_is_no_better() -> None:
    shared, clock = room()
    idle = Reader(shared).answer(80 * MB)
    for _ in range(STALL_MS // ROOM_WAIT_MS):
        assert not shared.has_room()
        idle.take(100)
        clock.advance(ROOM_WAIT_MS)
    assert shared.has_room()
    assert idle.reason


def test_nobody_is_closed_or_looked_at_as_long_as_there_is_room() -> None:
    shared, clock = room()
    idle = Reader(shared).answer(70 * MB)
    for _ in range(100):
        clock.advance(STALL_MS)
        assert shared.has_room()
    assert (idle.reason, idle.looks) == ("", 0)


def test_looking_is_bounded_however_many_ask_for_room() -> None:
    shared, clock = room()
    readers = [Reader(shared).answer(100_000) for _ in range(800)]
    for _ in range(1000):
        assert not shared.has_room()
    assert sum(reader.looks for reader in readers) == LOOKS
    clock.advance(ROOM_WAIT_MS)
    assert not shared.has_room()
    assert sum(reader.looks for reader in readers) == 2 * LOOKS


def test_answers_of_other_kinds_are_bounded_by_closing_who_takes_nothing() -> None:
    """Metadata and similar responses need no grant; the connection that was checked longest ago is closed."""
    shared, _ = room()
    readers = [Reader(shared).answer(10 * MB) for _ in range(10)]
    assert not any(reader.reason for reader in readers)
    last = Reader(shared).answer(10 * MB)
    assert [bool(reader.reason) for reader in readers] == [True] + [False] * 9
    assert shared.held == 100 * MB
    assert not last.reason


def test_of_those_that_were_looked_at_one_that_reads_does_not_give_way() -> None:
    shared, _ = room()
    readers = [Reader(shared).answer(10 * MB) for _ in range(10)]
    assert not shared.has_room()
    readers[0].take(MB)
    Reader(shared).answer(10 * MB)
    assert [bool(reader.reason) for reader in readers] == [False, True] + [False] * 8


def test_one_answer_may_be_larger_than_the_total() -> None:
    shared, _ = room()
    first, large = Reader(shared).answer(10 * MB), Reader(shared).answer(200 * MB)
    assert first.reason
    assert not large.reason
    large.take(200 * MB)
    assert shared.held == 0


def test_more_answers_on_a_connection_that_was_looked_at_are_not_taken_for_standing_still() -> None:
    shared, clock = room()
    reader = Reader(shared).answer(76 * MB)
    assert not shared.has_room()
    reader.take(2 * MB)
    reader.answer(2 * MB)
    clock.advance(STALL_MS)
    assert not shared.has_room()
    assert not reader.reason
