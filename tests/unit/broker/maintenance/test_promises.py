"""The report of `shareq verify` on manifest and checkpoints, and on logs that are shorter than these say."""

from __future__ import annotations

from random import Random

import pytest

from devtools.in_memory.mem_fs import CrashModel
from devtools.in_memory.memory_meta_db import MemoryMetaDb
from shareq.broker.data_folder.comparison import CLUSTER_ID
from shareq.broker.data_folder.journal import JournalFile
from shareq.broker.data_folder.kept_twice import look_at_records, open_records
from shareq.broker.data_folder.marker import Marker, format_marker
from shareq.broker.log.partition_log import Origin
from shareq.broker.log.promises.checkpoints import format_offsets
from shareq.broker.log.promises.manifest import LogRow, parse_manifest, snapshot
from shareq.broker.log.segments.segment import LOG_SUFFIX, file_name
from shareq.broker.log.settings import LogSettings
from shareq.broker.maintenance.repair.apply import Choices
from shareq.broker.maintenance.verify.findings import Level, Report
from shareq.broker.maintenance.verify.folder import verify_folder
from shareq.broker.metadata.changes import PutMeta, PutTopic, TopicRow
from tests.support.fakes.memory_record import MemoryRecord
from tests.support.worlds.folder_on_disk import CLUSTER, DATA, ORDERS, FolderOnDisk, plain
from tests.support.worlds.log_world import TOPIC, TOPIC_ID, LogWorld, batch_of
from tests.unit.broker.maintenance.test_verify import RECORDS, damage, repair, verify

KEY = ("orders", 0)
SECOND, THIRD = (f"orders-0/{file_name(base, LOG_SUFFIX)}" for base in (9, 15))


def rows_of(folder: FolderOnDisk) -> dict[tuple[str, int], LogRow]:
    found = parse_manifest(folder.fs.read_bytes(f"{DATA}/log-manifest"))
    assert found is not None
    return dict(found.rows)


def remove_folder(folder: FolderOnDisk, name: str) -> None:
    for each in folder.fs.list_dir(f"{DATA}/{name}"):
        folder.fs.remove(f"{DATA}/{name}/{each}")
    folder.fs.remove_dir(f"{DATA}/{name}")


def test_a_stopped_folder_is_sound(folder: FolderOnDisk) -> None:
    folder.stop()
    assert [finding.text() for finding in verify(folder).findings] == []
    assert folder.start() == RECORDS


@pytest.mark.parametrize("damaged", ["missing", "empty", "header", "line"])
def test_a_manifest_is_made_again_of_what_the_logs_are(damaged: str, folder: FolderOnDisk) -> None:
    content = folder.content("log-manifest")
    match damaged:
        case "missing":
            folder.fs.remove(f"{DATA}/log-manifest")
        case "empty":
            content.clear()
        case "header":
            content[3] ^= 1
        case _:
            content[content.index(b"orders")] ^= 1
    report = verify(folder)
    assert [finding.path for finding in report.damage] == ["log-manifest"]
    after, done = repair(folder, report, Choices())
    assert damage(after) == []
    assert any("log-manifest: rewritten, of 3 logs" in line for line in done)
    ends = {**folder.rows[KEY]._asdict(), "synced": 21}
    assert rows_of(folder)[KEY]._asdict() == ends
    assert folder.start() == RECORDS


def test_a_manifest_waits_for_the_repair_of_the_logs(folder: FolderOnDisk) -> None:
    folder.fs.remove(f"{DATA}/log-manifest")
    folder.content(THIRD)[len(plain(15)) + 100] ^= 1
    after, _ = repair(folder, verify(folder), Choices(cut_tails=True))
    assert damage(after) == []
    assert rows_of(folder)[KEY].synced == 18


def test_a_folder_of_format_1_needs_no_manifest_and_its_empty_file_is_a_clean_stop(folder: FolderOnDisk) -> None:
    for name in ("log-manifest", "shareq.data", "metadata.journal"):
        folder.fs.remove(f"{DATA}/{name}")
    folder.forget_commits()
    folder.write("clean-shutdown", b"")
    report = verify(folder)
    assert report.is_sound
    assert {finding.path for finding in report.findings} == {"shareq.data", "metadata.journal"}


@pytest.mark.parametrize("content", [b"", b"2\n"])
def test_a_damaged_clean_shutdown_is_removed(content: bytes, folder: FolderOnDisk) -> None:
    folder.write("clean-shutdown", content)
    report = verify(folder)
    assert [finding.path for finding in report.damage] == ["clean-shutdown"]
    after, _ = repair(folder, report, Choices())
    assert damage(after) == []
    assert not folder.fs.exists(f"{DATA}/clean-shutdown")
    assert folder.start() == RECORDS


@pytest.mark.parametrize("manifest", [True, False])
def test_a_folder_that_is_missing_is_reported_and_made_again(manifest: bool, folder: FolderOnDisk) -> None:
    folder.stop()
    if not manifest:
        folder.fs.remove(f"{DATA}/log-manifest")
    remove_folder(folder, "orders-0")
    report = verify(folder)
    (finding,) = (finding for finding in report.damage if finding.path == "orders-0")
    assert finding.consequence == "offsets 0 to 20 are lost; all else can be read"
    unchanged, _ = repair(folder, report, Choices())
    assert [finding.path for finding in unchanged.damage] == ["orders-0"]
    after, done = repair(folder, unchanged)
    assert damage(after) == []
    assert any("orders-0: rebuilt, with an empty segment; lost: offsets 0 to 20" in line for line in done)
    assert folder.start() == RECORDS - 21
    assert folder.end_of("orders") == 21


def test_a_folder_whose_records_were_all_deleted_is_missed_without_a_loss(folder: FolderOnDisk) -> None:
    folder.promise({KEY: folder.rows[KEY]._replace(start=21, synced=21)})
    folder.write("log-start-offset-checkpoint", format_offsets({KEY: 21}))
    remove_folder(folder, "orders-0")
    report = verify(folder)
    assert [finding.consequence for finding in report.damage] == ["nothing is lost by that"]
    after, _ = repair(folder, report, Choices())
    assert damage(after) == []
    assert folder.end_of("orders") == 21


def test_what_was_never_written_to_misses_nothing(folder: FolderOnDisk) -> None:
    remove_folder(folder, "orders-0")
    folder.promise({KEY: LogRow(ORDERS, 0, -1, 0, 0)})
    assert verify(folder).is_sound


def test_a_log_of_another_topic_of_that_name_is_not_missed(folder: FolderOnDisk) -> None:
    remove_folder(folder, "orders-0")
    folder.promise({KEY: folder.rows[KEY]._replace(topic_id=b"x" * 16)})
    assert verify(folder).is_sound


@pytest.mark.parametrize("stopped", [True, False])
def test_a_log_that_ends_before_its_promised_end(stopped: bool, folder: FolderOnDisk) -> None:
    folder.stop()
    if not stopped:
        folder.fs.remove(f"{DATA}/clean-shutdown")
    del folder.content(THIRD)[len(plain(15)) :]
    report = verify(folder)
    (finding,) = report.damage
    assert finding.problem == "it ends at offset 18, and was promised to end at 21 or later"
    assert "offsets 18 to 20 cannot be read" in finding.consequence
    after, _ = repair(folder, report)
    assert damage(after) == []
    assert folder.start() == RECORDS - 3
    assert folder.end_of("orders") == 21


@pytest.mark.parametrize(("synced", "lost"), [(15, "from offset 15 on"), (21, "offsets 15 to 20")])
def test_the_newest_segment_is_missing(synced: int, lost: str, folder: FolderOnDisk) -> None:
    folder.promise({KEY: folder.rows[KEY]._replace(synced=synced)})
    folder.fs.remove(f"{DATA}/{THIRD}")
    report = verify(folder)
    (finding,) = report.damage
    assert finding.path == THIRD
    assert "newest segment" in finding.problem
    assert lost in finding.consequence
    after, _ = repair(folder, report)
    assert damage(after) == []
    assert folder.start() == RECORDS - 6
    assert folder.end_of("orders") == synced


def test_a_newest_segment_that_a_power_loss_may_have_taken_is_not_missed(folder: FolderOnDisk) -> None:
    """The segment's line in the manifest may become durable before its name, before any answer."""
    folder.promise(boot_id="an earlier start")
    folder.fs.remove(f"{DATA}/{THIRD}")
    assert verify(folder).is_sound


def test_every_segment_is_missing(folder: FolderOnDisk) -> None:
    for each in folder.fs.list_dir(f"{DATA}/orders-0"):
        if each.endswith(LOG_SUFFIX):
            folder.fs.remove(f"{DATA}/orders-0/{each}")
    report = verify(folder)
    (finding,) = report.damage
    assert "offsets 0 to 14 are lost" in finding.consequence
    after, _ = repair(folder, report)
    assert damage(after) == []
    assert folder.end_of("orders") == 15


def test_damage_in_what_was_not_synced_is_cut_after_a_power_loss(folder: FolderOnDisk) -> None:
    folder.content(THIRD)[100] ^= 1
    assert [finding.level for finding in verify(folder).findings] == [Level.DAMAGE], "the machine has run on"
    folder.promise(boot_id="an earlier start")
    (finding,) = verify(folder).findings
    assert finding.level is Level.NOTE
    assert "a start cuts the log at offset 15" in finding.consequence
    folder.promise({KEY: folder.rows[KEY]._replace(synced=18)}, boot_id="an earlier start")
    assert [finding.level for finding in verify(folder).findings] == [Level.DAMAGE], "it was synced"


@pytest.mark.parametrize("how", ["missing", "damaged"])
def test_log_starts_come_from_the_manifest(how: str, folder: FolderOnDisk) -> None:
    folder.promise({KEY: folder.rows[KEY]._replace(start=9)})
    folder.fs.remove(f"{DATA}/orders-0/{file_name(0, LOG_SUFFIX)}")
    if how == "damaged":
        folder.write("log-start-offset-checkpoint", b"0\n7\n")
    report = verify(folder)
    assert [finding.path for finding in report.damage] == ["log-start-offset-checkpoint"]
    assert report.damage[0].consequence == "a start takes them from log-manifest; nothing is lost"
    after, _ = repair(folder, report, Choices())
    assert damage(after) == []
    assert bytes(folder.content("log-start-offset-checkpoint")) == format_offsets({KEY: 9})


def test_a_line_that_was_cut_off_is_a_note(folder: FolderOnDisk) -> None:
    del folder.content("log-manifest")[-5:]
    report = verify(folder)
    assert report.is_sound
    assert [finding.problem for finding in report.findings] == ["its end is cut off"]


def test_a_reserve_that_is_no_file_is_reported_and_a_missing_one_is_not(folder: FolderOnDisk) -> None:
    folder.write("reserve", bytes(10))
    assert verify(folder).findings == []
    folder.fs.remove(f"{DATA}/reserve")
    folder.fs.make_dirs(f"{DATA}/reserve")
    assert [finding.path for finding in verify(folder).damage] == ["reserve"]


@pytest.mark.parametrize("base", [0, 9])
def test_a_segment_that_the_cleaner_was_putting_in_its_place_is_not_missed(base: int, folder: FolderOnDisk) -> None:
    """The next start completes the rename."""
    path = f"{DATA}/orders-0/{file_name(base, LOG_SUFFIX)}"
    folder.fs.rename(path, f"{path}.swap")
    report = verify(folder)
    assert damage(report) == []
    assert any(finding.problem == "the cleaner was interrupted" for finding in report.findings)
    assert folder.start() == RECORDS


def test_half_a_snapshot_is_a_note(folder: FolderOnDisk) -> None:
    folder.write("log-manifest.new", snapshot("", {}))
    (finding,) = verify(folder).findings
    assert (finding.level, finding.problem) == (Level.NOTE, "half written")


@pytest.mark.parametrize("model", [CrashModel.PROCESS_KILL, CrashModel.POWER_LOSS])
@pytest.mark.parametrize("seed", range(12))
def test_nothing_that_a_crash_leaves_is_given_up(seed: int, model: CrashModel) -> None:
    """A crash leaves rolled and deleted segments and torn writes, all of which stay.

    A power loss may damage files that are rebuilt: indexes, snapshots, checkpoints.
    """
    world = LogWorld(LogSettings(segment_bytes=400), seed=seed)
    rng = Random(seed)
    for _ in range(3):
        for step in range(rng.randrange(2, 30)):
            world.produce(b"%d" % step * rng.randrange(1, 60))
            if rng.random() < 0.2:
                world.logs.truncate_prefixes({world.log: rng.randrange(world.log.high_watermark + 1)})
            if rng.random() < 0.3:
                world.clock.advance(rng.randrange(2000))
        for partition in (1, 2):
            world.logs.get(TOPIC, partition).append(
                batch_of(b"x"), origin=Origin.CLIENT, now_wall_ms=world.clock.wall_ms()
            )
        world.tick()
        world.crash(model)
        reported = verify_world(world).damage
        assert [
            each.text() for each in reported if each.option or each.path in ("log-manifest", "clean-shutdown")
        ] == []
        world.start()


def verify_world(world: LogWorld) -> Report:
    database, journal = MemoryMetaDb(), JournalFile(world.fs, DATA)
    record = MemoryRecord(database)
    world.fs.write_atomic(f"{DATA}/shareq.data", format_marker(Marker(CLUSTER, used=True)))
    metadata = open_records(record, journal, look_at_records(record, journal))
    if not database.load().topics:
        metadata.commit([PutMeta(CLUSTER_ID, CLUSTER), PutTopic(TopicRow(TOPIC, TOPIC_ID, 3, False))])
    metadata.close()
    report = Report()
    verify_folder(world.fs, DATA, record, report)
    return report
