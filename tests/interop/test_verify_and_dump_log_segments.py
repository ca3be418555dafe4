"""`shareq verify` and Apache Kafka's DumpLogSegments, which must agree on sound segments and indexes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from shareq.broker.log.segments.segment import INDEX_SUFFIX, LOG_SUFFIX, TIME_INDEX_SUFFIX, file_name
from shareq.broker.maintenance.verify.findings import Report
from shareq.broker.maintenance.verify.folder import verify_folder
from tests.interop.support.java_driver import JavaDriver
from tests.support.worlds.folder_on_disk import DATA, FolderOnDisk, plain

pytestmark = pytest.mark.interop

FIRST, SECOND, LAST = (f"orders-0/{file_name(base, LOG_SUFFIX)}" for base in (0, 9, 15))
INDEX, TIME_INDEX = (f"orders-0/{file_name(0, suffix)}" for suffix in (INDEX_SUFFIX, TIME_INDEX_SUFFIX))
COMPLAINT = re.compile(r"[Mm]ismatch|found log offset")
BATCH = len(plain(0))


class Opinion(NamedTuple):
    """Positions of unsound batches, and the number of bytes at the end that are no batch."""

    unsound: tuple[int, ...] = ()
    torn: int = 0


def ours(folder: FolderOnDisk, path: str) -> Opinion:
    report = Report()
    verify_folder(folder.fs, DATA, folder.record(), report)
    found = [finding for finding in report.findings if finding.path == path]
    torn = [len(folder.content(path)) - (each.position or 0) for each in found if "cut off" in each.problem]
    return Opinion(tuple(each.position or 0 for each in found if "cut off" not in each.problem), sum(torn))


def theirs(java: JavaDriver, folder: FolderOnDisk, path: str, tmp_path: Path) -> Opinion:
    """Dump the files as they are, with the indexes beside their segment."""
    for each in folder.paths():
        (tmp_path / each).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / each).write_bytes(folder.content(each))
    output = java.tool("DumpLogSegments", "--files", str(tmp_path / path)).output
    unsound = re.findall(r"position: (\d+) .*isvalid: false", output)
    torn = re.findall(r"Found (\d+) invalid bytes at the end", output)
    return Opinion(tuple(map(int, unsound)), sum(map(int, torn)))


@pytest.mark.parametrize("path", [FIRST, SECOND, LAST, f"payments-0/{file_name(0, LOG_SUFFIX)}"])
def test_sound_segments(java: JavaDriver, tmp_path: Path, path: str) -> None:
    folder = FolderOnDisk()
    assert ours(folder, path) == theirs(java, folder, path, tmp_path) == Opinion()


@pytest.mark.parametrize("position", [17, 21, 27, 60, 61, 100, BATCH - 1], ids=lambda position: f"byte {position}")
def test_a_flipped_bit_that_the_crc_covers(java: JavaDriver, tmp_path: Path, position: int) -> None:
    """The bit is in CRC, attributes, timestamps, count or records: only that batch is unsound."""
    folder = FolderOnDisk()
    folder.content(FIRST)[BATCH + position] ^= 1
    assert ours(folder, FIRST) == theirs(java, folder, FIRST, tmp_path) == Opinion((BATCH,))


@pytest.mark.parametrize("left", [1, 20, 61, len(plain(18)) - 1])
def test_a_torn_write(java: JavaDriver, tmp_path: Path, left: int) -> None:
    folder = FolderOnDisk()
    del folder.content(LAST)[len(plain(15)) + left :]
    opinion = ours(folder, LAST)
    assert opinion == Opinion((), left)
    assert theirs(java, folder, LAST, tmp_path) == opinion


@pytest.mark.parametrize("path", [INDEX, TIME_INDEX])
def test_an_index_that_points_elsewhere(java: JavaDriver, tmp_path: Path, path: str) -> None:
    folder = FolderOnDisk()
    assert not COMPLAINT.search(dumped(java, folder, path, tmp_path / "sound"))
    folder.content(path)[3 if path == INDEX else 11] ^= 1  # the offset
    assert ours(folder, path).unsound
    assert COMPLAINT.search(dumped(java, folder, path, tmp_path / "damaged"))


def dumped(java: JavaDriver, folder: FolderOnDisk, path: str, into: Path) -> str:
    into.mkdir()
    theirs(java, folder, FIRST, into)
    return java.tool("DumpLogSegments", "--files", str(into / path)).output


def test_what_is_repaired_is_sound_for_both(java: JavaDriver, tmp_path: Path) -> None:
    """A lost batch becomes an empty one, as a cleaner leaves them."""
    from tests.unit.broker.maintenance.test_verify import repair, verify

    folder = FolderOnDisk()
    folder.content(FIRST)[BATCH + 100] ^= 1
    after, _ = repair(folder, verify(folder))
    assert after.is_sound
    assert ours(folder, FIRST) == theirs(java, folder, FIRST, tmp_path) == Opinion()
    output = java.tool("DumpLogSegments", "--files", str(tmp_path / FIRST)).output
    assert re.search(r"baseOffset: 3 lastOffset: 5 count: 0", output)
