"""Memory that was freed is given back, when it is not needed again soon."""

from __future__ import annotations

import os
import sys

import pytest

from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.network.answer_budget import LARGE_BYTES, AnswerBudget
from shareq.broker.network.connection import Connection
from shareq.broker.network.connection_limits import ConnectionLimits
from shareq.broker.network.request_budget import RequestBudget
from shareq.broker.process.allocator import CALM_MS, FreedMemory, give_back


class Rig:
    """Both budgets, and how often memory was given back."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.answers = AnswerBudget(self.clock)
        self.requests = RequestBudget(self.clock, 8 * LARGE_BYTES, 4 * LARGE_BYTES)
        self.given_back = 0
        FreedMemory(self.clock, (self.answers, self.requests), self._give_back)

    def _give_back(self) -> None:
        self.given_back += 1

    def connection(self) -> Connection:
        return Connection(
            1,
            "127.0.0.1",
            "PLAINTEXT",
            handler_for=lambda _: lambda _frame: None,
            call_soon=self.clock.call_soon,
            outlet=_Outlet(),
            limits=ConnectionLimits(),
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


def resident() -> int:
    """Bytes of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
def test_giving_back_takes_effect_where_there_is_glibc() -> None:
    pieces = [bytes([number & 1]) * 100_000 for number in range(1_000)]
    kept = pieces[::50]
    del pieces
    before = resident()
    if give_back():
        assert resident() < before - 20_000_000
    assert len(kept) == 20
