"""The manifest as a file, on its own: what is written when, and how a write or a sync that failed is made up for."""

from __future__ import annotations

from random import Random

import pytest

from devtools.in_memory.mem_fs import MemFs
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.log.promises.manifest import LogRow, gone_line, parse_manifest, row_line, snapshot, synced_line
from shareq.broker.log.promises.manifest_file import ManifestFile

PATH = "data/log-manifest"
KEY, OTHER = ("orders", 0), ("orders", 1)


def row(synced: int) -> LogRow:
    return LogRow(bytes(range(16)), 5, 40, synced, 7)


class Rig:
    """A manifest that has begun with one log."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.fs = MemFs(self.clock.call_soon, Random(1))
        self.fs.make_dirs("data")
        self.manifest = ManifestFile(self.fs, self.clock, "data")
        self.manifest.begin(None, {KEY: row(0)})
        self.begun = self.content()

    def content(self) -> bytes:
        return bytes(self.fs.content(PATH))

    def added(self) -> bytes:
        """What stands behind what it began with."""
        content = self.content()
        assert content.startswith(self.begun)
        return content[len(self.begun) :]

    def whole(self, **synced: int) -> bytes:
        rows = {KEY: row(synced["first"])} | ({OTHER: row(synced["other"])} if "other" in synced else {})
        return snapshot(self.fs.boot_id(), rows)

    def fail(self, *kinds: str) -> None:
        self.fs.fail = lambda kind, path: OSError(f"no {kind}") if kind in kinds and path.startswith(PATH) else None

    def write(self, synced: int) -> None:
        self.manifest.note(KEY, row(synced))
        self.manifest.write()


def test_changes_are_appended_once_and_said_to_be_synced_a_second_later() -> None:
    rig = Rig()
    rig.write(1)
    rig.write(1)
    assert rig.added() == row_line(KEY, row(1))
    rig.clock.advance(999)
    assert rig.added() == row_line(KEY, row(1))
    rig.clock.advance(1)
    size = len(rig.begun) + len(row_line(KEY, row(1)))
    assert rig.added() == row_line(KEY, row(1)) + synced_line(size)


def test_only_logs_that_were_there_are_gone() -> None:
    rig = Rig()
    rig.manifest.forget([OTHER, KEY])
    rig.manifest.forget([KEY])
    rig.manifest.write()
    assert rig.added() == gone_line(KEY)
    found = parse_manifest(rig.content())
    assert found is not None
    assert found.rows == {}


def test_nothing_is_written_before_it_begins() -> None:
    clock = VirtualClock()
    fs = MemFs(clock.call_soon, Random(1))
    fs.make_dirs("data")
    manifest = ManifestFile(fs, clock, "data")
    assert manifest.load() is None
    manifest.note(KEY, row(1))
    manifest.write()
    assert not fs.exists(PATH)


def test_a_sync_that_failed_has_the_file_rewritten_a_second_later_though_nothing_changes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """No later sync writes what one could not."""
    rig = Rig()
    rig.write(1)
    rig.fail("sync", "write")
    rig.clock.advance(1_000)
    rig.clock.advance(5_000)
    assert [each for each in caplog.messages if each.endswith("no sync")] == [
        f"{PATH}: not written, a start will know less of what was promised: no sync"
    ], "once, however often it is tried"
    assert rig.content() != rig.whole(first=1)
    rig.fs.fail = None
    rig.clock.advance(1_000)
    assert rig.content() == rig.whole(first=1)
    rig.write(2)
    rig.fail("sync")
    rig.clock.advance(1_000)
    assert len([each for each in caplog.messages if "not written" in each]) == 2, "it had succeeded meanwhile"


def test_a_write_that_failed_is_made_up_for_by_the_next() -> None:
    rig = Rig()
    rig.fail("write")
    rig.write(1)
    assert rig.added() != row_line(KEY, row(1))
    rig.fs.fail = None
    rig.manifest.note(OTHER, row(3))
    rig.manifest.write()
    assert rig.content() == rig.whole(first=1, other=3), "as a whole: the end of the file is not known"
    begun = rig.content()
    rig.write(2)
    assert rig.content() == begun + row_line(KEY, row(2)), "appended again, once it was rewritten"


@pytest.mark.parametrize("clean", [True, False])
def test_a_clean_end_is_a_snapshot(clean: bool) -> None:
    rig = Rig()
    rig.manifest.note(KEY, row(1))
    rig.manifest.close(clean=clean)
    assert rig.content() == (rig.whole(first=1) if clean else rig.begun + row_line(KEY, row(1)))
    assert rig.fs.open_files == 0
    rig.clock.advance(5_000)
    assert rig.clock.next_timer_ms() is None


def test_an_end_before_the_sync_leaves_no_timer() -> None:
    rig = Rig()
    rig.write(1)
    assert rig.clock.next_timer_ms() is not None
    rig.manifest.close(clean=True)
    assert rig.clock.next_timer_ms() is None
