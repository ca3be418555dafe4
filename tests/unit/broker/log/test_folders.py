"""Ownership of folders in a data folder: foreign ones are never removed or renamed, the broker's own never lost."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from devtools.in_memory.mem_fs import CrashModel
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.os_fs import OsFs
from shareq.broker.log.folders import DamagedFolderError, is_our_file
from shareq.broker.log.manager import LogManager
from shareq.broker.log.promises.checkpoints import format_partition_metadata
from shareq.broker.log.settings import LogSettings
from shareq.coordinator.ports import TopicImage
from tests.support.worlds.log_world import DATA, TOPIC, TOPIC_ID, LogWorld, Topics, read_all, values_of

OTHER_ID = bytes(range(16, 32))
ID_FILE = f"{DATA}/{TOPIC}-0/partition.metadata"
LINE_ENDS = {10, 43}  # a flipped bit turns one white space into another
HEX = "0123456789abcdef" * 2


def crashed() -> LogWorld:
    world = LogWorld()
    world.produce(b"kept")
    world.crash(CrashModel.PROCESS_KILL)
    return world


def everything(world: LogWorld) -> dict[str, bytes]:
    return {path: bytes(world.fs.content(path)) for path in world.fs.paths() if not path.endswith("/.lock")}


def empty(content: bytearray) -> None:
    content.clear()


def cut(content: bytearray) -> None:
    del content[20:]


def zero(content: bytearray) -> None:
    content[:] = bytes(len(content))


def flip(position: int) -> Callable[[bytearray], None]:
    def damage(content: bytearray) -> None:
        content[position] ^= 1

    return damage


@pytest.mark.parametrize("damage", [empty, cut, zero, *map(flip, set(range(44)) - LINE_ENDS)])
def test_a_damaged_partition_metadata_is_made_again_from_the_metadata(
    damage: Callable[[bytearray], None], caplog: pytest.LogCaptureFixture
) -> None:
    """A power loss left 0 bytes, or a flipped bit changed the id."""
    world = crashed()
    damage(world.fs.content(ID_FILE))
    world.start()
    assert values_of(read_all(world.log)) == [b"kept"]
    assert bytes(world.fs.content(ID_FILE)) == format_partition_metadata(TOPIC_ID)
    assert [message for message in caplog.messages if "partition.metadata: damaged" in message]


def test_a_missing_partition_metadata_is_made_again() -> None:
    world = crashed()
    world.fs.remove(ID_FILE)
    world.start()
    assert values_of(read_all(world.log)) == [b"kept"]
    assert bytes(world.fs.content(ID_FILE)) == format_partition_metadata(TOPIC_ID)


def recreate(world: LogWorld) -> None:
    world.topics.delete(TOPIC)
    world.topics.images[TOPIC] = TopicImage(TOPIC, OTHER_ID, 3)


def test_a_folder_that_a_deleted_topic_or_the_new_one_may_have_stops_the_start() -> None:
    """Without the id in the folder it is unknown which of two topics of one name owns the records."""
    world = crashed()
    recreate(world)
    world.fs.content(ID_FILE).clear()
    before = everything(world)
    with pytest.raises(
        DamagedFolderError, match=r"data/orders-0: its partition.metadata is damaged or missing, and a del"
    ):
        world.start()
    assert everything(world) == before


def test_a_folder_without_a_segment_is_the_new_topics_whatever_topic_had_its_name() -> None:
    """A crash before the id was written left no record of either topic in the folder."""
    world = crashed()
    recreate(world)
    for name in world.fs.list_dir("data/orders-0"):
        world.fs.remove(f"data/orders-0/{name}")
    world.fs.write_atomic(f"{ID_FILE}.tmp", b"version: 0", sync=False)
    world.start()
    assert world.log.topic_id == OTHER_ID
    assert bytes(world.fs.content(ID_FILE)) == format_partition_metadata(OTHER_ID)


def test_one_byte_is_not_enough_to_confuse_a_deleted_topic_with_the_new_one() -> None:
    world = crashed()
    recreate(world)
    flip(30)(world.fs.content(ID_FILE))
    world.start()
    assert world.log.topic_id == OTHER_ID
    assert read_all(world.log) == []


def test_a_folder_of_a_deleted_topic_is_removed_and_the_topic_forgotten(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    world = crashed()
    world.topics.delete(TOPIC)
    world.start()
    assert [name for name in world.fs.list_dir(DATA) if TOPIC in name] == []
    assert world.topics.deleted == {}
    assert [message for message in caplog.messages if "-delete: removed, 3 files" in message]


def test_a_deleted_topic_is_not_forgotten_before_its_renames_are_durable() -> None:
    """A power loss could bring the folder back, and no topic would own it."""
    for seed in range(30):
        world = LogWorld(seed=seed, flush_every_message=True)
        world.produce(b"old")
        world.topics.delete(TOPIC)
        world.fs.held_syncs = []
        world.logs.delete_topic(TOPIC, TOPIC_ID)
        world.tick()
        assert list(world.topics.deleted) == [TOPIC_ID], "the sync is under way"
        (end_of_sync,) = world.fs.held_syncs
        end_of_sync()
        assert world.topics.deleted == {}
        world.crash(CrashModel.POWER_LOSS)
        world.start()


def test_a_topic_whose_folder_cannot_be_renamed_is_remembered(world: LogWorld) -> None:
    world.produce(b"old")
    world.fs.fail = lambda kind, _path: OSError("no") if kind == "rename" else None
    recreate(world)
    world.logs.delete_topic(TOPIC, TOPIC_ID)
    assert list(world.topics.deleted) == [TOPIC_ID]
    world.fs.fail = None
    world.produce(b"new")
    assert values_of(read_all(world.log)) == [b"new"]
    world.restart()
    assert (values_of(read_all(world.log)), world.topics.deleted) == ([b"new"], {})


@pytest.mark.parametrize("image", [None, TopicImage(TOPIC, OTHER_ID, 3), TopicImage(TOPIC, TOPIC_ID, 0)])
def test_a_folder_of_no_topic_that_is_known_stops_the_start(image: TopicImage | None) -> None:
    """The folder may be all that is left of the topic, and is readable once the metadata is back."""
    world = crashed()
    known = world.topics.images.pop(TOPIC)
    if image is not None:
        world.topics.images[TOPIC] = image
    before = everything(world)
    command = "`shareq verify data --repair --(adopt|set-aside) all`"
    with pytest.raises(DamagedFolderError, match=rf"data/orders-0: .* Not starting.*{command}"):
        world.start()
    assert everything(world) == before
    world.topics.images[TOPIC] = known
    world.start()
    assert values_of(read_all(world.log)) == [b"kept"]


def test_many_folders_of_no_topic_are_reported_in_one_sentence(world: LogWorld) -> None:
    for partition in range(3):
        world.logs.get(TOPIC, partition)
    world.produce(b"x")
    world.logs.close(clean=True)
    for number in range(9):
        world.fs.make_dirs(f"{DATA}/lost-{number}")
        world.fs.write_atomic(f"{DATA}/lost-{number}/partition.metadata", format_partition_metadata(OTHER_ID))
    with pytest.raises(DamagedFolderError, match=r"lost-0.*lost-1.*lost-2.*and 6 more folders"):
        world.start()


def test_logs_without_an_id_in_a_folder_that_no_topic_has_stop_the_start() -> None:
    world = crashed()
    world.topics.images.clear()
    world.fs.remove(ID_FILE)
    with pytest.raises(
        DamagedFolderError, match=r"its partition.metadata is damaged or missing, and no topic has its name"
    ):
        world.start()


def test_a_foreign_folder_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    world = crashed()
    world.fs.make_dirs(f"{DATA}/photos-2024")
    world.fs.write_atomic(f"{DATA}/photos-2024/img.jpg", b"a picture")
    world.fs.make_dirs(f"{DATA}/{TOPIC}-1")  # left by a power loss, or by another program
    world.fs.make_dirs(f"{DATA}/old-delete")
    world.fs.write_atomic(f"{DATA}/old-delete/notes", b"notes")
    world.start()
    assert bytes(world.fs.content(f"{DATA}/photos-2024/img.jpg")) == b"a picture"
    assert bytes(world.fs.content(f"{DATA}/old-delete/notes")) == b"notes"
    assert caplog.messages == ["data/photos-2024: not a folder of ours, left alone"]


def test_a_topic_may_have_the_name_of_a_foreign_folder(world: LogWorld) -> None:
    """The topic's files are stored beside the foreign ones, which stay when the topic is deleted."""
    world.fs.make_dirs(f"{DATA}/{TOPIC}-0/pictures")
    world.fs.write_atomic(f"{DATA}/{TOPIC}-0/notes", b"notes")
    world.produce(b"x")
    world.restart()
    assert values_of(read_all(world.log)) == [b"x"]
    world.topics.delete(TOPIC)
    world.logs.delete_topic(TOPIC, TOPIC_ID)
    world.tick()
    for _ in range(2):
        (left,) = [name for name in world.fs.list_dir(DATA) if name.endswith("-delete")]
        assert world.fs.list_dir(f"{DATA}/{left}") == ["notes", "pictures"]
        world.restart()


def test_a_log_never_gets_a_folder_that_has_appeared_while_the_broker_runs(world: LogWorld) -> None:
    world.fs.make_dirs(f"{DATA}/{TOPIC}-0")
    world.fs.write_atomic(ID_FILE, format_partition_metadata(TOPIC_ID))
    with pytest.raises(OSError, match="in the way of a log"):
        world.logs.get(TOPIC, 0)


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("00000000000000000000.log", True),
        ("00000000000000000000.timeindex.tmp", True),
        ("00000000000000000012.log.4096.cut", True),
        ("00000000000000000012.snapshot", True),
        ("partition.metadata", True),
        ("leader-epoch-checkpoint.tmp", True),
        ("0.log", False),
        ("access.log", False),
        ("20240101.log", False),
        ("partition.metadata.bak", False),
        ("00000000000000000000.LOG", False),
        ("00000000000000000000", False),
    ],
)
def test_which_files_a_broker_writes(name: str, ours: bool) -> None:
    assert is_our_file(name) is ours


# -- symbolic links, on a real disk


class RealFolder:
    """A data folder on disk, beside a folder that contains a foreign file."""

    def __init__(self, base: Path) -> None:
        self.path = base / "data"
        self.path.mkdir()
        self.outside = base / "outside"
        self.outside.mkdir()
        (self.outside / "precious").write_text("precious")
        (self.outside / "00000000000000000000.log").write_text("foreign")
        self.clock = VirtualClock()
        self.env = Environment(self.clock, Random(1), OsFs(lambda call: call()))

    def start(self, *topics: TopicImage) -> None:
        logs = LogManager(self.env, str(self.path), lambda _: LogSettings())
        logs.open_all(Topics({topic.name: topic for topic in topics}))
        logs.close(clean=True)

    def check(self) -> None:
        assert sorted(os.listdir(self.outside)) == ["00000000000000000000.log", "precious"]


@pytest.mark.parametrize("name", ["backup-7", f"orders-0.{HEX}-delete", "x-delete", f"orders-0.{HEX}-stray"])
def test_the_target_of_a_symbolic_link_is_never_touched(tmp_path: Path, name: str) -> None:
    folder = RealFolder(tmp_path)
    (folder.path / name).symlink_to(folder.outside)
    folder.start()
    folder.check()
    assert (folder.path / name).is_symlink()


def test_a_link_in_the_place_of_a_topics_folder_stops_the_start(tmp_path: Path) -> None:
    folder = RealFolder(tmp_path)
    (folder.path / "orders-0").symlink_to(folder.outside)
    with pytest.raises(DamagedFolderError, match=r"orders-0: it is a symbolic link, and these are not followed"):
        folder.start(TopicImage("orders", TOPIC_ID, 1))
    folder.check()


def test_links_and_folders_in_a_deleted_topics_folder_stay(tmp_path: Path) -> None:
    folder = RealFolder(tmp_path)
    doomed = folder.path / f"orders-0.{HEX}-delete"
    (doomed / "00000000000000000000.log").mkdir(parents=True)
    (doomed / "00000000000000000007.log").symlink_to(folder.outside / "precious")
    (doomed / "00000000000000000009.log").write_text("ours")
    folder.start()
    folder.check()
    assert sorted(os.listdir(doomed)) == ["00000000000000000000.log", "00000000000000000007.log"]


def test_a_topic_whose_name_a_link_has_gets_no_log(tmp_path: Path) -> None:
    folder = RealFolder(tmp_path)
    logs = LogManager(folder.env, str(folder.path), lambda _: LogSettings())
    topics = Topics({})
    (folder.path / "orders-0").symlink_to(folder.outside)
    logs.open_all(topics)
    topics.images["orders"] = TopicImage("orders", TOPIC_ID, 1)
    with pytest.raises(OSError, match="in the way of a log"):
        logs.get("orders", 0)
    logs.close(clean=True)
    folder.check()
