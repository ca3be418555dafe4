"""Both forms of the modules that are compiled: what tests of them run on."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Final, Protocol, cast

import pytest
from _pytest.mark import ParameterSet

from shareq.protocol.records import key_chains, offset_walk, record_walk, run_walk

__all__ = ["CHAIN_FORMS", "FORMS", "OFFSET_FORMS", "RUN_FORMS", "RecordWalk", "compiled_form"]


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

    def pick(
        self, data: bytes, pos: int, end: int, count: int, wanted: list[int], index: int = 0, /
    ) -> tuple[int, list[bytes]] | None: ...

    def key_hashes(
        self, data: bytes, pos: int, end: int, count: int, base_offset: int, offsets: list[int], hashes: list[int], /
    ) -> bool: ...


def compiled_form() -> RecordWalk | None:
    """None where nothing was compiled."""
    return cast("RecordWalk | None", _compiled("_record_walk"))


def _compiled(name: str) -> ModuleType | None:
    try:
        return import_module(f"shareq.protocol.records.{name}")
    except ImportError:
        return None


def _both(python: ModuleType, name: str) -> list[ParameterSet]:
    form = _compiled(name)
    missing = pytest.mark.skipif(form is None, reason="there was no compiler")
    return [pytest.param(python, id="as Python"), pytest.param(form, id="compiled", marks=missing)]


FORMS: Final = _both(record_walk, "_record_walk")
RUN_FORMS: Final = _both(run_walk, "_run_walk")
CHAIN_FORMS: Final = _both(key_chains, "_key_chains")
OFFSET_FORMS: Final = _both(offset_walk, "_offset_walk")
