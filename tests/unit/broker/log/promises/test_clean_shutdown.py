"""The files of a clean shutdown, and which of them the next start accepts."""

from __future__ import annotations

import errno
import logging

import pytest

from devtools.in_memory.mem_fs import CrashModel
from shareq.broker.log.manager import MANY_FILES
from shareq.broker.log.partition_log import SMALL_SEGMENT_BYTES, Origin
from shareq.broker.log.promises.clean_shutdown import LogEnd, format_clean_stop, parse_clean_stop
from shareq.broker.log.promises.manifest import parse_manifest
from shareq.coordinator.ports import TopicImage
from tests.support.worlds.log_world import DATA, TOPIC, TOPIC_ID, LogWorld, batch_of

ENDS = {("orders", 0): LogEnd(30, 20, 1234), ("orders", 1): LogEnd(5, 0, 99, plain=True)}
MARKER = f"{DATA}/clean-shutdown"


def test_the_file_says_where_each_log_ends() -> None:
    stop = parse_clean_stop(format_clean_stop(ENDS))
    assert stop.logs == ENDS
    assert stop.plain_end(("orders", 0)) is None
    assert stop.plain_end(("orders", 1)) == ENDS["orders", 1]
    assert parse_clean_stop(format_clean_stop({})).logs == {}


def test_the_empty_file_of_format_1_still_counts() -> None:
    stop = parse_clean_stop(b"", from_format_1=True)
    assert stop.logs is None
    assert stop.plain_end(("orders", 0)) is None


def test_no_damaged_file_is_believed() -> None:
    data = format_clean_stop(ENDS)
    for at in range(len(data)):
        for other in (data[:at], data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]):
            with pytest.raises(ValueError, match=r"checksum|format|empty"):
                parse_clean_stop(other)


@pytest.mark.parametrize("from_format_1", [True, False])
def test_an_empty_file_is_a_clean_stop_in_format_1_alone(from_format_1: bool, caplog: pytest.LogCaptureFixture) -> None:
    """A power loss often leaves an empty file, which was all that format 1 wrote."""
    world = many_logs(1)
    world.logs.close(clean=False)
    world.fs.write_atomic(MARKER, b"")
    world.fs.content(f"{DATA}/{TOPIC}-0/{0:020}.log").extend(b"half a batch")
    world.start(from_format_1=from_format_1)
    assert ("not believed, the logs are checked as after a crash: it is empty" in caplog.text) is not from_format_1
    assert ("a write that was cut off" in caplog.text) is not from_format_1
    assert world.log.log_end_offset == 2
    assert not world.fs.exists(MARKER)


def test_a_later_format_is_not_believed() -> None:
    from crc32c import crc32c

    content = b"3\n"
    with pytest.raises(ValueError, match="format 3 is not known"):
        parse_clean_stop(content + f"crc32c {crc32c(content):08x}\n".encode())


def many_logs(count: int) -> LogWorld:
    world = LogWorld()
    world.topics.images[TOPIC] = TopicImage(TOPIC, TOPIC_ID, count)
    for value in (b"a", b"b"):  # the first append is synced with the names of its files, the second is not
        for partition in range(count):
            batch = batch_of(value, timestamp_ms=world.clock.wall_ms())
            world.logs.get(TOPIC, partition).append(batch, origin=Origin.CLIENT, now_wall_ms=world.clock.wall_ms())
        world.tick()
    return world


def test_many_segments_are_synced_with_one_call_and_nothing_else_is_written() -> None:
    world = many_logs(MANY_FILES)
    before = len(world.fs.history)
    world.logs.close(clean=True)
    kinds = [kind for kind, _ in world.fs.history[before:]]
    assert kinds.count("sync_all") == 1
    assert len(kinds) < 16
    world.fs.crash(CrashModel.POWER_LOSS, world.rng)
    world.start()
    assert all(log.log_end_offset == 2 for log in world.logs.logs())
    assert len(list(world.logs.logs())) == MANY_FILES


def test_where_that_call_fails_the_stop_is_not_clean(caplog: pytest.LogCaptureFixture) -> None:
    """All logs are checked at the next start: Linux reports the error once, and not for files that were closed then."""
    world = many_logs(MANY_FILES)
    synced = {log.partition: log.stable.synced_offset for log in world.logs.logs()}
    world.fs.fail = lambda kind, _path: OSError(errno.EIO, "broken") if kind == "sync_all" else None
    world.logs.close(clean=True)
    assert not world.fs.exists(MARKER)
    assert "not synced as a whole" in caplog.text
    found = parse_manifest(world.fs.read_bytes(f"{DATA}/log-manifest"))
    assert found is not None
    assert {partition: row.synced for (_, partition), row in found.rows.items()} == synced
    world.fs.fail = None
    world.start()
    assert [log.log_end_offset for log in world.logs.logs()] == [2] * MANY_FILES


def test_a_start_after_a_clean_stop_looks_at_less_than_one_after_a_kill(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = {}
    for clean in (True, False):
        world = many_logs(10)
        world.logs.close(clean=clean)
        listed: list[str] = []
        list_dir = world.fs.list_dir
        monkeypatch.setattr(
            world.fs, "list_dir", lambda path, seen=listed, ask=list_dir: seen.append(path) or ask(path)
        )
        world.start()
        looks[clean] = len(listed)
        assert [log.log_end_offset for log in world.logs.logs()] == [2] * 10
    assert looks[True] == looks[False] - 10


def test_the_marker_is_gone_before_anything_is_appended() -> None:
    world = many_logs(1)
    world.restart()
    assert not world.fs.exists(MARKER)
    world.produce(b"c")
    world.restart(clean=False)
    assert world.log.log_end_offset == 3


def test_a_plain_log_that_was_changed_meanwhile_is_looked_at() -> None:
    world = many_logs(2)
    world.logs.close(clean=True)
    path = f"{DATA}/{TOPIC}-0/{0:020}.log"
    world.fs.cut(path, len(world.fs.content(path)) - 1)
    world.start()
    assert world.logs.get(TOPIC, 1).log_end_offset == 2


def test_a_damaged_marker_is_reported_and_the_logs_are_checked(caplog: pytest.LogCaptureFixture) -> None:
    world = many_logs(1)
    world.logs.close(clean=True)
    world.fs.flip_bit(MARKER, 3, 0)
    world.start()
    assert "not believed, the logs are checked as after a crash" in caplog.text
    assert world.log.log_end_offset == 2
    assert not world.fs.exists(MARKER)


def test_large_segments_keep_their_indexes(world: LogWorld) -> None:
    world.produce(*[b"x" * 100] * (SMALL_SEGMENT_BYTES // 50))
    world.logs.close(clean=True)
    assert world.fs.exists(f"{DATA}/{TOPIC}-0/{0:020}.index")
    end = parse_clean_stop(world.fs.read_bytes(MARKER)).logs
    assert end is not None
    assert not end[TOPIC, 0].plain


def test_progress_is_reported_every_two_seconds(caplog: pytest.LogCaptureFixture) -> None:
    from shareq.broker.log.opening.progress import Progress

    now = 0
    progress = Progress("recovering logs", 20_000, lambda: now)
    with caplog.at_level(logging.INFO, "shareq.broker.log.opening.progress"):
        for _ in range(12_000):
            progress.step()
        assert not caplog.records
        now = 2_000_000_000
        progress.step()
        progress.step()
    assert [record.message for record in caplog.records] == ["recovering logs: 12,001 of 20,000"]
