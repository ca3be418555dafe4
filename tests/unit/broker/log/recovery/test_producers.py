"""The producer snapshots that a start loads, keeps and removes."""

from __future__ import annotations

from random import Random

from devtools.in_memory.mem_fs import MemFs
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.log.producer_state import ProducerStates
from shareq.broker.log.recovery.producers import ScannedProducers, keep_producers, load_producers
from shareq.broker.log.segments.files import snapshot_path

FOLDER = "data/orders-0"


def disk(*snapshots: int) -> MemFs:
    """Return a file system with producer snapshots at these offsets."""
    fs = MemFs(VirtualClock().call_soon, Random(1))
    fs.make_dirs(FOLDER)
    for offset in snapshots:
        fs.write_atomic(snapshot_path(FOLDER, offset), ProducerStates().to_snapshot())
    return fs


def left(fs: MemFs, *snapshots: int) -> list[int]:
    return [offset for offset in snapshots if fs.exists(snapshot_path(FOLDER, offset))]


def load(fs: MemFs, end: int, *snapshots: int) -> ProducerStates:
    return load_producers(fs, FOLDER, [], end, ScannedProducers(), snapshots=snapshots, txn_indexes=set())


def test_snapshots_from_behind_the_end_are_removed() -> None:
    """After a truncation other records take their offsets, which such a snapshot does not know."""
    fs = disk(3, 5, 6, 9)
    load(fs, 5, 3, 5, 6, 9)
    assert left(fs, 3, 5, 6, 9) == [3, 5]


def test_a_snapshot_that_cannot_be_read_is_removed_and_the_one_before_it_taken() -> None:
    fs = disk(3, 5)
    fs.write_atomic(snapshot_path(FOLDER, 5), b"nonsense")
    load(fs, 5, 3, 5)
    assert left(fs, 3, 5) == [3]


def test_a_snapshot_is_made_only_where_there_is_none_up_to_what_goes() -> None:
    for newest, written in ((4, True), (5, False), (6, False)):
        fs = disk(newest)
        steps = len(fs.history)
        keep_producers(fs, FOLDER, [], 5)
        assert (len(fs.history) > steps, fs.exists(snapshot_path(FOLDER, 5))) == (written, written or newest == 5)
