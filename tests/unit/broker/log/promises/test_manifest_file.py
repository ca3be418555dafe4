"""The manifest file on its own: the times of its writes, and recovery from failed writes and syncs."""

from __future__ import annotations

from random import Random

import pytest

from devtools.in_memory.mem_fs import MemFs
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.log.promises import manifest_file
from shareq.broker.log.promises.manifest import (
    LogRow,
    boot_line,
    gone_line,
    parse_manifest,
    row_line,
    snapshot,
    synced_line,
)
from shareq.broker.log.promises.manifest_file import ManifestFile

PATH = "data/log-manifest"
KEY, OTHER = ("orders", 0), ("orders", 1)


def row(synced: int) -> LogRow:
    return LogRow(bytes(range(16)), 5, 40, synced, 7)


class Rig:
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


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_changes_are_appended_once_and_said_to_be_synced_a_second_later(rig: Rig) -> None:
    rig.write(1)
    rig.write(1)
    assert rig.added() == row_line(KEY, row(1))
    rig.clock.advance(999)
    assert rig.added() == row_line(KEY, row(1))
    rig.clock.advance(1)
    size = len(rig.begun) + len(row_line(KEY, row(1)))
    assert rig.added() == row_line(KEY, row(1)) + synced_line(size)


def test_only_logs_that_were_there_are_gone(rig: Rig) -> None:
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
    caplog: pytest.LogCaptureFixture, rig: Rig
) -> None:
    """No later sync writes what a failed one could not."""
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


def test_a_write_that_failed_is_made_up_for_by_the_next(rig: Rig) -> None:
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
def test_a_clean_end_is_a_snapshot(clean: bool, rig: Rig) -> None:
    rig.manifest.note(KEY, row(1))
    rig.manifest.close(clean=clean)
    assert rig.content() == (rig.whole(first=1) if clean else rig.begun + row_line(KEY, row(1)))
    assert rig.fs.open_files == 0
    rig.clock.advance(5_000)
    assert rig.clock.next_timer_ms() is None


def test_an_end_before_the_sync_leaves_no_timer(rig: Rig) -> None:
    rig.write(1)
    assert rig.clock.next_timer_ms() is not None
    rig.manifest.close(clean=True)
    assert rig.clock.next_timer_ms() is None


# -- the next start


def again(rig: Rig, rows: dict[tuple[str, int], LogRow]) -> ManifestFile:
    """Close the manifest, and return that of the next start, which finds these logs."""
    rig.manifest.close(clean=True)
    manifest = ManifestFile(rig.fs, rig.clock, "data")
    manifest.begin(manifest.load(), rows)
    return manifest


def test_a_start_of_the_same_boot_says_only_what_has_changed(rig: Rig) -> None:
    again(rig, {KEY: row(0)})
    assert rig.added() == b""
    again(rig, {KEY: row(0), OTHER: row(2)})
    assert rig.added() == row_line(OTHER, row(2))


def test_a_start_after_another_boot_says_so_first(rig: Rig) -> None:
    rig.manifest.close(clean=True)
    rig.fs.machine_starts += 1
    manifest = ManifestFile(rig.fs, rig.clock, "data")
    manifest.begin(manifest.load(), {KEY: row(1)})
    assert rig.added() == boot_line(rig.fs.boot_id()) + row_line(KEY, row(1))


@pytest.mark.parametrize("damage", ["cut", "flip", "more"])
def test_a_start_that_finds_a_damaged_file_or_logs_that_are_gone_writes_a_new_one(
    damage: str, caplog: pytest.LogCaptureFixture, rig: Rig
) -> None:
    rig.manifest.note(OTHER, row(2))
    rig.manifest.close(clean=False)
    if damage == "cut":
        rig.fs.cut(PATH, len(rig.content()) - 3)
    elif damage == "flip":
        rig.fs.flip_bit(PATH, len(rig.begun) - 30, 1)
    manifest = ManifestFile(rig.fs, rig.clock, "data")
    manifest.begin(manifest.load(), {KEY: row(1)})
    assert rig.content() == rig.whole(first=1)
    said = f"{PATH}: damaged lines are left out; less may be promised of some logs than was"
    assert caplog.messages == ([said] if damage == "flip" else [])


def test_a_file_that_is_none_is_logged_and_replaced(caplog: pytest.LogCaptureFixture, rig: Rig) -> None:
    rig.manifest.close(clean=True)
    rig.fs.write_atomic(PATH, b"nonsense")
    manifest = ManifestFile(rig.fs, rig.clock, "data")
    assert manifest.load() is None
    assert caplog.messages == [f"{PATH}: cannot be read; what was promised of the logs is not known"]
    manifest.begin(None, {KEY: row(1)})
    assert rig.content() == rig.whole(first=1)


def test_lines_that_a_loss_of_power_tore_are_no_damage_after_it(caplog: pytest.LogCaptureFixture, rig: Rig) -> None:
    """Torn unsynced lines are accepted after a reboot; without one they are damage."""
    rig.write(1)
    rig.write(2)
    rig.manifest.close(clean=False)
    rig.fs.flip_bit(PATH, len(rig.begun) + 3, 1)
    manifest = ManifestFile(rig.fs, rig.clock, "data")
    found = manifest.load()
    assert found is not None
    assert (found.is_whole, len(caplog.messages)) == (False, 1)
    rig.fs.machine_starts += 1
    found = manifest.load()
    assert found is not None
    assert (found.is_whole, found.cut_off, len(caplog.messages)) == (True, True, 1)


# -- snapshots on the way


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> int:
    """Lower the number of bytes after which a new snapshot is written, and return it."""
    monkeypatch.setattr(manifest_file, "LEAST_APPENDED_BYTES", 1_000)
    return 1_000


def fill(rig: Rig, size: int) -> None:
    number, before = 100, rig.manifest._appended
    while rig.manifest._appended - before <= size:
        number += 1
        rig.write(number)


def test_a_file_that_has_grown_is_replaced_by_a_snapshot(small: int, rig: Rig) -> None:
    fill(rig, small - len(rig.begun))
    assert len(rig.content()) > small
    rig.clock.run_until_idle()
    assert len(rig.content()) == len(rig.begun) + 2, "the same, with a number of three digits"
    assert not rig.fs.exists(f"{PATH}.new")
    rig.write(7)
    assert rig.content().endswith(row_line(KEY, row(7)))


def test_what_is_written_while_a_snapshot_is_synced_is_in_both_and_the_new_name_is_synced(small: int, rig: Rig) -> None:
    held = rig.fs.held_syncs = []
    fill(rig, small - len(rig.begun))
    rig.write(7)
    assert rig.content().endswith(row_line(KEY, row(7)))
    rig.fs.held_syncs = None
    steps = len(rig.fs.history)
    held.pop()()
    rig.clock.run_until_idle()
    assert row_line(KEY, row(7)) in rig.content()
    after = rig.fs.history[steps:]
    renamed = next(at for at, (kind, _) in enumerate(after) if kind == "rename")
    assert ("sync_dir", "data") in after[renamed:]


@pytest.mark.parametrize("kind", ["create", "write", "sync", "rename"])
def test_a_snapshot_that_fails_leaves_the_file_and_is_tried_when_that_has_doubled(
    small: int, kind: str, caplog: pytest.LogCaptureFixture, rig: Rig
) -> None:
    rig.fs.fail = lambda what, path: OSError("planned") if (what, path) == (kind, f"{PATH}.new") else None
    fill(rig, small - len(rig.begun))
    rig.clock.run_until_idle()
    assert rig.fs.open_files == 1
    assert len(rig.content()) > small
    assert [each for each in caplog.messages if each.startswith(f"{PATH}.new: ")]
    rig.fs.fail = None
    before = rig.content()
    rig.write(7)
    rig.clock.run_until_idle()
    assert rig.content() == before + row_line(KEY, row(7))
    fill(rig, 2 * small - len(rig.content()))
    rig.clock.run_until_idle()
    assert len(rig.content()) < small
