"""The reading of requests within bounds: their elements are counted before memory is taken for them. Pure.

An element of an array may be two bytes on the wire and a hundred times as much in memory, so a frame's size bounds
neither memory nor time. Here the generated readers run with other readers in the place of their readers of arrays,
which count:

    at once    short arrays; most requests have no others
    in steps   a longer array is read piece by piece, with pauses; then the structure around it is read again from its
               start, and takes the finished array

Four numbers count as one element, because they are read by one call. Strings, ids and structs count as one each.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator
from types import FunctionType
from typing import Any, Final, Generic, TypeVar, cast

from shareq.protocol.primitives import MalformedMessage, Message, read_uvarint

STEP_ELEMENTS: Final = 500
"""The elements between two pauses: half a millisecond."""

_LONG: Final = 250  # elements that are read together, if they have no arrays
_PIECE: Final = 50  # of an array whose elements have no arrays
_NUMBERS: Final = 4  # that count as one element
_LONG_NUMBERS: Final = 40_000  # that are read between two pauses: a millisecond

M = TypeVar("M", bound=Message)
_Read = Callable[..., tuple[Any, int]]  # Any: what a generated reader returns, and the lists of its arrays
_ARRAYS: Final = frozenset(
    {"read_compact_strings", "read_strings", "read_compact_byte_strings", "read_byte_strings", "read_uuids"}
)
_UNREADABLE: Final = (IndexError, struct.error, UnicodeDecodeError)


class TooManyElements(MalformedMessage):
    """The error for a message of more elements than its reader allows. The array that exceeds the limit has not been
    read.
    """


class _LongArray(Exception):
    """The signal that an array has to be read first, in pieces."""

    def __init__(self, read: _Read, position: int, count: int, piece: int, weight: int = 1) -> None:
        """Name the array. `weight`: the number of its elements that count as one."""
        super().__init__()
        self.read = read
        self.position = position
        self.count = count
        self.piece = piece
        self.weight = weight


class BoundedReader(Generic[M]):
    """A reader of one kind of message in one version. Only one message at a time may be read in steps."""

    def __init__(self, message_class: type[M], version: int) -> None:
        self._name = f"{message_class.__name__} version {version}"
        self._most = 0  # elements the message may have
        self._total = 0  # that were counted
        self._step = 0  # since the last pause
        self._numbers = 0  # of arrays of numbers, since the last pause
        self._in_steps = False
        self._ready: dict[int, tuple[Any, int]] = {}  # by position: arrays that were read in pieces, and their ends
        decoder = cast(FunctionType, message_class.DECODERS[version])
        # The functions of the generated module once more, so that they find our readers of arrays in place of theirs.
        own: dict[str, Any] = dict(decoder.__globals__)
        for name, value in decoder.__globals__.items():
            if name.startswith("_read_") and isinstance(value, FunctionType):
                copy = FunctionType(value.__code__, own, name)
                own[name] = self._counting(copy, _piece_of(value)) if value.__code__.co_argcount == 3 else copy
            elif name in _ARRAYS:
                own[name] = self._counting(value, _PIECE)
        own["read_numbers"] = self._counting_numbers(own.get("read_numbers"))
        own["read_compact_int8s"] = self._counting_compact(own.get("read_compact_int8s"), _NUMBERS)
        own["read_tags"] = self._counting_compact(own.get("read_tags"), 1)
        self._decode: _Read = FunctionType(decoder.__code__, own, decoder.__name__)

    def read_at_once(self, data: bytes, offset: int, few: int) -> M | None:
        """Return the message at `offset`; None if it has more than `few` elements. Raises `MalformedMessage`."""
        self._begin(few, in_steps=False)
        try:
            return self._read(data, offset)
        except TooManyElements:
            return None

    def read_in_steps(self, data: bytes, offset: int, most: int) -> Generator[None, None, M]:
        """Return the message at `offset`; yield after about every `STEP_ELEMENTS` elements.

        Raise `TooManyElements` as soon as the message is known to have more than `most`, and `MalformedMessage`.
        """
        self._begin(most, in_steps=True)
        while True:
            try:
                return self._read(data, offset)
            except _LongArray as array:
                yield from self._read_first(data, array)

    def _begin(self, most: int, *, in_steps: bool) -> None:
        self._most, self._total, self._step, self._in_steps = most, 0, 0, in_steps
        self._numbers = 0
        self._ready.clear()

    def _read(self, data: bytes, offset: int) -> M:
        before = self._total
        try:
            message, end = self._decode(data, offset)
        except _LongArray:
            self._total = before  # what is read again is counted again
            raise
        except _UNREADABLE as error:
            raise MalformedMessage(f"{self._name}: {error}") from error
        if end > len(data):
            raise MalformedMessage(f"{self._name}: ends {end - len(data)} bytes too early")
        self._ready.clear()
        return cast(M, message)

    def _read_first(self, data: bytes, array: _LongArray) -> Generator[None, None, None]:
        """Read an array in pieces, and keep it for the structure that it belongs to."""
        self._count(array.count // array.weight)
        items: list[Any] = []
        position, left = array.position, array.count
        while left:
            count = min(array.piece, left)
            some, position = yield from self._piece(data, array.read, position, count)
            items += some
            left -= count
            self._step += count
            if self._step >= STEP_ELEMENTS or array.weight == _NUMBERS:
                self._step = self._numbers = 0
                yield
        self._ready[array.position] = items, position

    def _piece(self, data: bytes, read: _Read, position: int, count: int) -> Generator[None, None, tuple[Any, int]]:
        """Read some elements of a long array, which may themselves have long arrays."""
        inside: list[int] = []
        while True:
            before = self._total
            try:
                piece = read(data, position, count)
            except _LongArray as array:
                self._total = before
                inside.append(array.position)
                yield from self._read_first(data, array)
            except _UNREADABLE as error:
                raise MalformedMessage(f"{self._name}: {error}") from error
            else:
                for each in inside:
                    del self._ready[each]
                return piece

    # -- what stands in the place of the readers of arrays

    def _count(self, count: int) -> None:
        self._total += max(count, 0)
        if self._total > self._most:
            raise TooManyElements(f"{self._name}: more than {self._most} elements")

    def _counting(self, read: _Read, piece: int) -> _Read:
        at_once = _LONG if piece > 1 else 1

        def reader(data: bytes, pos: int, count: int) -> tuple[Any, int]:
            if count > at_once and self._in_steps:
                ready = self._ready.get(pos)
                if ready is not None:
                    return ready
                raise _LongArray(read, pos, count, piece)
            self._count(count)
            self._step += max(count, 0)
            return read(data, pos, count)

        return reader

    def _counting_numbers(self, read: _Read | None) -> _Read | None:
        if read is None:
            return None

        def reader(data: bytes, pos: int, count: int, code: str) -> tuple[Any, int]:
            if self._in_steps:
                ready = self._ready.get(pos)
                if ready is not None:
                    return ready
                self._numbers += count
                if self._numbers > _LONG_NUMBERS:
                    raise _LongArray(lambda *at: read(*at, code), pos, count, _LONG_NUMBERS, _NUMBERS)
            self._count(count // _NUMBERS)
            return read(data, pos, count, code)

        return reader

    def _counting_compact(self, read: _Read | None, weight: int) -> _Read | None:
        """Return a counting reader in place of `read`, which is given the first byte of a compact length."""
        if read is None:
            return None

        def reader(data: bytes, pos: int, first: int) -> tuple[Any, int]:
            count = first if first < 0x80 else read_uvarint(data, pos - 1)[0]
            self._count(count // weight)
            return read(data, pos, first)

        return reader


def _piece_of(reader: FunctionType) -> int:
    """Return the number of elements of an array of structs that are read at a time: one, if they may have arrays
    themselves.
    """
    nested = any(name in _ARRAYS or name.startswith("_read_") for name in reader.__code__.co_names)
    return 1 if nested else _PIECE
