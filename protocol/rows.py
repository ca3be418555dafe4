"""Arrays of many structs of one width: they are written from tuples, and read without an object for each. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import chain
from struct import Struct
from typing import Any, Final, TypeVar, overload

T = TypeVar("T")

_AT_ONCE: Final = 64  # formats of so many rows are kept


@cache
def _struct_of(count: int, codes: str) -> Struct:
    return Struct(">" + codes * count)


def put_rows(out: bytearray, rows: Sequence[Sequence[Any]], codes: str) -> None:
    """Append structs, each given as a tuple of its fields. `codes` are the `struct` formats of one struct's fields,
    with x for an empty tag buffer. (Any: int or bool.)
    """
    if len(rows) <= _AT_ONCE:
        out += _struct_of(len(rows), codes).pack(*chain.from_iterable(rows))
    else:
        for at in range(0, len(rows), _AT_ONCE):
            put_rows(out, rows[at : at + _AT_ONCE], codes)


class Rows(Sequence[T]):
    """An array of structs, kept as encoded bytes. The structs are made when one of them is read; the array is equal to
    a list of them.

    `codes` are the `struct` formats of one struct's numbers, with x for bytes that are the same in all; `make` makes
    all structs.
    """

    __slots__ = ("_codes", "_count", "_data", "_items", "_make")

    def __init__(self, data: bytes, count: int, codes: str, make: Callable[[bytes], list[T]]) -> None:
        self._data = data
        self._count = count
        self._codes = codes
        self._make = make
        self._items: list[T] | None = None

    def numbers(self) -> list[int]:
        """Return the numbers of all structs in one list."""
        if self._count <= _AT_ONCE:
            return list(_struct_of(self._count, self._codes).unpack(self._data))
        return list(chain.from_iterable(_struct_of(1, self._codes).iter_unpack(self._data)))

    def _made(self) -> list[T]:
        if self._items is None:
            self._items = self._make(self._data)
        return self._items

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        return self._made()[index]

    def __iter__(self) -> Iterator[T]:
        return iter(self._made())

    def __eq__(self, other: object) -> bool:
        return self._made() == (other._made() if isinstance(other, Rows) else other)

    __hash__ = None  # type: ignore[assignment]  # its structs may change

    def __repr__(self) -> str:
        return repr(self._made())
