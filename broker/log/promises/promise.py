"""The promises of a log when the broker ended, by which recovery believes, keeps or cuts off bytes. Pure."""

from __future__ import annotations

from typing import NamedTuple


class Promise(NamedTuple):
    """The facts known about one log at a start. Offsets are exclusive ends; None means unknown.

    `clean`: the broker was stopped cleanly, so the files are complete, and `end` is the log end offset. `same_boot`:
    the machine has run since the last write, so every completed write is in the files. `synced`: everything below
    was on stable storage. `active`: base offset of the newest segment that has a file. `checked_below`: whole
    segments below were synced and sound, and need not be read again. `gaps`: a cleaner may have removed batches, so
    offsets need not be contiguous. `start_is_known`: the log start offset is the last one in effect; otherwise a log
    begins where its first segment does. `chain`: the CRC of the segments' base offsets.
    """

    clean: bool = False
    same_boot: bool = False
    synced: int | None = None
    end: int | None = None
    active: int | None = None
    checked_below: int = 0
    gaps: bool = False
    start_is_known: bool = False
    chain: int | None = None


NOTHING_KNOWN = Promise()
