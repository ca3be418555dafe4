"""`record_walk` in its quickest form here: compiled where it was, else as it stands. `COMPILED` says which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shareq.protocol.compiled import quickest

__all__ = [
    "CANNOT_TELL",
    "COMPILED",
    "KEYLESS",
    "NOT_FOUND",
    "OUT_OF_ORDER",
    "OUT_OF_TIME",
    "UNREADABLE",
    "ahead",
    "faults",
    "find_time",
    "key_hashes",
    "largest",
    "pick",
    "read_keys",
    "walk",
    "whole_records",
]

_form: Final = quickest("shareq.protocol.records._record_walk", "shareq.protocol.records.record_walk")
COMPILED: Final = _form.__name__.endswith("._record_walk")

if TYPE_CHECKING:
    from shareq.protocol.records.record_walk import (
        CANNOT_TELL,
        KEYLESS,
        NOT_FOUND,
        OUT_OF_ORDER,
        OUT_OF_TIME,
        UNREADABLE,
        ahead,
        faults,
        find_time,
        key_hashes,
        largest,
        pick,
        read_keys,
        walk,
        whole_records,
    )
else:
    CANNOT_TELL = _form.CANNOT_TELL
    KEYLESS = _form.KEYLESS
    NOT_FOUND = _form.NOT_FOUND
    OUT_OF_ORDER = _form.OUT_OF_ORDER
    OUT_OF_TIME = _form.OUT_OF_TIME
    UNREADABLE = _form.UNREADABLE
    ahead = _form.ahead
    faults = _form.faults
    find_time = _form.find_time
    largest = _form.largest
    key_hashes = _form.key_hashes
    pick = _form.pick
    read_keys = _form.read_keys
    walk = _form.walk
    whole_records = _form.whole_records
