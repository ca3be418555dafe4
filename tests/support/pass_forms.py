from __future__ import annotations

from typing import Final, Protocol

import pytest
from _pytest.mark import ParameterSet

from devtools.pass_forms import as_python, compiled
from shareq.protocol.records.record_codec import Headers

__all__ = ["CHAIN_FORMS", "FORMS", "OFFSET_FORMS", "RUN_FORMS", "RecordWalk"]


class RecordWalk(Protocol):
    def walk(self, data: bytes, pos: int, count: int, low: int, high: int, no_time: int, /) -> tuple[int, int]: ...

    def faults(
        self, data: bytes, pos: int, count: int, low: int, high: int, no_time: int, keyed: bool, most: int, /
    ) -> list[tuple[int, int, int]]: ...

    def largest(self, data: bytes, pos: int, count: int, /) -> int: ...

    def find_time(self, data: bytes, pos: int, count: int, least: int, first: int, last: int, /) -> tuple[int, int]: ...

    def read_keys(
        self, data: bytes, pos: int, count: int, base_offset: int, base_time: int, append_time: int | None, /
    ) -> list[tuple[int, int, bytes | None, bool, int, int, int]] | None: ...

    def columns(
        self,
        data: bytes,
        pos: int,
        count: int,
        base_offset: int,
        base_time: int,
        append_time: int | None,
        low: int,
        high: int,
        errors: str,
        /,
    ) -> tuple[list[int], list[int], list[bytes | None], list[bytes | None], list[Headers]] | None: ...

    def pick(
        self, data: bytes, pos: int, end: int, count: int, wanted: list[int], index: int = 0, /
    ) -> tuple[int, list[bytes]] | None: ...

    def header_values(
        self,
        data: bytes,
        pos: int,
        end: int,
        count: int,
        base_offset: int,
        name: bytes,
        offsets: list[int],
        values: list[bytes],
        /,
    ) -> bool: ...

    def older(
        self, data: bytes, pos: int, end: int, count: int, base_offset: int, below: int, offsets: list[int], /
    ) -> bool: ...

    def key_hashes(
        self, data: bytes, pos: int, end: int, count: int, base_offset: int, offsets: list[int], hashes: list[int], /
    ) -> bool: ...


def _both(name: str) -> list[ParameterSet]:
    form = compiled(name)
    missing = pytest.mark.skipif(form is None, reason="nothing is compiled, or it is of other sources")
    return [pytest.param(as_python(name), id="as Python"), pytest.param(form, id="compiled", marks=missing)]


FORMS: Final = _both("records")
RUN_FORMS: Final = _both("runs")
CHAIN_FORMS: Final = _both("chains")
OFFSET_FORMS: Final = _both("offsets")
