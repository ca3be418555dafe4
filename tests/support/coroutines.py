"""Coroutines of services and handlers, begun as the broker begins them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar, cast

import pytest

from shareq.broker.dispatch.rows import Rows
from shareq.broker.foundation import turn_budget
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.coroutines import Waiting, begin
from shareq.broker.foundation.loop.turns import Turn, Turns
from shareq.broker.foundation.pending import Pending
from shareq.broker.foundation.turn_budget import PAUSE, Pause, TurnBudget
from shareq.broker.groups import offsets
from shareq.protocol.primitives import Message

M = TypeVar("M", bound=Message)
T = TypeVar("T")

END = object()


def begun(env: Environment, coroutine: Waiting[T]) -> Pending[T]:
    """Begin a coroutine; what it raises later, the clock's ticks raise, or what completes its `Pending`."""
    turns = Turns(env.clock.call_soon)
    return begin(coroutine, env.budget, lambda work: turns.run(work, _raised), _raised)


def by_turns(steps: Iterator[None]) -> Turn:
    """Return work of `Turns` that goes on to the next `yield` in each turn."""
    return lambda: next(steps, END) is not END


def finished(coroutine: Waiting[T], at_pause: Callable[[], object] = lambda: None) -> T:
    """Run a coroutine that pauses, and waits for nothing, to its end."""
    while True:
        try:
            waits_for = coroutine.send(None)
        except StopIteration as end:
            return cast(T, end.value)
        assert waits_for is None
        at_pause()


def whole(answer: M | Rows[M], version: int) -> M:
    """The answer, read again where its rows are in wire form."""
    if not isinstance(answer, Rows):
        return answer
    read, _ = type(answer.response).decode(b"".join(answer.frame(b"").pieces()), version)
    return read


def paused_everywhere(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Have every breath pause, and arrays be handled one element at a time; the elements of each breath are noted."""
    breaths: list[int] = []

    def breathe(_budget: TurnBudget, elements: int = 1) -> Pause:
        breaths.append(elements)
        return PAUSE

    monkeypatch.setattr(TurnBudget, "breathe", breathe)
    for module in (turn_budget, offsets):
        monkeypatch.setattr(module, "PIECE", 1)
    monkeypatch.setattr(offsets, "PART", 1)
    return breaths


def _raised(error: Exception) -> None:
    raise error
