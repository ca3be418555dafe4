"""Coroutines of services and handlers, started as the broker starts them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar, cast

import pytest

from shareq.broker.dispatch.rows import Rows
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.coroutines import Waiting, begin
from shareq.broker.foundation.loop.turns import Turn, Turns
from shareq.broker.foundation.pending import Pending
from shareq.broker.foundation.turn_budget import PAUSE, Pause, TurnBudget, in_pieces
from shareq.broker.groups import offsets
from shareq.protocol.primitives import Message

M = TypeVar("M", bound=Message)
T = TypeVar("T")

END = object()


def begun(env: Environment, coroutine: Waiting[T]) -> Pending[T]:
    """Start a coroutine. Its later exceptions are raised by the clock's ticks, or by the code that completes its
    `Pending`.
    """
    turns = Turns(env.clock.call_soon)
    return begin(coroutine, env.budget, lambda work: turns.run(work, _raised), _raised)


def by_turns(steps: Iterator[None]) -> Turn:
    """Return work for `Turns` that runs to the next `yield` in each turn."""
    return lambda: next(steps, END) is not END


def finished(coroutine: Waiting[T], at_pause: Callable[[], object] = lambda: None) -> T:
    """Run to its end a coroutine that pauses but waits for nothing."""
    while True:
        try:
            waits_for = coroutine.send(None)
        except StopIteration as end:
            return cast(T, end.value)
        assert waits_for is None
        at_pause()


def whole(answer: M | Rows[M], version: int) -> M:
    """Return the answer, decoded again where its rows are in wire form."""
    if not isinstance(answer, Rows):
        return answer
    read, _ = type(answer.response).decode(b"".join(answer.frame(b"").pieces()), version)
    return read


def paused_everywhere(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Make work pause after every element; return the list to which each pause adds its number of elements.

    `turn_budget.PIECE` stays: modules imported during the first request would keep a changed value for later tests.
    """
    breaths: list[int] = []

    def breathe(_budget: TurnBudget, elements: int = 1) -> Pause:
        breaths.append(elements)
        return PAUSE

    monkeypatch.setattr(TurnBudget, "breathe", breathe)
    monkeypatch.setattr(in_pieces, "__defaults__", (1,))
    for name in ("PIECE", "PART"):
        monkeypatch.setattr(offsets, name, 1)
    return breaths


def _raised(error: Exception) -> None:
    raise error
