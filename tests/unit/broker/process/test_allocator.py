"""Freed memory is returned to the system unless it is soon needed again."""

from __future__ import annotations

import os
import sys
from bisect import insort
from collections.abc import Callable
from itertools import pairwise
from random import Random

import pytest

from devtools.in_memory.mem_fs import MemFs
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.turn_budget import LOOK, TURN_ELEMENTS, TurnBudget, unpaused
from shareq.broker.network.answer_budget import LARGE_BYTES, AnswerBudget
from shareq.broker.network.connection import Connection
from shareq.broker.network.request_budget import RequestBudget
from shareq.broker.network.request_limits import RequestLimits
from shareq.broker.process.allocator import (
    CALM_MS,
    ELEMENT_BYTES,
    TOP_PAD_BYTES,
    FreedMemory,
    Heap,
    give_back,
    glibc_heap,
)
from tests.support.coroutines import finished


class Rig:
    def __init__(self, heap: Callable[[], Heap] | None = None) -> None:
        self.clock = VirtualClock()
        self.answers = AnswerBudget(self.clock)
        self.requests = RequestBudget(self.clock, 8 * LARGE_BYTES, 4 * LARGE_BYTES)
        self.given_back = 0
        env = Environment(self.clock, Random(1), MemFs(self.clock.call_soon, Random(1)))
        FreedMemory(env, (self.answers, self.requests), heap or self._counted)

    def _counted(self) -> None:
        self.given_back += 1

    def connection(self) -> Connection:
        return Connection(
            1,
            "127.0.0.1",
            "PLAINTEXT",
            handler_for=lambda _: lambda _frame: None,
            call_soon=self.clock.call_soon,
            outlet=_Outlet(),
            limits=RequestLimits(),
            budget=self.requests,
        )


class _Outlet:
    def write(self, buffers: object) -> None: ...

    def close(self) -> None: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


def test_memory_is_given_back_once_when_it_is_calm_after_large_requests() -> None:
    rig = Rig()
    connection = rig.connection()
    connection.receive((2 * LARGE_BYTES).to_bytes(4, "big") + bytes(LARGE_BYTES))
    connection.lost()
    rig.clock.advance(CALM_MS)
    assert rig.given_back == 0, "it was not calm all the time"
    rig.clock.advance(CALM_MS)
    assert rig.given_back == 1
    rig.clock.advance(100 * CALM_MS)
    assert rig.given_back == 1
    assert rig.clock.next_timer_ms() is None, "an idle broker has nothing to look at"


def test_what_is_used_again_and_again_is_kept() -> None:
    rig = Rig()
    for _ in range(20):
        rig.answers.note_read(LARGE_BYTES)
        rig.clock.advance(CALM_MS // 2)
    assert rig.given_back == 0
    rig.clock.advance(2 * CALM_MS)
    assert rig.given_back == 1


def test_what_stands_still_for_long_is_given_back_when_it_goes() -> None:
    rig = Rig()
    connection = rig.connection()
    connection.receive((2 * LARGE_BYTES).to_bytes(4, "big") + bytes(LARGE_BYTES))
    rig.clock.advance(10 * CALM_MS)
    assert rig.given_back == 0
    connection.lost()
    rig.clock.advance(2 * CALM_MS)
    assert rig.given_back == 1


def test_small_requests_and_answers_set_no_timer() -> None:
    rig = Rig()
    rig.answers.note_read(LARGE_BYTES - 1)
    rig.connection().receive(LARGE_BYTES.to_bytes(4, "big") + bytes(1000))
    rig.clock.run_until_idle()
    assert rig.clock.next_timer_ms() is None


class FakeHeap:
    """An allocator that uses the smallest hole that fits, or else the end."""

    def __init__(self, holes: list[int]) -> None:
        self._holes: list[tuple[int, int]] = []  # size, address
        self.taken: dict[int, int] = {}
        self.resident = 0
        self._end = 0
        for size in holes:
            self._holes.append((size, self._end))
            self._end += size + 4096
            self.resident += size
        self._holes.sort()
        self._end += TOP_PAD_BYTES
        self._first = self._end
        self.calls = 0
        self.released = 0
        self.trimmed: list[int] = []

    def take(self, size: int) -> int:
        self.calls += 1
        for place, (room, address) in enumerate(self._holes):
            if room >= size:
                del self._holes[place]
                if room > size:
                    insort(self._holes, (room - size, address + size))
                self.taken[address + 1] = size
                return address + 1
        address, self._end = self._end, self._end + size
        self.taken[address + 1] = 0
        return address + 1

    def put_back(self, address: int) -> None:
        self.calls += 1
        del self.taken[address]

    def release(self, address: int, size: int) -> None:
        assert size <= self.taken[address]
        assert address < self._first
        self.released += size
        self.resident -= size

    def end(self) -> int:
        return self._end

    def trim(self) -> None:
        assert not self.taken
        self.trimmed.append(self.resident)


def test_memory_is_given_back_in_steps() -> None:
    """230 MB, given back at once, took 27 ms."""
    holes = [1_000_000] * 100 + [100_000] * 1_000 + [20_000] * 1_500
    heap, released, calls = FakeHeap(holes), [0], [0]

    def note() -> None:
        released.append(heap.released)
        calls.append(heap.calls)

    finished(give_back(heap, TurnBudget(VirtualClock()).breathe), note)
    in_turn = TURN_ELEMENTS + LOOK
    assert max(now - before for before, now in pairwise(released)) <= in_turn * ELEMENT_BYTES
    assert max(now - before for before, now in pairwise(calls)) <= in_turn + 4
    (left,) = heap.trimmed
    assert left < sum(holes) / 10


def test_giving_back_ends_when_memory_is_needed_again() -> None:
    class Watched(FakeHeap):
        def release(self, address: int, size: int) -> None:
            super().release(address, size)
            if self.released == size:
                rig.clock.call_soon(lambda: rig.answers.note_read(LARGE_BYTES))

    heap = Watched([1_000_000] * 200)
    rig = Rig(lambda: heap)
    rig.answers.note_read(LARGE_BYTES)
    rig.clock.advance(2 * CALM_MS)
    assert 0 < heap.released <= 100 * 1_000_000
    assert not heap.taken
    assert not heap.trimmed
    rig.clock.advance(2 * CALM_MS)
    assert heap.trimmed


def test_memory_that_there_is_none_of_ends_the_search() -> None:
    class Full(FakeHeap):
        def take(self, size: int) -> int:
            self.calls += 1
            return 0

    heap = Full([1_000_000])
    finished(give_back(heap, unpaused))
    assert heap.calls == 4
    assert heap.trimmed


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
def test_giving_back_takes_effect_where_there_is_glibc() -> None:
    pieces = [bytes([number & 1]) * 100_000 for number in range(1_000)]
    kept = pieces[::50]
    del pieces
    before = resident()
    heap = glibc_heap()
    if heap is not None:
        finished(give_back(heap, unpaused))
        assert resident() < before - 20_000_000
    assert len(kept) == 20
