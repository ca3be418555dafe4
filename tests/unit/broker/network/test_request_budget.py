"""The memory for unhandled requests, shared by all connections; none can keep it for ever."""

from __future__ import annotations

import logging
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.network.answers import AnswerSlot, Buffer, Reply
from shareq.broker.network.connection import Connection
from shareq.broker.network.request_budget import SILENT_MS, TURN_MS, RequestBudget
from shareq.broker.network.request_limits import RequestLimits

MB = 1024 * 1024
READ = 64 * 1024
LARGEST = 4 * MB
TOTAL = 10 * MB


class Sender:
    """A client that sends `stream` as fast as the broker reads, `READ` bytes at a time.

    It is also the outlet of the broker's side.
    """

    def __init__(self, world: World, stream: bytes, limits: RequestLimits) -> None:
        self._world = world
        self.stream = memoryview(stream)
        self.sent = 0
        self.closed = False
        self.reading = True
        self.handled: list[int] = []  # sizes
        self.parked: list[AnswerSlot] = []
        self.side = Connection(
            len(world.senders),
            "127.0.0.1",
            "PLAINTEXT",
            handler_for=lambda _: self._handle,
            call_soon=world.clock.call_soon,
            outlet=self,
            limits=limits,
            budget=world.budget,
        )

    def _handle(self, frame: bytes) -> Reply:
        self.handled.append(len(frame))
        if frame[:1] != b"p":
            return None
        self.parked.append(AnswerSlot(self.side, parks=True))
        return self.parked[-1]

    def send(self, size: int = READ) -> bool:
        data = bytes(self.stream[self.sent : self.sent + size])
        if self.closed or not self.reading or not data:
            return False
        self.sent += len(data)
        self.side.receive(data)
        self._world.most_held = max(self._world.most_held, self._world.budget.held)
        return True

    def write(self, buffers: list[Buffer]) -> None:
        pass

    def close(self) -> None:
        self.closed = True
        self._world.clock.call_soon(self.side.lost)

    def pause_reading(self) -> None:
        assert self.reading, "paused once"
        self.reading = False

    def resume_reading(self) -> None:
        assert not self.reading, "resumed once"
        self.reading = True


class World:
    """Clients of a broker whose requests share a budget."""

    def __init__(self, total: int = TOTAL) -> None:
        self.clock = VirtualClock()
        self.budget = RequestBudget(self.clock, total, LARGEST)
        self.senders: list[Sender] = []
        self.most_held = 0

    def sender(self, stream: bytes, limits: RequestLimits | None = None) -> Sender:
        sender = Sender(self, stream, limits or RequestLimits(max_frame_bytes=LARGEST))
        self.senders.append(sender)
        return sender

    def send_all(self) -> None:
        """Let all senders send in turn, at the same virtual time, until the broker stops reading."""
        self.clock.run_until_idle()
        while sum(sender.send() for sender in self.senders):
            self.clock.run_until_idle()

    def pass_time(self, ms: int) -> None:
        """Pass the time in steps, and send between them whatever can be sent."""
        for _ in range(0, ms, 250):
            self.clock.advance(250)
            self.send_all()


@pytest.fixture
def world() -> World:
    return World()


def frame(size: int, kind: bytes = b"x") -> bytes:
    return (size - 4).to_bytes(4, "big") + kind + bytes(size - 5)


WHOLE = frame(LARGEST)
NEVER_COMPLETE = WHOLE[: LARGEST * 97 // 100]


def test_what_sixty_connections_send_of_frames_that_are_never_complete_is_bounded(world: World) -> None:
    for _ in range(60):
        world.sender(NEVER_COMPLETE)
    world.send_all()
    assert 3 * MB < world.most_held <= TOTAL
    world.pass_time(120 * SILENT_MS)
    assert world.most_held <= TOTAL
    world.budget.held -= sum(sender.side.held_input for sender in world.senders)
    assert world.budget.held == 0, "what was closed is not counted any more"


def test_a_flood_of_connections_with_a_read_each_is_bounded_too(world: World) -> None:
    for _ in range(500):
        world.sender(WHOLE[:READ])
    world.send_all()
    assert world.most_held <= TOTAL + READ


def test_small_requests_pass_whatever_is_held(world: World) -> None:
    for _ in range(60):
        world.sender(NEVER_COMPLETE)
    world.send_all()
    neighbour = world.sender(frame(100) * 50)
    while neighbour.send(1000):
        pass
    assert len(neighbour.handled) == 50


def test_a_request_that_has_to_wait_for_room_has_its_turn_before_larger_ones(world: World) -> None:
    """The smallest frame has every other turn, so that sixty incomplete frames do not come first."""
    for _ in range(60):
        world.sender(NEVER_COMPLETE)
    world.send_all()
    neighbour = world.sender(frame(MB))
    world.pass_time(3 * SILENT_MS)
    assert neighbour.handled == [MB - 4]


def test_a_large_request_has_its_turn_although_small_ones_go_on_coming(world: World) -> None:
    large, many = world.sender(WHOLE), frame(100_000) * 200
    small = [world.sender(many) for _ in range(60)]
    for _ in range(200):
        for sender in world.senders:
            sender.send()
    assert large.handled == [LARGEST - 4]
    assert all(not sender.closed for sender in (large, *small))


def test_more_requests_than_there_is_room_for_are_all_handled(world: World) -> None:
    for _ in range(20):
        world.sender(WHOLE * 2)
    world.send_all()
    assert [sender.handled for sender in world.senders] == [[LARGEST - 4] * 2] * 20
    assert (world.budget.held, world.budget.waiting) == (0, 0)
    assert 4 * MB < world.most_held <= TOTAL


def test_a_turn_in_which_nothing_comes_gives_way(caplog: pytest.LogCaptureFixture, world: World) -> None:
    silent = [world.sender(NEVER_COMPLETE) for _ in range(3)]
    world.send_all()
    others = [world.sender(WHOLE) for _ in range(3)]
    world.send_all()
    assert not any(sender.handled for sender in others)
    with caplog.at_level(logging.WARNING):
        world.pass_time(4 * SILENT_MS)
    assert [sender.handled for sender in others] == [[LARGEST - 4]] * 3
    assert any(sender.closed for sender in silent)
    assert f"of a request of {LARGEST} give way to" in caplog.text


def test_a_turn_that_trickles_gives_way_too(world: World) -> None:
    slow = [world.sender(WHOLE) for _ in range(6)]
    while sum(sender.send() for sender in slow if sender.sent < LARGEST - 100):
        pass
    neighbour = world.sender(WHOLE)
    for _ in range(8 * TURN_MS // 250):
        world.clock.advance(250)
        for sender in slow:
            sender.send(1)
        while neighbour.send():
            pass
    assert neighbour.handled == [LARGEST - 4]


def test_without_others_that_wait_a_frame_may_take_its_time(world: World) -> None:
    alone = world.sender(WHOLE)
    while alone.sent < LARGEST - 100:
        assert alone.send()
    world.clock.advance(100 * TURN_MS)
    while alone.send():
        pass
    assert alone.handled == [LARGEST - 4]


def test_requests_behind_a_parked_one_wait_for_room_and_are_handled_then(world: World) -> None:
    limits = RequestLimits(max_frame_bytes=LARGEST, max_input_bytes=LARGEST)
    parked = [world.sender(frame(100, b"p") + frame(1000) * 1000, limits) for _ in range(10)]
    world.send_all()
    assert world.budget.held > MB
    assert world.budget.waiting
    world.pass_time(2 * TURN_MS)
    assert not any(sender.closed for sender in parked)
    for sender in parked:
        sender.parked[0].fill(None)
    world.send_all()
    assert [len(sender.handled) for sender in parked] == [1001] * 10
    assert (world.budget.held, world.budget.waiting) == (0, 0)


def test_a_large_request_counts_until_it_is_answered(world: World) -> None:
    busy = [world.sender(frame(MB, b"p")) for _ in range(2)]
    small = world.sender(frame(1000, b"p"))
    world.send_all()
    assert [sender.handled for sender in (*busy, small)] == [[MB - 4], [MB - 4], [996]]
    assert world.budget.held == 2 * MB
    busy[0].parked[0].fill(None)
    world.send_all()
    assert world.budget.held == MB
    busy[1].side.lost()
    assert world.budget.held == 0


def test_an_answer_that_nobody_takes_yet_ends_the_count(world: World) -> None:
    sender = world.sender(frame(MB, b"p"))
    world.send_all()
    sender.side.pause_output()
    sender.parked[0].fill(None)
    world.send_all()
    assert world.budget.held == 0


def test_large_requests_that_are_being_handled_leave_the_others_in_line(world: World) -> None:
    """A request keeps its turn until it is answered, whatever its client does meanwhile."""
    senders = [world.sender(frame(LARGEST, b"p")) for _ in range(10)]
    while not all(sender.handled for sender in senders):
        world.send_all()
        busy = [sender for sender in senders if sender.handled and not sender.parked[0].filled]
        assert busy, "one is always handled"
        world.clock.advance(3 * SILENT_MS)
        busy[0].parked[0].fill(None)
    world.send_all()
    assert world.most_held <= TOTAL
    assert not any(sender.closed for sender in senders)


def test_a_turn_is_over_when_its_request_is_not_answered_for_long(world: World) -> None:
    waits = world.sender(frame(LARGEST, b"p"))
    world.send_all()
    other = world.sender(WHOLE)
    world.send_all()
    assert not other.handled
    world.pass_time(2 * TURN_MS)
    assert other.handled == [LARGEST - 4]
    assert not waits.closed
    waits.parked[0].fill(None)
    world.send_all()
    assert (world.budget.held, world.budget.waiting) == (0, 0)


def test_without_a_limit_nothing_waits() -> None:
    world = World(total=-1)
    for _ in range(60):
        world.sender(NEVER_COMPLETE)
    world.send_all()
    assert world.budget.held == 60 * len(NEVER_COMPLETE)
    assert not world.budget.waiting


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.usefixtures("traced")
def test_a_connection_keeps_nothing_of_what_was_handled() -> None:
    world = World()
    before, _ = tracemalloc.get_traced_memory()
    for _ in range(20):
        sender = world.sender(b"")
        sender.side.receive(frame(200_000))
        sender.side.receive(frame(200_000)[:100_000])
        sender.side.receive(frame(200_000)[100_000:] + frame(1000)[:500])
        assert len(sender.handled) == 2
    after, _ = tracemalloc.get_traced_memory()
    assert world.budget.held == 20 * 500
    assert after - before < 20 * 10_000


@pytest.mark.usefixtures("traced")
def test_a_frame_that_comes_byte_by_byte_takes_little_more_than_its_bytes() -> None:
    world = World()
    sender = world.sender(b"")
    before, _ = tracemalloc.get_traced_memory()
    sender.side.receive(frame(LARGEST)[:100])
    for _ in range(100_000):
        sender.side.receive(b"x")
    after, _ = tracemalloc.get_traced_memory()
    assert world.budget.held == 100_100
    assert after - before < 2 * world.budget.held


@settings(max_examples=30, deadline=None)
@given(
    streams=st.lists(
        st.lists(st.sampled_from([10, 5_000, 70_000, 300_000, MB]), min_size=1, max_size=4), min_size=1, max_size=12
    ),
    broken=st.lists(st.booleans(), min_size=12, max_size=12),
    sizes=st.lists(st.sampled_from([1, 3_000, READ]), min_size=12, max_size=12),
    data=st.data(),
)
def test_whatever_comes_is_bounded_and_whole_requests_are_handled(
    streams: list[list[int]], broken: list[bool], sizes: list[int], data: st.DataObject
) -> None:
    total = LARGEST + 2 * 12 * READ  # half of the shared budget has room for one read of each
    world = World(total)
    for frames, cut in zip(streams, broken, strict=False):
        whole = b"".join(map(frame, frames))
        world.sender(whole[: len(whole) - 1] if cut else whole)
    for _ in range(data.draw(st.integers(0, 30))):
        number = data.draw(st.integers(0, len(world.senders) - 1))
        world.senders[number].send(sizes[number])
        assert world.budget.held == sum(sender.side.buffered_input for sender in world.senders if not sender.closed)
        if data.draw(st.integers(0, 9)) == 0:
            world.senders[number].closed = True
            world.senders[number].side.lost()
    lost = {number for number, sender in enumerate(world.senders) if sender.closed}
    world.pass_time(15 * SILENT_MS)
    assert world.most_held <= total
    assert world.budget.held == sum(sender.side.buffered_input for sender in world.senders)
    for number, (sender, frames, cut) in enumerate(zip(world.senders, streams, broken, strict=False)):
        if number not in lost and not cut and not sender.closed:
            assert sender.handled == [size - 4 for size in frames]
        assert cut or number in lost or not sender.closed, "no whole request gives way while it comes"
