"""The writing of long messages in steps: their arrays are written some elements at a time, with pauses. Pure.

The bytes are those of `Message.encode`: the generated writers run with other writers in the place of their writers of
arrays. A long array is written first, in pieces; then the structure around it is written again from its start, and
takes the finished array.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from types import FunctionType
from typing import Any, Final, cast

from shareq.protocol.primitives import GATHERED_FROM, Gathered, Message

STEP_ELEMENTS: Final = 2_000
"""The elements between two pauses: a millisecond or two."""

_LONG: Final = 250  # elements that are written together, if they have no arrays
_PIECE: Final = 100  # of an array whose elements have no arrays

Write = Callable[[Gathered, list[Any]], None]  # Any: structs of the array's class


class _LongArray(Exception):
    """The signal that an array has to be written first, in pieces."""

    def __init__(self, write: Write, items: list[Any]) -> None:
        super().__init__()
        self.write = write
        self.items = items


class SteppedWriter:
    """A writer of messages of one class in one version, one at a time. `writers` are the writers of their arrays, by
    the names in the generated module.
    """

    def __init__(self, message_class: type[Message], version: int) -> None:
        encoder = cast(FunctionType, message_class.ENCODERS[version])
        own: dict[str, Any] = dict(encoder.__globals__)
        self.writers: dict[str, Write] = {}
        self._pieces: dict[Write, int] = {}
        for name, value in encoder.__globals__.items():
            if name.startswith("_write_") and "_array_" in name:
                copy = FunctionType(value.__code__, own, name)
                self.writers[name] = copy
                self._pieces[copy] = 1 if any("_array_" in each for each in value.__code__.co_names) else _PIECE
                own[name] = self._stepping(copy)
            elif name.startswith("_write_") and isinstance(value, FunctionType):
                own[name] = FunctionType(value.__code__, own, name)
        self._encode: Callable[[Gathered, Any], None] = FunctionType(encoder.__code__, own, encoder.__name__)
        self._ready: dict[int, Gathered] = {}  # by identity: long arrays that were written
        self._step = 0  # elements since the last pause

    def message(self, start: bytes, message: Message) -> Generator[None, None, Gathered]:
        """Return `start`, then the encoded message, which must not change meanwhile. Raises the errors of the generated
        writers.
        """
        self._begin()
        while True:
            out = Gathered(start)
            try:
                self._encode(out, message)
            except _LongArray as array:
                yield from self._first(array)
            else:
                self._ready.clear()
                return out

    def elements(self, write: Write, items: list[Any]) -> Generator[None, None, Gathered]:
        """Return the encoded elements of one array without their count; `write` is one of `writers`."""
        self._begin()
        return (yield from self._in_pieces(write, items))

    def _begin(self) -> None:
        self._ready.clear()
        self._step = 0

    def _first(self, array: _LongArray) -> Generator[None, None, None]:
        """Write an array, and keep its bytes for the structure that it belongs to."""
        written = yield from self._in_pieces(array.write, array.items)
        self._ready[id(array.items)] = written

    def _in_pieces(self, write: Write, items: list[Any]) -> Generator[None, None, Gathered]:
        out, piece = Gathered(), self._pieces[write]
        for at in range(0, len(items), piece):
            yield from self._piece(out, write, items[at : at + piece])
            self._step += piece
            if self._step >= STEP_ELEMENTS:
                self._step = 0
                yield
        return out

    def _piece(self, out: Gathered, write: Write, some: list[Any]) -> Generator[None, None, None]:
        """Write some elements of a long array, which may themselves have long arrays."""
        size, left = len(out), len(out.left)
        inside: list[list[Any]] = []
        while True:
            try:
                write(out, some)
            except _LongArray as array:
                del out[size:], out.left[left:]
                inside.append(array.items)
                yield from self._first(array)
            else:
                break
        for each in inside:
            self._ready.pop(id(each), None)

    def _stepping(self, write: Write) -> Write:
        at_once = _LONG if self._pieces[write] > 1 else _PIECE

        def writer(out: Gathered, items: list[Any]) -> None:
            if len(items) <= at_once:
                self._step += len(items)
                write(out, items)
                return
            ready = self._ready.get(id(items))
            if ready is None:
                raise _LongArray(write, items)
            if type(out) is not Gathered or ready.size < GATHERED_FROM:  # a tagged field has bytes of its own
                out += b"".join(ready.pieces())
            else:
                at = len(out)
                out.left += [(at, cast(memoryview, each)) for each in ready.pieces()]

        return writer
