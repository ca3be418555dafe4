"""Response order, parked requests and memory bounds of one connection, without a socket."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shareq.broker.network.answers import AnswerSlot, Buffer, Reply
from shareq.broker.network.connection import Connection
from shareq.broker.network.frames import CloseConnection
from shareq.broker.network.request_limits import RequestLimits
from shareq.protocol.primitives import Gathered


class Peer:
    def __init__(self) -> None:
        self.writes: list[list[bytes]] = []
        self.closed = False
        self.reading = True
        self.full = False
        self.connection: Connection | None = None

    def write(self, buffers: list[Buffer]) -> None:
        self.writes.append([bytes(buffer) for buffer in buffers])
        if self.full and self.connection is not None:
            self.connection.pause_output()

    def close(self) -> None:
        self.closed = True

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    @property
    def answers(self) -> list[bytes]:
        return [answer for write in self.writes for answer in write]


class World:
    def __init__(self, limits: RequestLimits | None = None) -> None:
        self.peer = Peer()
        self.soon: deque[Callable[[], None]] = deque()
        self.handled: list[bytes] = []
        self.slots: list[tuple[bytes, AnswerSlot]] = []
        self.connection = Connection(
            1,
            "127.0.0.1",
            "PLAINTEXT",
            handler_for=lambda _connection: self.handle,
            call_soon=self.soon.append,
            outlet=self.peer,
            limits=limits or RequestLimits(),
        )
        self.peer.connection = self.connection

    def handle(self, frame: bytes) -> Reply:
        data = bytes(frame)
        self.handled.append(data)
        kind = data[:1]
        if kind in (b"p", b"l"):
            slot = AnswerSlot(self.connection, parks=kind == b"p")
            self.slots.append((data, slot))
            return slot
        if kind == b"x":
            raise CloseConnection("the frame says so")
        if kind == b"g":
            return in_pieces(data)
        return None if kind == b"n" else data

    def fill(self, position: int = 0, answer: Buffer | None = None) -> None:
        data, slot = self.slots.pop(position)
        slot.fill(data if answer is None else answer)

    def tick(self) -> None:
        for _ in range(len(self.soon)):
            self.soon.popleft()()

    def settle(self) -> None:
        while self.soon:
            self.tick()


@pytest.fixture
def world() -> World:
    return World()


def frame(payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "big") + payload


def in_pieces(data: bytes) -> Gathered:
    """Return a response whose middle part is gathered without a copy."""
    answer = Gathered(data[:1])
    answer.left.append((1, data[1:-1]))
    answer += data[-1:]
    return answer


def test_all_complete_frames_of_a_read_are_answered_in_one_write(world: World) -> None:
    world.connection.receive(frame(b"e1") + frame(b"e2") + frame(b"e3") + frame(b"e4")[:5])
    assert world.peer.writes == [[b"e1", b"e2", b"e3"]]
    world.connection.receive(frame(b"e4")[5:])
    assert world.peer.answers[-1] == b"e4"


def test_bytes_that_arrive_one_by_one_make_the_same_frames(world: World) -> None:
    for byte in frame(b"e" * 300) + frame(b"") + frame(b"e"):
        world.connection.receive(bytes([byte]))
    assert world.handled == [b"e" * 300, b"", b"e"]


def test_a_later_answer_keeps_its_place(world: World) -> None:
    world.connection.receive(frame(b"l1") + frame(b"e2") + frame(b"l3") + frame(b"e4"))
    assert world.handled == [b"l1", b"e2", b"l3", b"e4"]
    assert world.peer.answers == []
    world.fill(1)
    world.settle()
    assert world.peer.answers == []
    world.fill(0)
    world.settle()
    assert world.peer.writes == [[b"l1", b"e2", b"l3", b"e4"]]


def test_answers_filled_in_one_tick_leave_together(world: World) -> None:
    world.connection.receive(b"".join(frame(b"l%d" % number) for number in range(5)))
    while world.slots:
        world.fill()
    world.tick()
    assert world.peer.writes == [[b"l0", b"l1", b"l2", b"l3", b"l4"]]


def test_a_parked_answer_holds_later_frames_back(world: World) -> None:
    """A connection has one request at a time, as in Apache Kafka, which mutes the connection."""
    world.connection.receive(frame(b"e0") + frame(b"p1") + frame(b"e2") + frame(b"p3") + frame(b"e4"))
    assert world.handled == [b"e0", b"p1"]
    assert world.peer.answers == [b"e0"]
    world.connection.receive(frame(b"e5"))
    assert world.handled == [b"e0", b"p1"]
    world.fill()
    world.settle()
    assert world.handled[2:] == [b"e2", b"p3"]
    world.fill()
    world.settle()
    assert world.peer.answers == [b"e0", b"p1", b"e2", b"p3", b"e4", b"e5"]


def test_a_request_without_an_answer_leaves_no_gap(world: World) -> None:
    world.connection.receive(frame(b"l1") + frame(b"n2") + frame(b"e3"))
    world.fill()
    world.settle()
    assert world.peer.answers == [b"l1", b"e3"]


def test_a_slot_may_be_filled_with_no_answer(world: World) -> None:
    world.connection.receive(frame(b"l1") + frame(b"e2"))
    world.slots[0][1].fill(None)
    world.settle()
    assert world.peer.answers == [b"e2"]


@pytest.mark.parametrize("size", [2**31 - 1, 1001, -1, -(2**31)])
def test_a_frame_length_out_of_bounds_closes_before_memory_is_taken(
    size: int, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(RequestLimits(max_frame_bytes=1000))
    with caplog.at_level(logging.WARNING):
        world.connection.receive(frame(b"e1") + size.to_bytes(4, "big", signed=True) + b"rest")
    assert world.peer.answers == [b"e1"]
    assert world.peer.closed
    assert world.connection.buffered_input == 0
    assert len(caplog.records) == 1
    assert str(size) in caplog.text


def test_a_frame_of_exactly_the_limit_is_taken() -> None:
    world = World(RequestLimits(max_frame_bytes=1000))
    world.connection.receive(frame(b"e" * 1000))
    assert len(world.peer.answers) == 1


def test_a_malformed_frame_closes_after_what_was_asked_before_it_is_answered(
    caplog: pytest.LogCaptureFixture, world: World
) -> None:
    with caplog.at_level(logging.WARNING):
        world.connection.receive(frame(b"l1") + frame(b"x") + frame(b"e3"))
        world.connection.receive(frame(b"e4"))
    assert world.handled == [b"l1", b"x"]
    assert not world.peer.closed
    world.fill()
    world.settle()
    assert world.peer.answers == [b"l1"]
    assert world.peer.closed
    assert [record.message for record in caplog.records] == [
        "connection 1 from 127.0.0.1 on PLAINTEXT: closing: the frame says so"
    ]


def test_a_reader_that_is_too_slow_stops_the_handling_of_its_requests(world: World) -> None:
    world.peer.full = True
    world.connection.receive(frame(b"e1"))
    world.connection.receive(frame(b"e2") + frame(b"e3"))
    assert world.handled == [b"e1"]
    world.peer.full = False
    world.connection.resume_output()
    assert world.peer.answers == [b"e1", b"e2", b"e3"]


def test_input_that_cannot_be_handled_is_bounded_by_not_reading() -> None:
    world = World(RequestLimits(max_input_bytes=100))
    world.connection.receive(frame(b"p"))
    world.connection.receive(frame(b"e" * 50))
    assert world.peer.reading
    world.connection.receive(frame(b"e" * 60))
    assert not world.peer.reading
    world.fill()
    world.settle()
    assert world.peer.reading
    assert [len(answer) for answer in world.peer.answers] == [1, 50, 60]


def test_answers_of_one_go_are_bounded_and_the_rest_follows_in_the_next_tick() -> None:
    world = World(RequestLimits(max_output_bytes=100))
    world.connection.receive(b"".join(frame(b"e" * 60) for _ in range(4)))
    assert len(world.handled) == 2
    world.tick()
    assert len(world.handled) == 4
    assert [len(write) for write in world.peer.writes] == [2, 2]


def test_answers_in_pieces_keep_their_place_and_count_whole() -> None:
    world = World(RequestLimits(max_output_bytes=100))
    frames = [b"e1", b"g" * 60, b"e2", b"g" + b"0" * 58 + b"1", b"e3"]
    world.connection.receive(b"".join(map(frame, frames)))
    assert len(world.handled) == 4
    world.tick()
    assert [b"".join(write) for write in world.peer.writes] == [b"".join(frames[:4]), frames[4]]
    world.connection.receive(frame(b"l1") + frame(b"g" * 60) + frame(b"e4"))
    world.fill(answer=in_pieces(b"later"))
    world.settle()
    assert b"".join(world.peer.writes[-1]) == b"later" + b"g" * 60 + b"e4"


def test_a_flood_of_small_requests_leaves_other_connections_their_turn() -> None:
    """One read may hold thousands of requests, which together would take a tenth of a second."""
    world = World(RequestLimits(max_answers=3))
    world.connection.receive(b"".join(frame(b"e%d" % number) for number in range(8)))
    assert len(world.handled) == 3
    world.tick()
    assert len(world.handled) == 6
    world.settle()
    assert [len(write) for write in world.peer.writes] == [3, 3, 2]


@pytest.mark.parametrize("limits", [RequestLimits(max_answers=3), RequestLimits(max_output_bytes=6)])
def test_a_flood_that_goes_on_is_not_read_faster_than_it_is_handled(limits: RequestLimits) -> None:
    """Frames read between two iterations wait in a bounded buffer."""
    world = World(limits._replace(max_input_bytes=40))
    for number in range(3):
        world.connection.receive(b"".join(frame(b"e%d" % digit) for digit in range(6)))
        assert len(world.handled) == 3
        assert world.peer.reading == (number == 0)
    world.settle()
    assert len(world.handled) == 18
    assert world.peer.reading


@pytest.mark.parametrize("limits", [RequestLimits(max_unanswered=3), RequestLimits(max_unanswered_bytes=6)])
def test_requests_without_an_answer_are_bounded(limits: RequestLimits) -> None:
    world = World(limits)
    world.connection.receive(b"".join(frame(b"l%d" % number) for number in range(5)))
    assert len(world.handled) == 3
    world.fill()
    world.settle()
    assert len(world.handled) == 4
    while world.slots:
        world.fill()
        world.settle()
    assert world.peer.answers == [b"l0", b"l1", b"l2", b"l3", b"l4"]


def test_finishing_answers_what_is_in_flight_and_handles_nothing_more(world: World) -> None:
    world.connection.receive(frame(b"p1") + frame(b"e2"))
    world.connection.finish()
    world.connection.receive(frame(b"e3"))
    assert not world.peer.closed
    world.fill()
    world.settle()
    assert world.peer.answers == [b"p1"]
    assert world.peer.closed


def test_waiting_callers_are_notified_that_the_connection_is_lost(world: World) -> None:
    reported: list[str] = []
    forget = world.connection.on_close(lambda: reported.append("first"))
    world.connection.on_close(lambda: reported.append("second"))
    forget()
    world.connection.receive(frame(b"p1"))
    world.connection.lost()
    assert reported == ["second"]
    world.fill()  # an answer that comes too late is dropped
    world.settle()
    assert world.peer.answers == []


def test_a_large_frame_is_collected_from_many_reads(world: World) -> None:
    stream = frame(b"e1") + frame(b"e" * 100_000) + frame(b"e" * 70_000) + frame(b"e2")
    for start in range(0, len(stream), 30_000):
        world.connection.receive(stream[start : start + 30_000])
    assert [len(answer) for answer in world.peer.answers] == [2, 100_000, 70_000, 2]
    assert world.connection.buffered_input == 0


def test_a_large_frame_that_is_complete_waits_like_any_other(world: World) -> None:
    large = frame(b"e" * 100_000)
    world.connection.receive(frame(b"e1") + large[:50_000])
    world.connection.pause_output()
    world.connection.receive(large[50_000:] + frame(b"e2"))
    assert world.handled == [b"e1"]
    world.connection.resume_output()
    assert [len(answer) for answer in world.peer.answers] == [2, 100_000, 2]


def test_reading_goes_on_when_what_is_left_is_the_beginning_of_a_large_frame() -> None:
    world = World(RequestLimits(max_input_bytes=1000))
    large = frame(b"e" * 100_000)
    world.connection.receive(frame(b"p"))
    world.connection.receive(large[:90_000])
    assert not world.peer.reading
    world.fill()
    world.settle()
    assert world.peer.reading
    world.connection.receive(large[90_000:])
    assert len(world.peer.answers[-1]) == 100_000


@settings(max_examples=60, deadline=None)
@given(
    kinds=st.lists(st.sampled_from(["e", "p", "l", "n"]), min_size=1, max_size=25),
    sizes=st.lists(st.sampled_from([0, 1, 5, 200, 20_000, 70_000]), min_size=25, max_size=25),
    cuts=st.lists(st.integers(0, 1), max_size=12),
    data=st.data(),
)
def test_any_cut_and_any_order_of_completion_gives_the_answers_in_request_order(
    kinds: list[str], sizes: list[int], cuts: list[int], data: st.DataObject
) -> None:
    world = World(RequestLimits(max_output_bytes=25_000, max_input_bytes=500, max_unanswered=4))
    payloads = [
        kind.encode() + bytes([number]) + b"." * size
        for number, (kind, size) in enumerate(zip(kinds, sizes, strict=False))
    ]
    stream = b"".join(frame(payload) for payload in payloads)
    points = sorted(data.draw(st.integers(0, len(stream))) for _ in cuts)
    for start, stop in zip([0, *points], [*points, len(stream)], strict=True):
        if stop > start:
            world.connection.receive(stream[start:stop])
        fills: bool = data.draw(st.booleans())
        if world.slots and fills:
            world.fill(data.draw(st.integers(0, len(world.slots) - 1)))
        if data.draw(st.booleans()):
            world.tick()
    while world.slots or world.soon:
        if world.slots:
            world.fill(data.draw(st.integers(0, len(world.slots) - 1)))
        world.settle()
    assert world.handled == payloads
    assert world.peer.answers == [payload for payload in payloads if not payload.startswith(b"n")]
    assert world.peer.reading


def test_a_muted_connection_answers_and_takes_up_nothing_more(world: World) -> None:
    world.connection.receive(frame(b"p1"))
    world.connection.mute()
    world.connection.mute()
    world.connection.receive(frame(b"e2") + frame(b"e3"))
    world.fill()
    world.settle()
    assert world.handled == [b"p1"]
    world.connection.unmute()
    world.settle()
    assert world.handled == [b"p1"]
    world.connection.unmute()
    world.settle()
    assert world.handled == [b"p1", b"e2", b"e3"]


def test_a_muted_connection_ends_like_any_other(world: World) -> None:
    world.connection.mute()
    world.connection.receive(frame(b"e1"))
    world.connection.finish()
    world.settle()
    world.connection.unmute()
    assert world.peer.closed
    assert world.handled == []
