"""Both forms of `record_walk`: what tests of it run on."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol, cast

import pytest

from shareq.protocol.records import record_walk

__all__ = ["FORMS", "RecordWalk", "compiled_form"]


class RecordWalk(Protocol):
    """The functions of the module, in either form."""

    def walk(self, data: bytes, pos: int, count: int, low: int, high: int, no_time: int, /) -> tuple[int, int]: ...

    def faults(
        self, data: bytes, pos: int, count: int, low: int, high: int, no_time: int, keyed: bool, most: int, /
    ) -> list[tuple[int, int, int]]: ...

    def largest(self, data: bytes, pos: int, count: int, /) -> int: ...

    def find_time(self, data: bytes, pos: int, count: int, least: int, first: int, last: int, /) -> tuple[int, int]: ...

    def read_keys(
        self, data: bytes, pos: int, count: int, base_offset: int, base_time: int, append_time: int | None, /
    ) -> list[tuple[int, int, bytes | None, bool, int, int, int]] | None: ...

    KeyChains: type[Any]

    def replaced(
        self, starts: list[int], statuses: list[Any], end: int, offsets: list[int], old: object, new: object, /
    ) -> tuple[list[int], list[Any], list[int]]: ...

    def pick(
        self, data: bytes, pos: int, end: int, count: int, wanted: list[int], /
    ) -> tuple[int, list[bytes]] | None: ...

    def key_hashes(
        self, data: bytes, pos: int, end: int, count: int, base_offset: int, found: dict[int, int], /
    ) -> bool: ...


def compiled_form() -> RecordWalk | None:
    """None where nothing was compiled."""
    try:
        return cast(RecordWalk, import_module("shareq.protocol.records._record_walk"))
    except ImportError:
        return None


_compiled = compiled_form()
FORMS = [
    pytest.param(cast(RecordWalk, record_walk), id="as Python"),
    pytest.param(_compiled, id="compiled", marks=pytest.mark.skipif(_compiled is None, reason="there was no compiler")),
]
