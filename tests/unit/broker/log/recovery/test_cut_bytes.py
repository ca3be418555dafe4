"""Bytes that a start removes from a log are kept beside it: complete, durable, and under a new name each time."""

from __future__ import annotations

from random import Random

import pytest

from devtools.in_memory.mem_fs import MemFs
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.log.recovery import cut_bytes
from shareq.broker.log.recovery.cut_bytes import keep_aside, set_segment_aside
from shareq.broker.log.segments.files import FilePool, Segment

FOLDER = "data/orders-0"
LOG = f"{FOLDER}/00000000000000000007.log"
BYTES = bytes(range(200))


def disk() -> tuple[MemFs, Segment]:
    fs = MemFs(VirtualClock().call_soon, Random(1))
    fs.make_dirs(FOLDER)
    fs.write_atomic(LOG, BYTES)
    segment = Segment(FilePool(fs), FOLDER, 7, len(BYTES), 4096)
    segment.exists = True
    return fs, segment


@pytest.mark.parametrize("at_once", [1, 60, 140, 1024])
def test_what_is_behind_a_position_is_copied_in_pieces(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cut_bytes, "_COPY_BYTES", at_once)
    fs, segment = disk()
    assert keep_aside(fs, segment, 60) == f"{LOG}.60.cut"
    assert fs.read_bytes(f"{LOG}.60.cut") == BYTES[60:]
    assert fs.read_bytes(LOG) == BYTES


def test_a_copy_is_durable_with_its_name() -> None:
    fs, segment = disk()
    path = keep_aside(fs, segment, 60)
    assert fs.history[-2:] == [("sync", path), ("sync_dir", FOLDER)]


def test_a_copy_that_fails_leaves_nothing_behind() -> None:
    fs, segment = disk()
    fs.fail = lambda kind, path: OSError("no space left") if (kind, path) == ("sync", f"{LOG}.60.cut") else None
    with pytest.raises(OSError, match="no space left"):
        keep_aside(fs, segment, 60)
    assert fs.list_dir(FOLDER) == [LOG.rpartition("/")[2]]


def test_a_segment_that_is_shorter_than_it_says_is_copied_as_far_as_it_goes() -> None:
    fs, segment = disk()
    segment.size = 10_000
    keep_aside(fs, segment, 0)
    assert fs.read_bytes(f"{LOG}.0.cut") == BYTES


def test_each_power_loss_has_a_name_of_its_own() -> None:
    fs, segment = disk()
    names = [keep_aside(fs, segment, 60) for _ in range(3)]
    assert names == [f"{LOG}.60.cut", f"{LOG}.60.2.cut", f"{LOG}.60.3.cut"]


def test_a_whole_segment_is_renamed() -> None:
    fs, segment = disk()
    keep_aside(fs, segment, 0)
    assert set_segment_aside(fs, segment) == f"{LOG}.0.2.cut"
    assert (fs.exists(LOG), fs.read_bytes(f"{LOG}.0.2.cut")) == (False, BYTES)
