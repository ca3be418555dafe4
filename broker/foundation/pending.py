"""A result that will arrive later, such as that of a state write, an append or a long poll. It needs no coroutine
and no task.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, Generic, TypeVar

T = TypeVar("T")
U = TypeVar("U")

_UNSET = object()


class Pending(Generic[T]):
    """A value that arrives once, on the loop's own thread.

    `parks`: the connection handles no later request until the answer has arrived, as Kafka does for every request; an
    append that is answered within the tick need not park.
    """

    __slots__ = ("_callbacks", "_value", "parks")

    def __init__(self, *, parks: bool = True) -> None:
        self._value: Any = _UNSET  # without casts, which cost a call each
        self._callbacks: list[Callable[[T], None]] | None = None
        self.parks = parks

    @property
    def done(self) -> bool:
        return self._value is not _UNSET

    @property
    def value(self) -> T:
        """The value. Raise RuntimeError if it has not arrived."""
        if self._value is _UNSET:
            raise RuntimeError("the answer is not there yet")
        value: T = self._value
        return value

    def complete(self, value: T) -> None:
        """Set the value and call all callbacks. Raise RuntimeError the second time."""
        if self._value is not _UNSET:
            raise RuntimeError("a pending answer was completed twice")
        self._value = value
        callbacks = self._callbacks
        if callbacks is not None:
            self._callbacks = None
            for callback in callbacks:
                callback(value)

    def on_complete(self, callback: Callable[[T], None]) -> None:
        """Call `callback` with the value: at once if it has arrived already."""
        if self._value is not _UNSET:
            callback(self._value)
        elif self._callbacks is None:
            self._callbacks = [callback]
        else:
            self._callbacks.append(callback)

    def __await__(self) -> Generator[Pending[T], None, T]:
        """Suspend the awaiting coroutine until the value has arrived (`loop/coroutines.py`)."""
        if self._value is _UNSET:
            yield self
        value: T = self._value
        return value

    def then(self, function: Callable[[T], U]) -> Pending[U]:
        """Return the pending result of `function` on the value."""
        result: Pending[U] = Pending(parks=self.parks)
        self.on_complete(lambda value: result.complete(function(value)))
        return result

    def chain(self, function: Callable[[T], Pending[U]]) -> Pending[U]:
        """Return the pending result of the operation that `function` begins with the value."""
        result: Pending[U] = Pending(parks=self.parks)
        self.on_complete(lambda value: function(value).on_complete(result.complete))
        return result


def completed(value: T, *, parks: bool = True) -> Pending[T]:
    """Return a pending whose value has arrived already."""
    pending: Pending[T] = Pending(parks=parks)
    pending.complete(value)
    return pending


def gather(answers: Sequence[Pending[T]]) -> Pending[list[T]]:
    """Return a pending of all the answers, in order, which arrives with the last of them."""
    result: Pending[list[T]] = Pending()
    missing = len(answers)

    def arrived(_value: T) -> None:
        nonlocal missing
        missing -= 1
        if not missing:
            result.complete([answer.value for answer in answers])

    if not answers:
        result.complete([])
    for answer in answers:
        answer.on_complete(arrived)
    return result


def join(first: Pending[T], second: Pending[U]) -> Pending[tuple[T, U]]:
    """Return a pending of both answers, which arrives with the later one."""
    result: Pending[tuple[T, U]] = Pending()

    def arrived(_value: object) -> None:
        if first.done and second.done and not result.done:
            result.complete((first.value, second.value))

    first.on_complete(arrived)
    if not result.done:
        second.on_complete(arrived)
    return result
