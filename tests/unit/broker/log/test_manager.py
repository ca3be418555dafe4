"""The data folder: its lock, the folders of created and deleted topics, and retention."""

from __future__ import annotations

from random import Random

import pytest

from devtools.in_memory.mem_fs import CrashModel
from shareq.broker.log.log_starts import LogStarts
from shareq.broker.log.manager import DataFolderInUseError, LogManager
from shareq.broker.log.partition_log import AppendInfo, Origin, PartitionLog
from shareq.broker.log.segments.reader import ReadResult
from shareq.broker.log.settings import LogSettings
from shareq.coordinator.ports import TopicImage
from shareq.protocol.errors import ErrorCode
from tests.support.coroutines import paused_everywhere
from tests.support.worlds.log_world import DATA, TOPIC, TOPIC_ID, LogWorld, batch_of, read_all, values_of

OTHER_ID = bytes(range(16, 32))
SIZE = len(batch_of(b"0"))
MINUTE = 60_000


def folders(world: LogWorld) -> list[str]:
    return [
        name
        for name in world.fs.list_dir(DATA)
        if "." not in name[:1] and "checkpoint" not in name and "manifest" not in name
    ]


def test_two_managers_never_share_a_data_folder(world: LogWorld) -> None:
    second = LogManager(world.env, DATA, lambda _topic: world.settings)
    with pytest.raises(DataFolderInUseError, match="data folder data is in use by another process"):
        second.open_all(world.topics)
    world.logs.close(clean=True)
    second.open_all(world.topics)
    second.close(clean=True)


def test_a_topic_or_partition_nobody_knows(world: LogWorld) -> None:
    for topic, partition in (("nothing", 0), (TOPIC, 3), (TOPIC, -1)):
        with pytest.raises(KeyError):
            world.logs.get(topic, partition)


def test_every_partition_with_a_folder_is_opened_at_start(world: LogWorld) -> None:
    for partition in (0, 2):
        world.logs.get(TOPIC, partition)
    world.produce(b"x")
    world.restart()
    assert [(log.topic, log.partition) for log in world.logs.logs() if log.segments] == [(TOPIC, 0)]
    assert values_of(read_all(world.log)) == [b"x"]


def test_the_mark_of_a_clean_shutdown_is_gone_for_good_before_anything_is_appended() -> None:
    for seed in range(20):
        world = LogWorld()
        world.produce(b"x")
        world.logs.close(clean=True)
        assert world.fs.exists(f"{DATA}/clean-shutdown")
        world.clock.drop_everything()
        world.start()
        world.fs.crash(CrashModel.POWER_LOSS, Random(seed))
        assert not world.fs.exists(f"{DATA}/clean-shutdown")


def test_a_log_that_went_offline_leaves_no_mark_of_a_clean_shutdown() -> None:
    world = LogWorld(flush_every_message=True)
    world.produce(b"x")
    world.fs.fail = lambda kind, _path: OSError("gone") if kind == "sync" else None
    world.append(batch_of(b"y"))
    world.tick()
    world.fs.fail = None
    world.logs.close(clean=True)
    assert not world.fs.exists(f"{DATA}/clean-shutdown")


# -- topics that come and go


def test_deleting_a_topic_renames_its_folder_at_once_and_removes_it_soon(world: LogWorld) -> None:
    world.produce(b"x")
    reported: list[ErrorCode] = []
    log = world.log
    world.append(batch_of(b"under way"), reported.append)
    del world.topics.images[TOPIC]
    world.logs.delete_topic(TOPIC, TOPIC_ID)
    [folder] = folders(world)
    assert folder.startswith(f"{TOPIC}-0.")
    assert folder.endswith("-delete")
    world.tick()
    assert folders(world) == []
    assert reported == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert world.fs.open_files == 1  # the manifest
    assert log.read(0, 100, upto=1) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert [kind for kind, path in world.fs.history if folder in path][-1] == "rmdir"


def test_deleting_by_an_old_id_does_not_touch_the_new_topic(world: LogWorld) -> None:
    world.produce(b"x")
    world.logs.delete_topic(TOPIC, OTHER_ID)
    assert values_of(read_all(world.log)) == [b"x"]


def test_a_topic_deleted_while_its_sync_is_under_way() -> None:
    world = LogWorld(flush_every_message=True)
    world.produce(b"x")
    reported: list[ErrorCode] = []
    world.append(batch_of(b"y"), reported.append)
    world.clock.run_tick()
    world.logs.delete_topic(TOPIC, TOPIC_ID)
    world.topics.images[TOPIC] = TopicImage(TOPIC, OTHER_ID, 3)
    world.produce(b"new")
    assert reported == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert values_of(read_all(world.log)) == [b"new"]


def test_a_half_finished_deletion_is_finished_at_the_next_start(world: LogWorld) -> None:
    world.produce(b"x")
    del world.topics.images[TOPIC]
    world.logs.delete_topic(TOPIC, TOPIC_ID)
    world.crash(CrashModel.PROCESS_KILL)
    world.start()
    assert folders(world) == []


def test_log_starts_of_a_deleted_topic_are_not_the_new_ones(world: LogWorld) -> None:
    world.produce(b"x")
    assert world.delete_records(1) is ErrorCode.NONE
    world.crash(CrashModel.PROCESS_KILL)
    world.topics.delete(TOPIC)  # and made again, and the process died
    world.topics.images[TOPIC] = TopicImage(TOPIC, OTHER_ID, 3)
    world.start()
    world.produce(b"new")
    world.restart()
    assert values_of(read_all(world.log)) == [b"new"]


def test_a_log_start_that_could_not_be_forgotten_is_not_the_new_ones(world: LogWorld) -> None:
    """The new log's first files are created only after the checkpoint was corrected."""
    world.produce(b"x")
    assert world.delete_records(1) is ErrorCode.NONE
    world.fs.fail = lambda _kind, path: OSError("full") if "log-start" in path else None
    del world.topics.images[TOPIC]
    world.logs.delete_topic(TOPIC, TOPIC_ID)
    world.topics.images[TOPIC] = TopicImage(TOPIC, OTHER_ID, 3)
    assert isinstance(world.append(batch_of(b"refused")), AppendInfo)
    world.tick()
    world.fs.fail = None
    assert world.log.high_watermark == 0
    world.produce(b"new")
    world.crash(CrashModel.PROCESS_KILL)
    world.start()
    assert values_of(read_all(world.log)) == [b"new"]


def test_the_longest_topic_name_can_be_deleted(world: LogWorld) -> None:
    name = "t" * 249
    world.topics.images[name] = TopicImage(name, OTHER_ID, 1)
    world.logs.get(name, 0).append(batch_of(b"x"), origin=Origin.CLIENT, now_wall_ms=0)
    world.tick()
    world.logs.delete_topic(name, OTHER_ID)
    assert all(len(folder) <= 255 for folder in folders(world))


# -- retention


def test_retention_by_time_deletes_whole_sealed_segments() -> None:
    world = LogWorld(LogSettings(segment_bytes=2 * SIZE, retention_ms=12 * MINUTE))
    moved: list[int] = []
    world.logs.add_log_start_listener(lambda log: moved.append(log.log_start_offset))
    for _ in range(3):
        world.produce(b"0", timestamp_ms=world.clock.wall_ms())
        world.produce(b"0", timestamp_ms=world.clock.wall_ms())
        world.clock.advance(4 * MINUTE)
    assert world.log.log_start_offset == 0
    world.clock.advance(3 * MINUTE)  # the check runs every five minutes
    assert (world.log.log_start_offset, moved) == (2, [2])
    assert f"{DATA}/{TOPIC}-0/00000000000000000000.log" not in world.fs.paths()
    world.restart(clean=False)
    assert world.log.log_start_offset == 2


def test_when_everything_is_old_the_active_segment_is_rolled_and_goes_too() -> None:
    world = LogWorld(LogSettings(retention_ms=10 * MINUTE))
    world.produce(b"a", timestamp_ms=world.clock.wall_ms())
    world.produce(b"b", timestamp_ms=world.clock.wall_ms())
    world.clock.advance(16 * MINUTE)
    assert (world.log.log_start_offset, world.log.log_end_offset) == (2, 2)
    world.restart()
    assert (world.log.log_start_offset, world.log.log_end_offset) == (2, 2)
    assert world.produce(b"c").base_offset == 2
    assert values_of(read_all(world.log)) == [b"c"]


def test_retention_by_size_keeps_at_least_that_much() -> None:
    world = LogWorld(LogSettings(segment_bytes=2 * SIZE, retention_bytes=5 * SIZE, retention_ms=-1))
    for _ in range(10):
        world.produce(b"0")
    world.logs.upkeep.apply_retention()
    assert world.log.log_start_offset == 4
    assert world.log.size_bytes == 6 * SIZE
    world.logs.upkeep.apply_retention()
    assert world.log.log_start_offset == 4


def test_logs_are_looked_at_some_in_a_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few of tens of thousands of logs have something to delete."""
    paused_everywhere(monkeypatch)
    world = LogWorld(LogSettings(segment_bytes=2 * SIZE, retention_bytes=0))
    logs = [world.logs.get(TOPIC, partition) for partition in range(3)]
    for _ in range(5):
        for log in logs:
            log.append(bytearray(batch_of(b"0", timestamp_ms=0)), origin=Origin.CLIENT, now_wall_ms=0)
        world.tick()
    looked_at: list[str] = []
    is_due, run_tick = LogStarts.is_due, world.clock.run_tick

    def look(starts: LogStarts, log: PartitionLog, now_ms: int) -> bool:
        looked_at.append("log")
        return is_due(starts, log, now_ms)

    def tick() -> int:
        looked_at.append("tick")
        return run_tick()

    monkeypatch.setattr(LogStarts, "is_due", look)
    monkeypatch.setattr(world.clock, "run_tick", tick)
    world.clock.advance(5 * MINUTE)
    ticks = "".join("l" if what == "log" else " " for what in looked_at).split()
    assert (max(map(len, ticks)), sum(map(len, ticks))) == (1, 3)
    assert [log.log_start_offset for log in logs] == [5, 5, 5]


def test_topics_without_the_delete_policy_keep_everything() -> None:
    world = LogWorld(LogSettings(segment_bytes=2 * SIZE, retention_bytes=0, delete=False, compact=True))
    for _ in range(10):
        world.produce(b"0")
    world.clock.advance(60 * MINUTE)  # twelve times that it looks
    assert world.log.log_start_offset == 0
    world.settings = world.settings._replace(delete=True)
    world.logs.reload_settings()
    world.clock.advance(5 * MINUTE)
    assert world.log.log_start_offset == 10


def test_nothing_is_deleted_when_the_log_start_cannot_be_saved() -> None:
    world = LogWorld(LogSettings(segment_bytes=2 * SIZE, retention_bytes=0))
    for _ in range(5):
        world.produce(b"0")
    world.fs.fail = lambda _kind, path: OSError("full") if "log-start" in path else None
    world.logs.upkeep.apply_retention()
    assert world.log.log_start_offset == 0
    assert len(read_all(world.log)) == 5


# -- listeners and hooks


def test_watermarks_move_before_appends_are_reported_and_listeners_come_last(world: LogWorld) -> None:
    events: list[str] = []
    first, second = world.logs.get(TOPIC, 0), world.logs.get(TOPIC, 1)
    world.logs.add_listener(lambda log: events.append(f"listener {log.partition}"))

    def reported(log: PartitionLog) -> None:
        events.append(f"notified {log.partition}: {first.high_watermark} {second.high_watermark}")

    for log in (first, second):
        log.append(
            batch_of(b"x"),
            origin=Origin.CLIENT,
            now_wall_ms=world.clock.wall_ms(),
            on_durable=lambda _error, log=log: reported(log),  # type: ignore[misc]
        )
    world.tick()
    assert events == ["notified 0: 1 1", "notified 1: 1 1", "listener 0", "listener 1"]


def test_before_append_runs_once_and_its_appends_go_with_the_same_flush(world: LogWorld) -> None:

    def append() -> None:
        world.append(batch_of(b"collected"))

    world.produce(b"first")
    world.log.before_append(append)
    world.clock.run_tick()
    assert world.log.high_watermark == 2
    world.produce(b"x")
    assert world.log.high_watermark == 3


def test_a_callback_that_fails_does_not_keep_the_others_from_being_called(world: LogWorld) -> None:
    reported: list[ErrorCode] = []

    def fail(_error: ErrorCode) -> None:
        raise ZeroDivisionError("a bug")

    world.append(batch_of(b"a"), fail)
    world.append(batch_of(b"b"), reported.append)
    with pytest.raises(ZeroDivisionError):
        world.tick()
    assert reported == [ErrorCode.NONE]
    assert world.log.high_watermark == 2


def test_open_files_are_bounded() -> None:
    world = LogWorld(LogSettings(segment_bytes=2 * SIZE))
    world.logs.close(clean=True)
    world.logs = LogManager(world.env, DATA, lambda _topic: world.settings, max_open_files=4)
    world.logs.open_all(world.topics)
    rng = Random(0)
    for at in range(60):
        world.produce(b"%d" % (at % 10))
        offset = rng.randint(0, at)
        result = world.log.read(offset, 1, upto=at + 1)
        assert isinstance(result, ReadResult)
        assert result.batches[0].base_offset == offset
        assert world.fs.open_files <= 4 + 1  # the manifest


def test_a_start_is_durable_before_the_segments_below_it_go() -> None:
    """The start offset is synced even without flush settings: after a power loss the removed files would be missing
    records.
    """
    for seed in range(20):
        world = LogWorld(LogSettings(segment_bytes=2 * len(batch_of(b"x"))))
        for _ in range(6):
            world.produce(b"x")
        world.tick()
        assert world.logs.truncate_prefixes({world.log: 4}) == {world.log: ErrorCode.NONE}
        world.fs.crash(CrashModel.POWER_LOSS, Random(seed))
        world.clock.drop_everything()
        world.start()
        assert world.log.log_start_offset == 4
        assert world.log.unreadable_range(world.log.log_start_offset) is None
