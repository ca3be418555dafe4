"""The folder of backups: refusals, unfinished backups, and detection of every flipped bit."""

from __future__ import annotations

import os
import random
import stat
from pathlib import Path

import pytest

from shareq.broker.foundation.os_fs import OsFs
from shareq.broker.maintenance.backup.catalog import Catalog, CatalogError, Entry, is_safe_path
from shareq.broker.maintenance.backup.restore import restore_backup
from shareq.broker.maintenance.backup.store import MARKER, BackupStore
from shareq.broker.maintenance.errors import MaintenanceError
from shareq.broker.maintenance.progress import Progress, bytes_text

FS = OsFs(lambda call: call())


def quiet() -> Progress:
    return Progress("test", lambda: 0.0, lambda _: None)


def store_with(dest: Path, contents: dict[str, bytes], name: str = "b1") -> BackupStore:
    store = BackupStore.for_cluster(str(dest), "cluster")
    entries = []
    for path, content in contents.items():
        key = store.put([content])
        entries.append(Entry(path, len(content), key, key))
    store.commit(name, Catalog("cluster", 1_700_000_000_000, "test", tuple(entries)))
    return store


def test_catalog_is_read_as_it_was_written() -> None:
    entry = Entry("orders-0/00000000000000000000.log", 10, "a" * 64, "b" * 64, 7, (1, 2, 3, 4))
    catalog = Catalog("cluster", 17, "0.1.0", (entry,), ("one warning",))
    assert Catalog.from_bytes(catalog.to_bytes()) == catalog


def test_each_flipped_bit_of_a_catalog_is_found() -> None:
    data = Catalog("cluster", 17, "0.1.0", (Entry("a-0/x", 10, "a" * 64, "b" * 64),)).to_bytes()
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        try:
            assert Catalog.from_bytes(bytes(flipped)) == Catalog.from_bytes(data), "the last newline is no content"
        except CatalogError:
            continue


@pytest.mark.parametrize("line", [b"{", b"[" * 100_000], ids=["torn", "nested too deep"])
def test_a_catalog_or_marker_that_is_no_json_object_is_damaged(tmp_path: Path, line: bytes) -> None:
    with pytest.raises(CatalogError, match="it is damaged"):
        Catalog.from_bytes(line + b"\n" + line + b"\n")
    (tmp_path / MARKER).write_bytes(line)
    with pytest.raises(MaintenanceError, match="damaged"):
        BackupStore.for_cluster(str(tmp_path), "cluster")


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../x", "a/../../x", "a//b", "a\0b", "."])
def test_paths_that_leave_the_folder_are_no_paths(path: str) -> None:
    assert not is_safe_path(path)


def test_a_newer_catalog_is_refused_in_a_sentence() -> None:
    data = Catalog("c", 1, "9", ()).to_bytes()
    assert b'"backup": 1' in data
    body = data.splitlines(keepends=True)[0].replace(b'"backup": 1', b'"backup": 2')
    from hashlib import sha256

    newer = body + b'{"files": 0, "sha256": "%s"}\n' % sha256(body).hexdigest().encode()
    with pytest.raises(CatalogError, match="format 2 is newer than this release"):
        Catalog.from_bytes(newer)


def test_a_folder_with_other_things_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(MaintenanceError, match=r"not empty and not a folder of backups \(found notes.txt, photos\)"):
        BackupStore.for_cluster(str(tmp_path), "cluster")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.txt", "photos"]


def test_backups_of_another_cluster_are_refused(tmp_path: Path) -> None:
    BackupStore.for_cluster(str(tmp_path / "b"), "one")
    with pytest.raises(MaintenanceError, match="has backups of cluster one, not of two"):
        BackupStore.for_cluster(str(tmp_path / "b"), "two")


def test_a_file_is_no_folder_of_backups(tmp_path: Path) -> None:
    (tmp_path / "b").write_text("x")
    with pytest.raises(MaintenanceError, match="not a folder"):
        BackupStore.for_cluster(str(tmp_path / "b"), "one")


def test_two_backups_at_a_time_are_refused(tmp_path: Path) -> None:
    store = BackupStore.for_cluster(str(tmp_path / "b"), "one")
    with store.locked(), pytest.raises(MaintenanceError, match="another backup is under way"), store.locked():
        pass


def test_what_no_backup_needs_is_removed_and_the_rest_stays(tmp_path: Path) -> None:
    store = store_with(tmp_path / "b", {"a": b"one", "b": b"two"}, "b1")
    store_with(tmp_path / "b", {"a": b"one", "b": b"three"}, "b2")
    half_written = tmp_path / "b" / "objects" / "77.new"
    half_written.write_bytes(b"half")
    assert store.prune(1) == ["b1"]
    objects = [path.read_bytes() for path in (tmp_path / "b" / "objects").rglob("*") if path.is_file()]
    assert sorted(objects) == [b"one", b"three"]
    assert store.names() == ["b2"]


def test_nothing_is_removed_while_a_catalog_that_stays_is_damaged(tmp_path: Path) -> None:
    store = store_with(tmp_path / "b", {"a": b"one"}, "b1")
    store_with(tmp_path / "b", {"a": b"two"}, "b2")
    catalog = tmp_path / "b" / "backups" / "b2.catalog"
    catalog.write_bytes(catalog.read_bytes()[:-9])
    with pytest.raises(MaintenanceError, match=r"b2\.catalog: it is damaged"):
        store.prune(1)
    assert store.names() == ["b1", "b2"]
    assert len([path for path in (tmp_path / "b" / "objects").rglob("*") if path.is_file()]) == 2


def test_backups_and_what_is_restored_are_for_their_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store_with(tmp_path / "b", {"orders-0/x.log": b"records", "meta.db": b"keys"})
        restore_backup(FS, str(tmp_path / "b"), str(tmp_path / "data"), name=None, progress=quiet())
    finally:
        os.umask(before)
    open_to_others = [path.name for path in tmp_path.rglob("*") if stat.S_IMODE(path.stat().st_mode) & 0o077]
    assert open_to_others == []


def test_restore_checks_every_byte(tmp_path: Path) -> None:
    """If any bit of an object was flipped, nothing is restored that a broker would start on."""
    contents = {"orders-0/x.log": random.Random(1).randbytes(3_000_000), "meta.db": b"metadata"}
    store = store_with(tmp_path / "b", contents)
    path = Path(store.object_path(store.read("b1").entries[0].object))
    damaged = bytearray(path.read_bytes())
    damaged[2_345_678] ^= 4
    path.chmod(0o600)
    path.write_bytes(damaged)
    with pytest.raises(
        MaintenanceError, match=r"orders-0/x\.log has other bytes; .* is unfinished: .* run shareq restore again"
    ):
        restore_backup(FS, str(tmp_path / "b"), str(tmp_path / "data"), name=None, progress=quiet())
    assert not (tmp_path / "data" / "meta.db").exists(), "what makes it a data folder comes last"


def test_restore_notices_a_missing_object_before_it_makes_anything(tmp_path: Path) -> None:
    store = store_with(tmp_path / "b", {"orders-0/x.log": b"x" * 10, "meta.db": b"metadata"})
    Path(store.object_path(store.read("b1").entries[0].object)).unlink()
    with pytest.raises(MaintenanceError, match="missing or cut short"):
        restore_backup(FS, str(tmp_path / "b"), str(tmp_path / "data"), name=None, progress=quiet())
    assert not (tmp_path / "data").exists()


def test_restore_leaves_a_folder_with_something_in_it_alone(tmp_path: Path) -> None:
    store_with(tmp_path / "b", {"meta.db": b"metadata"})
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "x").write_text("mine")
    with pytest.raises(MaintenanceError, match=r"not empty \(found x\)"):
        restore_backup(FS, str(tmp_path / "b"), str(tmp_path / "data"), name=None, progress=quiet())
    assert (tmp_path / "data" / "x").read_text() == "mine"


def test_restore_of_a_backup_there_is_not(tmp_path: Path) -> None:
    store_with(tmp_path / "b", {"meta.db": b"metadata"})
    with pytest.raises(MaintenanceError, match="no backup b7"):
        restore_backup(FS, str(tmp_path / "b"), str(tmp_path / "data"), name="b7", progress=quiet())


def test_nothing_is_printed_in_the_first_two_seconds() -> None:
    now = 0.0
    lines: list[str] = []
    progress = Progress("backup", lambda: now, lines.append)
    progress.expect(3, 10_000_000)
    progress.bytes_done(5_000_000)
    assert lines == []
    now = 2.5
    progress.item_done()
    progress.bytes_done(1)
    assert lines == ["backup: 1 of 3 logs, 5.0 MB of 10.0 MB"]


@pytest.mark.parametrize(("size", "text"), [(999, "999 bytes"), (1_400_000, "1.4 MB"), (2 * 10**12, "2.0 TB")])
def test_bytes_for_people(size: int, text: str) -> None:
    assert bytes_text(size) == text
