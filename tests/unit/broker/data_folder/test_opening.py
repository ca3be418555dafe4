"""Metadata is stored twice: losing or damaging one file loses nothing, and no start ever makes it empty."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devtools.in_memory.mem_fs import CrashModel, MemFs
from devtools.in_memory.memory_meta_db import MemoryMetaDb
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.data_folder.marker import Marker, format_marker, parse_marker
from shareq.broker.data_folder.opening import DataFolder, DataFolderError, open_data_folder
from shareq.broker.data_folder.sqlite_record import SqliteRecord
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.os_fs import OsFs
from shareq.broker.metadata.changes import MetaState, PutAcl, PutConfig, PutScram, ResourceName
from shareq.broker.metadata.store import MetadataStore, NewTopic
from shareq.broker.security.acls import Acl
from shareq.broker.security.credentials import CredentialKey, ScramCredential
from tests.support.fakes.memory_record import MemoryRecord

FILES: Final = ("shareq.data", "metadata.journal", "meta.db", "meta.db-wal")
ACL: Final = Acl(2, "orders", 3, "User:alice", "*", 3, 3)
USER: Final = CredentialKey("alice", "SCRAM-SHA-256")


class Folder:
    """A data folder on disk that tests open, crash and damage."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ids = Random(7)
        self.opened: DataFolder | None = None

    def open(self) -> MetaState:
        env = Environment(VirtualClock(), self.ids, OsFs(lambda call: call()))
        database = SqliteRecord(f"{self.path}/meta.db", self.ids.randbytes(4).hex())
        self.opened = open_data_folder(env.fs, str(self.path), database, lambda: self.ids.randbytes(11).hex())
        self.metadata = MetadataStore(self.opened.meta_db, env, cluster_id=self.opened.cluster_id)
        return self.opened.meta_db.load()

    def close(self) -> None:
        assert self.opened is not None
        self.metadata.close()
        self.opened.release_lock()

    def crash_to(self, target: Path) -> Folder:
        """Copy the files that kill -9 would leave into another folder, and keep using this one."""
        shutil.copytree(self.path, target)
        return Folder(target)

    def fill(self) -> None:
        self.metadata.create_topics([NewTopic("orders", 3, {"retention.ms": "5"}), NewTopic("gone", 1)])
        self.metadata.delete_topics(["gone"])
        self.metadata.alter_acls([PutAcl(ACL)])
        self.metadata.alter_credentials([PutScram(USER, ScramCredential(b"salt", b"stored", b"server", 4096))])
        self.metadata.alter_configs([PutConfig(ResourceName("group", "g"), "share.isolation.level", "read_committed")])

    def contents(self) -> dict[str, bytes]:
        return {name: (self.path / name).read_bytes() for name in sorted(os.listdir(self.path))}


def check(state: MetaState, expected: MetaState) -> None:
    assert state == expected
    assert list(state.topics) == ["orders"]


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path, MetaState]]:
    """Return, for kill -9 and for a stop: an older copy, the folder, and its state."""
    base = tmp_path_factory.mktemp("images")
    folder = Folder(base / "live")
    folder.open()
    folder.crash_to(base / "older")
    folder.fill()
    killed = folder.crash_to(base / "killed")
    folder.close()
    shutil.copytree(folder.path, base / "stopped")
    expected = folder.open()
    folder.close()
    return {
        "killed": (base / "older", killed.path, expected),
        "stopped": (base / "older", base / "stopped", expected),
    }


Damage = Callable[[Path, Path, Random], None]


def flip(file: Path, _older: Path, rng: Random) -> None:
    content = bytearray(file.read_bytes())
    if content:
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    file.write_bytes(content)


def cut(file: Path, _older: Path, rng: Random) -> None:
    size = file.stat().st_size
    os.truncate(file, rng.randrange(size) if size else 0)


def zero(file: Path, _older: Path, rng: Random) -> None:
    content = bytearray(file.read_bytes())
    start = rng.randrange(len(content) // 512 + 1) * 512
    end = min(len(content), start + rng.choice((512, 4096, 1 << 20)))
    content[start:end] = bytes(end - start)
    file.write_bytes(content)


def lose(file: Path, _older: Path, _rng: Random) -> None:
    file.unlink()


def put_back_older(file: Path, older: Path, _rng: Random) -> None:
    if older.exists():
        shutil.copy(older, file)
    else:
        file.unlink()


DAMAGES: Final[dict[str, Damage]] = {"flip": flip, "cut": cut, "zero": zero, "lose": lose, "older": put_back_older}


@pytest.mark.parametrize("stop", ["killed", "stopped"])
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_to_one_file_loses_nothing(
    tmp_path: Path, images: dict[str, tuple[Path, Path, MetaState]], stop: str, name: str, damage: str
) -> None:
    older, image, expected = images[stop]
    if not (image / name).exists():
        pytest.skip(f"there is no {name} after a stop")
    for seed in range(4 if damage in ("flip", "cut", "zero") else 1):
        folder = Folder(tmp_path / f"data-{seed}")
        shutil.copytree(image, folder.path)
        DAMAGES[damage](folder.path / name, older / name, Random(seed))
        check(folder.open(), expected)
        topic = folder.metadata.create_topic(NewTopic("after", 1))
        folder.close()
        assert folder.open().topics["after"].topic_id == topic.topic_id
        folder.close()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(FILES), st.sampled_from(sorted(DAMAGES)), st.integers(0, 1 << 30), st.booleans())
def test_whatever_happens_to_any_one_file(
    tmp_path: Path,
    images: dict[str, tuple[Path, Path, MetaState]],
    name: str,
    damage: str,
    seed: int,
    was_killed: bool,
) -> None:
    older, image, expected = images["killed" if was_killed else "stopped"]
    folder = Folder(tmp_path / "data")
    shutil.rmtree(folder.path, ignore_errors=True)
    shutil.copytree(image, folder.path)
    if (folder.path / name).exists():
        DAMAGES[damage](folder.path / name, older / name, Random(seed))
    check(folder.open(), expected)
    folder.close()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damage_to_several_files_is_a_start_with_everything_or_a_refusal(
    tmp_path: Path, images: dict[str, tuple[Path, Path, MetaState]], data: st.DataObject
) -> None:
    """A start has all metadata, or refuses without changes; it never begins as an empty or another cluster."""
    older, image, expected = images["killed"]
    folder = Folder(tmp_path / "data")
    shutil.rmtree(folder.path, ignore_errors=True)
    shutil.copytree(image, folder.path)
    for name in data.draw(st.sets(st.sampled_from(FILES), min_size=2)):
        damage = data.draw(st.sampled_from(("flip", "cut", "zero", "lose")))
        DAMAGES[damage](folder.path / name, older / name, Random(data.draw(st.integers(0, 1 << 30))))
    named = {name: folder.contents().get(name) for name in ("shareq.data", "metadata.journal")}
    refusal = ""
    try:
        state = folder.open()
    except DataFolderError as error:
        refusal = str(error)
    if refusal:
        assert "\n" not in refusal
        assert "--repair" in refusal or "Nothing in it was changed" in refusal
        assert {name: folder.contents().get(name) for name in named} == named
        return
    cluster_id = state.meta["cluster.id"]
    folder.close()
    assert cluster_id == expected.meta["cluster.id"]
    assert state.topics in ({}, expected.topics) or set(state.topics) <= {"orders", "gone"}


@pytest.mark.parametrize("lost", [("meta.db",), ("meta.db-wal",), ("meta.db", "meta.db-wal", "meta.db-shm")])
def test_what_was_damaged_is_kept_and_said_once(
    tmp_path: Path,
    images: dict[str, tuple[Path, Path, MetaState]],
    caplog: pytest.LogCaptureFixture,
    lost: tuple[str, ...],
) -> None:
    _, image, _ = images["killed"]
    folder = Folder(tmp_path / "data")
    shutil.copytree(image, folder.path)
    left = {name: len(content) for name, content in folder.contents().items() if name.startswith("meta.db")}
    for name in lost:
        (folder.path / name).unlink()
        del left[name]
    folder.open()
    folder.close()
    (message,) = [message for message in caplog.messages if "meta.db: rebuilt from" in message]
    kept = [name for name in os.listdir(folder.path) if name.startswith("damaged-")]
    assert len(kept) >= (1 if "meta.db" in left else 0)
    assert all(name in message for name in kept)


def test_both_records_lost_is_no_empty_cluster(tmp_path: Path, images: dict[str, tuple[Path, Path, MetaState]]) -> None:
    _, image, _ = images["stopped"]
    folder = Folder(tmp_path / "data")
    shutil.copytree(image, folder.path)
    (folder.path / "meta.db").unlink()
    (folder.path / "metadata.journal").unlink()
    before = folder.contents()
    with pytest.raises(DataFolderError, match=r"meta\.db and metadata\.journal are missing or empty.*--repair"):
        folder.open()
    assert folder.contents() == before


def test_a_damaged_journal_that_has_seen_later_commits_is_not_written_over(
    tmp_path: Path, images: dict[str, tuple[Path, Path, MetaState]]
) -> None:
    """An older `meta.db` would otherwise be accepted, and all later commits silently lost."""
    older, image, _ = images["stopped"]
    folder = Folder(tmp_path / "data")
    shutil.copytree(image, folder.path)
    for name in ("meta.db", "meta.db-wal", "meta.db-shm"):
        (folder.path / name).unlink(missing_ok=True)
        if (older / name).exists():
            shutil.copy(older / name, folder.path / name)
    journal = bytearray((folder.path / "metadata.journal").read_bytes())
    journal[journal.index(b"\n") + 10] ^= 1
    (folder.path / "metadata.journal").write_bytes(journal)
    with pytest.raises(DataFolderError, match=r"its line 2 is damaged; .*--repair --trust meta\.db --adopt all`"):
        folder.open()
    assert (folder.path / "metadata.journal").read_bytes() == journal


def test_a_damaged_write_ahead_log_is_not_thrown_away(
    tmp_path: Path, images: dict[str, tuple[Path, Path, MetaState]]
) -> None:
    _, image, _ = images["killed"]
    folder = Folder(tmp_path / "data")
    shutil.copytree(image, folder.path)
    (folder.path / "meta.db-wal").write_bytes(bytes((folder.path / "meta.db-wal").stat().st_size))
    (folder.path / "metadata.journal").unlink()
    before = folder.contents()
    for _ in range(2):
        with pytest.raises(DataFolderError, match=r"meta\.db: its write-ahead log is damaged"):
            folder.open()
        assert folder.contents() == before


def test_files_of_two_clusters_are_refused(tmp_path: Path, images: dict[str, tuple[Path, Path, MetaState]]) -> None:
    _, image, _ = images["stopped"]
    other = Folder(tmp_path / "other")
    other.ids = Random(8)
    other.open()
    other.close()
    for name in ("shareq.data", "meta.db", "metadata.journal"):
        folder = Folder(tmp_path / f"with-{name}")
        shutil.copytree(image, folder.path)
        shutil.copy(other.path / name, folder.path / name)
        before = folder.contents()
        with pytest.raises(DataFolderError, match=rf"{name} is of cluster .*--repair"):
            folder.open()
        assert folder.contents() == before


def test_a_newer_format_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/shareq.data").write_bytes(format_marker(Marker("c", used=True, format_version=3)))
    with pytest.raises(DataFolderError, match="has format 3, and this release knows formats up to 2"):
        Folder(tmp_path / "data").open()
    assert os.listdir(tmp_path / "data") == ["shareq.data"]


@pytest.mark.parametrize(
    "make",
    [
        lambda base: (base / "photos-2024").mkdir(),
        lambda base: (base / "notes.txt").write_text("x"),
        lambda base: (base / "old-delete").mkdir(),
        lambda base: (base / "backup-7").symlink_to(base.parent),
        lambda base: (base / "meta.db").write_text("SQLite format 3\0 of another program"),
        lambda base: (base / ".lock").symlink_to(base.parent / "elsewhere"),
        lambda base: (base / "shareq.data").mkdir(),
        lambda base: (base / "meta.properties").write_text("version=1"),
    ],
)
def test_a_foreign_folder_is_refused_before_a_byte_changes(tmp_path: Path, make: Callable[[Path], object]) -> None:
    base = tmp_path / "data"
    base.mkdir()
    make(base)
    before = sorted(os.listdir(base))
    with pytest.raises(DataFolderError, match=str(base)) as refusal:
        Folder(base).open()
    assert sorted(os.listdir(base)) == before
    assert before[0] in str(refusal.value)
    assert not (tmp_path / "elsewhere").exists()


def test_a_folder_of_apache_kafkas_is_refused_with_the_command_that_takes_it_over(tmp_path: Path) -> None:
    """The refusal offers that command, and not one that would rename the folders: there are logs, but none of our
    files.
    """
    base = tmp_path / "its data"
    (base / "orders-0").mkdir(parents=True)
    (base / "orders-0" / "partition.metadata").write_text("version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw\n")
    (base / "meta.properties").write_text("version=1\ncluster.id=AAECAwQFBgcICQoLDA0ODw\nnode.id=1\n")
    before = sorted(os.listdir(base))
    with pytest.raises(DataFolderError) as refusal:
        Folder(base).open()
    assert f"`shareq import-logs '{base}' NEW`" in str(refusal.value)
    assert "--repair" not in str(refusal.value)
    assert not refusal.value.has_repair
    assert sorted(os.listdir(base)) == before


@pytest.mark.parametrize("names", [(), ("lost+found/",), (".lock",), ("shareq.data.tmp",), (".lock", "meta.db")])
def test_an_empty_folder_is_taken(tmp_path: Path, names: tuple[str, ...]) -> None:
    base = tmp_path / "data"
    base.mkdir()
    for name in names:
        (base / name).mkdir() if name.endswith("/") else (base / name).touch()
    folder = Folder(base)
    folder.open()
    folder.close()
    assert stat.S_IMODE((base / "metadata.journal").stat().st_mode) == 0o600
    assert b"state used" in (base / "shareq.data").read_bytes()


@pytest.mark.parametrize("left", [0, 1, 2])
def test_a_first_start_that_was_cut_off_goes_on(tmp_path: Path, left: int) -> None:
    """The first start was interrupted after the marker, after creating the database, or after its first commit."""
    folder = Folder(tmp_path / "data")
    state = folder.open()
    folder.close()
    marker = folder.path / "shareq.data"
    marker.write_bytes(_as_new(marker.read_bytes()))
    (folder.path / "metadata.journal").unlink()
    if left < 2:
        (folder.path / "meta.db").unlink()
    if left == 1:
        (folder.path / "meta.db").touch()
    assert folder.open().meta["cluster.id"] == state.meta["cluster.id"]
    folder.close()
    assert b"state used" in marker.read_bytes()


def test_a_folder_of_format_1_is_known_until_it_was_opened(tmp_path: Path) -> None:
    """The metadata of format 1 has no commit number, and the folder has neither journal nor marker."""
    folder = Folder(tmp_path / "data")
    folder.open()
    assert folder.opened is not None
    assert not folder.opened.from_format_1
    folder.close()
    for name in ("shareq.data", "metadata.journal"):
        (folder.path / name).unlink()
    with closing(sqlite3.connect(folder.path / "meta.db")) as database, database:
        database.execute("DELETE FROM meta WHERE key LIKE 'commit.%'")
    for expected in (True, False):
        folder.open()
        assert folder.opened.from_format_1 is expected
        folder.close()


@pytest.mark.parametrize("lost", [("shareq.data",), ("metadata.journal",), ("shareq.data", "metadata.journal")])
def test_a_folder_that_has_lost_files_is_not_one_of_format_1(tmp_path: Path, lost: tuple[str, ...]) -> None:
    folder = Folder(tmp_path / "data")
    folder.open()
    folder.close()
    for name in lost:
        (folder.path / name).unlink()
    folder.open()
    assert folder.opened is not None
    assert not folder.opened.from_format_1
    folder.close()


@pytest.mark.parametrize("seed", range(8))
def test_the_marker_that_says_that_there_is_metadata_survives_a_power_loss(seed: int) -> None:
    fs = MemFs(lambda call: call())
    opened = open_data_folder(fs, "data", MemoryRecord(MemoryMetaDb()), lambda: "AAAAAAAAAAAAAAAAAAAAAQ")
    MetadataStore(opened.meta_db, Environment(VirtualClock(), Random(1), fs), cluster_id=opened.cluster_id)
    fs.crash(CrashModel.POWER_LOSS, Random(seed))
    assert parse_marker(fs.read_bytes("data/shareq.data")).used


def test_a_marker_that_cannot_be_written_fails_no_commit(caplog: pytest.LogCaptureFixture) -> None:
    fs, database = MemFs(lambda call: call()), MemoryMetaDb()
    opened = open_data_folder(fs, "data", MemoryRecord(database), lambda: "AAAAAAAAAAAAAAAAAAAAAQ")
    fs.fail = lambda _kind, path: OSError(errno.EIO, "broken") if "shareq.data" in path else None
    metadata = MetadataStore(opened.meta_db, Environment(VirtualClock(), Random(1), fs), cluster_id=opened.cluster_id)
    metadata.create_topic(NewTopic("orders", 1))
    assert "orders" in database.load().topics
    assert "shareq.data: not written, the next commit tries again" in caplog.text
    assert not parse_marker(fs.read_bytes("data/shareq.data")).used
    fs.fail = None
    metadata.create_topic(NewTopic("payments", 1))
    assert parse_marker(fs.read_bytes("data/shareq.data")).used


def _as_new(marker: bytes) -> bytes:
    return format_marker(parse_marker(marker)._replace(used=False))


def test_a_journal_that_cannot_be_written_stops_nothing_and_is_made_good(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = Folder(tmp_path / "data")
    folder.open()
    journal = folder.path / "metadata.journal"
    journal.unlink()
    journal.mkdir()
    folder.metadata.create_topic(NewTopic("a", 1))
    assert [message for message in caplog.messages if "metadata.journal: not written" in message]
    journal.rmdir()
    folder.metadata.create_topic(NewTopic("b", 1))
    image = folder.crash_to(tmp_path / "image")
    (image.path / "meta.db").unlink()
    assert list(image.open().topics) == ["a", "b"]
    image.close()
    folder.close()


def test_the_journal_stays_small(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "data")
    folder.open()
    for number in range(300):
        value = f"{number:0400}"
        folder.metadata.alter_configs([PutConfig(ResourceName("group", "g"), "share.isolation.level", value)])
    assert (folder.path / "metadata.journal").stat().st_size < 70_000
    expected = folder.opened.meta_db.load() if folder.opened else None
    folder.close()
    (folder.path / "meta.db").unlink()
    assert folder.open() == expected
    folder.close()


def test_a_commit_that_fails_is_in_neither_record(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "data")
    before = folder.open()
    bad = PutConfig(ResourceName("group", "g"), "k", b"no text")  # type: ignore[arg-type]
    with pytest.raises((OSError, AttributeError)):
        folder.metadata.alter_configs([bad])
    folder.metadata.create_topic(NewTopic("a", 1))
    folder.close()
    state = folder.open()
    folder.close()
    assert (state.configs, list(state.topics)) == (before.configs, ["a"])


class OnMemory:
    """A folder on a disk in memory, with `database` beside it; syncs off the loop are held back."""

    def __init__(self) -> None:
        self.fs = MemFs(VirtualClock().call_soon, Random(1))
        self.database = MemoryMetaDb()
        self.open()

    def open(self) -> MetaState:
        self.fs.held_syncs = []
        env = Environment(VirtualClock(), Random(1), self.fs)
        self.opened = open_data_folder(
            self.fs, "d", MemoryRecord(self.database), lambda: "c" * 22, syncs_journal_in_background=True
        )
        self.metadata = MetadataStore(self.opened.meta_db, env, cluster_id=self.opened.cluster_id)
        return self.opened.meta_db.load()

    def lose_power(self) -> None:
        self.fs.crash(CrashModel.POWER_LOSS, Random(2))

    def syncs(self) -> int:
        return sum(kind in ("sync", "sync_dir") for kind, _ in self.fs.history)


def test_a_commit_waits_for_the_database_alone() -> None:
    folder = OnMemory()
    before = folder.syncs()
    folder.metadata.create_topic(NewTopic("a", 1))
    folder.metadata.create_topic(NewTopic("b", 1))
    assert folder.syncs() == before
    held = folder.fs.held_syncs
    assert held is not None
    assert len(held) == 1
    held.pop()()
    assert folder.syncs() == before + 1
    assert len(held) == 1  # of what came meanwhile


def test_power_is_lost_before_the_journal_is_synced() -> None:
    folder = OnMemory()
    folder.metadata.create_topic(NewTopic("a", 1))
    folder.metadata.create_topic(NewTopic("b", 1))
    folder.lose_power()
    assert list(folder.open().topics) == ["a", "b"]
    folder.database.clear()  # the start has made the journal good
    folder.lose_power()
    assert list(folder.open().topics) == ["a", "b"]


def test_a_journal_that_is_closed_is_on_stable_storage() -> None:
    folder = OnMemory()
    folder.metadata.create_topic(NewTopic("a", 1))
    folder.metadata.close()
    folder.database.clear()
    folder.lose_power()
    assert list(folder.open().topics) == ["a"]


def test_a_journal_whose_sync_fails_is_rewritten_by_the_next_commit(caplog: pytest.LogCaptureFixture) -> None:
    folder = OnMemory()
    folder.metadata.create_topic(NewTopic("a", 1))
    folder.fs.fail = lambda kind, path: OSError("broken") if kind == "sync" and "journal" in path else None
    held = folder.fs.held_syncs
    assert held is not None
    held.pop()()
    assert [message for message in caplog.messages if "metadata.journal: not written" in message]
    folder.fs.fail = None
    folder.metadata.create_topic(NewTopic("b", 1))
    folder.database.clear()
    folder.lose_power()
    assert list(folder.open().topics) == ["a", "b"]
