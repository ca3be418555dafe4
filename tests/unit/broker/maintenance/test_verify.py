"""`shareq verify` on a folder in memory: its findings, and that it never fails itself."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shareq.broker.log.segments.segment import LOG_SUFFIX, file_name
from shareq.broker.maintenance.repair.apply import ALL as ALL_FOLDERS
from shareq.broker.maintenance.repair.apply import Choices, Repair
from shareq.broker.maintenance.repair.coordinator_topics import coordinator_topic
from shareq.broker.maintenance.repair.copies import Copies
from shareq.broker.maintenance.verify.findings import HealHeader, Level, LoseBatches, MissingOffsets, Report
from shareq.broker.maintenance.verify.folder import verify_folder
from shareq.broker.metadata.changes import ResourceName
from shareq.coordinator.routing import group_partition_for
from shareq.protocol.names import SHARE_GROUP_STATE
from shareq.protocol.records.batch import RecordData, build_batch
from tests.support.worlds.folder_on_disk import (
    CLUSTER,
    DATA,
    ORDERS,
    PAYMENTS,
    STATE,
    FolderOnDisk,
    forgotten,
    key_of_state,
    plain,
)

RECORDS = 7 * 3 + 3 + 4 + 3  # without the aborted record; markers are read, too
ALL = Choices(skip_damage=True, cut_tails=True, trust="meta.db")
FIRST, SECOND, THIRD = (f"orders-0/{file_name(base, LOG_SUFFIX)}" for base in (0, 9, 15))


def verify(folder: FolderOnDisk) -> Report:
    report = Report()
    verify_folder(folder.fs, DATA, folder.record(), report)
    return report


def repair(folder: FolderOnDisk, report: Report, choices: Choices = ALL) -> tuple[Report, list[str]]:
    copies = Copies(folder.fs, DATA, "repair-20260101T000000Z")
    work = Repair(folder.fs, DATA, choices, copies, folder.record, lambda: b"n" * 16)
    for _ in range(4):
        if not work.apply(report):
            break
        report = verify(folder)
    return report, work.done


def damage(report: Report) -> list[str]:
    return [finding.text() for finding in report.damage]


def test_a_sound_folder_has_no_findings(folder: FolderOnDisk) -> None:
    steps = folder.fs.steps
    report = verify(folder)
    assert [finding.text() for finding in report.findings] == []
    assert (report.logs, report.batches) == (3, 7 + 6 + 4)
    assert folder.fs.steps == steps, "nothing is written"
    assert folder.fs.open_files == 0
    assert folder.start() == RECORDS


def test_a_flipped_bit_in_records_costs_their_batch_alone(folder: FolderOnDisk) -> None:
    folder.content(FIRST)[len(plain(0)) + 100] ^= 1
    (finding,) = verify(folder).damage
    assert finding.remedy == LoseBatches(FIRST, len(plain(0)), 2 * len(plain(0)), 3, 6)
    assert finding.position == len(plain(0))
    assert finding.consequence.startswith("offsets 3 to 5 cannot be read; clients get CORRUPT_MESSAGE")


@pytest.mark.parametrize("position", [0, 3, 7, 8, 11, 16])
def test_what_no_crc_covers_is_healed_when_it_is_certain(position: int, folder: FolderOnDisk) -> None:
    """BaseOffset, Length or Magic are restored from the batches on both sides."""
    before = bytes(folder.content(FIRST))
    folder.content(FIRST)[len(plain(0)) + position] ^= 0x40
    report = verify(folder)
    assert [type(finding.remedy) for finding in report.damage] == [HealHeader]
    after, done = repair(folder, report, Choices())
    assert damage(after) == []
    assert bytes(folder.content(FIRST)) == before
    assert any("header healed, nothing lost" in line for line in done)


def test_a_torn_write_at_the_end_is_a_note(folder: FolderOnDisk) -> None:
    del folder.content(THIRD)[-20:]
    report = verify(folder)
    assert report.is_sound
    (note,) = report.findings
    assert note.level is Level.NOTE
    assert "a write that was cut off" in note.problem
    assert note.consequence == f"a start removes the last {len(plain(18)) - 20} bytes; the log ends at offset 18"


def test_a_missing_segment_is_a_hole_that_repair_fills(folder: FolderOnDisk) -> None:
    for suffix in (".log", ".index", ".timeindex"):
        folder.fs.remove(f"{DATA}/{SECOND.removesuffix('.log')}{suffix}")
    report = verify(folder)
    (finding,) = report.damage
    assert isinstance(finding.remedy, LoseBatches | MissingOffsets)
    assert "offsets 9 to 14 cannot be read" in finding.consequence
    after, done = repair(folder, report)
    assert damage(after) == []
    assert any("lost: offsets 9 to 14" in line for line in done)


def test_nothing_is_given_up_unasked(folder: FolderOnDisk) -> None:
    folder.content(FIRST)[len(plain(0)) + 100] ^= 1
    before = bytes(folder.content(FIRST))
    after, done = repair(folder, verify(folder), Choices())
    assert len(after.damage) == 1
    assert done == []
    assert bytes(folder.content(FIRST)) == before


def test_what_is_changed_is_copied_first(folder: FolderOnDisk) -> None:
    folder.content(FIRST)[len(plain(0)) + 100] ^= 1
    damaged = bytes(folder.content(FIRST))
    repair(folder, verify(folder))
    assert bytes(folder.content(f"repair-20260101T000000Z/{FIRST}")) == damaged


def test_records_of_a_coordinator_that_cannot_be_read_are_noted_by_offset(folder: FolderOnDisk) -> None:
    bad = build_batch([RecordData(b"\0\0zz", b"?")], timestamp_ms=1, base_offset=4, leader_epoch=0)
    folder.content(f"__share_group_state-0/{file_name(2, LOG_SUFFIX)}").extend(bad)
    report = verify(folder)
    assert report.is_sound, "it is skipped, and was never of use"
    assert "the record at offset 4 cannot be read" in report.findings[0].problem


def test_an_unknown_folder_is_set_aside_or_adopted_only_by_name() -> None:
    for choices, line in (
        (Choices(set_aside=frozenset({"lost-0"})), "set aside as lost-0."),
        (Choices(adopt=frozenset({"lost-0"})), "adopted as partition 0 of topic lost"),
    ):
        folder = FolderOnDisk()
        folder.log("lost-0", b"l" * 16, [[plain(0)]])
        report = verify(folder)
        assert [finding.path for finding in report.damage] == ["lost-0"]
        unchanged, done = repair(folder, report, Choices())
        assert (len(unchanged.damage), done) == (1, [])
        after, done = repair(folder, report, choices)
        assert damage(after) == []
        assert any(line in each for each in done)


def test_all_folders_are_adopted_with_the_ids_in_them_when_metadata_is_lost(folder: FolderOnDisk) -> None:
    folder.db.clear()
    folder.content("metadata.journal")[:] = bytes(len(folder.content("metadata.journal")))
    report = verify(folder)
    assert {finding.option for finding in report.damage if finding.path == "metadata.journal"} == {"--adopt all"}
    assert damage(repair(folder, report, Choices())[0]) == damage(report)
    after, done = repair(folder, report, Choices(adopt=frozenset({ALL_FOLDERS})))
    assert damage(after) == []
    state = folder.db.load()
    assert {name: row.topic_id for name, row in state.topics.items()} == {
        "orders": ORDERS,
        "payments": PAYMENTS,
        SHARE_GROUP_STATE: STATE,
    }
    assert state.configs[ResourceName("topic", "orders")]["retention.ms"] == "-1"
    assert state.configs[ResourceName("topic", SHARE_GROUP_STATE)]["cleanup.policy"] == "compact"
    assert state.meta["cluster.id"] == CLUSTER
    assert any("lost: all properties, ACLs and users" in line for line in done)
    assert folder.start() == RECORDS


def test_an_adopted_coordinators_topic_has_the_partitions_by_which_its_records_are_found() -> None:
    """By another number the coordinator would look for a share partition's state in a wrong partition."""
    for partitions in (1, 3, 7):
        folder = FolderOnDisk()
        folder.fs.remove(f"{DATA}/{LAST_STATE}")  # its records are in the only partition of one
        homes = [group_partition_for(key_of_state(at).text(), partitions) for at in range(40)]
        for partition in set(homes):
            kept = [forgotten(at, at_offset) for at_offset, at in enumerate(_in(homes, partition))]
            folder.log(f"{SHARE_GROUP_STATE}-{partition}", STATE, [kept])
        names = sorted(set(homes))
        assert coordinator_topic(folder.fs, DATA, SHARE_GROUP_STATE, names).partitions == partitions


def _in(homes: list[int], partition: int) -> list[int]:
    return [at for at, home in enumerate(homes) if home == partition]


@pytest.mark.parametrize("odd", ["of another topic", "of another topic's name"])
def test_a_folder_that_cannot_be_adopted_is_set_aside(odd: str, folder: FolderOnDisk) -> None:
    if odd == "of another topic":
        folder.log("lost-0", ORDERS, [[plain(0)]])
        path = "lost-0"
    else:
        folder.log("orders-1", b"l" * 16, [[plain(0)]])
        path = "orders-1"
    report = verify(folder)
    assert [(finding.path, finding.option) for finding in report.damage] == [(path, f"--set-aside {path}")]
    everything = Choices(adopt=frozenset({ALL_FOLDERS}), set_aside=frozenset({ALL_FOLDERS}))
    assert damage(repair(folder, report, Choices(adopt=frozenset({ALL_FOLDERS})))[0]) == damage(report)
    after, done = repair(folder, report, everything)
    assert damage(after) == []
    assert any("its records are in no topic any more" in line for line in done)


def test_what_is_not_synced_is_a_note_after_a_power_loss_and_damage_else() -> None:
    for boot_id, level in ((None, Level.DAMAGE), ("another", Level.NOTE)):
        folder = FolderOnDisk()
        folder.promise(boot_id=boot_id)
        for path in (f"orders-0/{file_name(0, '.index')}", f"orders-0/{file_name(0, '.checksums')}"):
            folder.content(path)[:] = bytes(len(folder.content(path)))
        for name in ("recovery-point-offset-checkpoint", "log-start-offset-checkpoint"):
            folder.write(name, bytes(20))
        report = verify(folder)
        assert len(report.findings) == 4
        assert {finding.level for finding in report.findings} == {level}
        assert folder.start() == RECORDS


def test_a_lost_database_is_rebuilt(folder: FolderOnDisk) -> None:
    folder.db.clear()
    report = verify(folder)
    assert [finding.path for finding in report.damage] == ["meta.db"]
    after, _ = repair(folder, report, Choices())
    assert damage(after) == []
    assert sorted(folder.db.load().topics) == ["__share_group_state", "orders", "payments"]


INDEXES = (".index", ".timeindex", ".txnindex", ".checksums")
SMALL = ("shareq.data", "metadata.journal", "partition.metadata", "log-manifest", "clean-shutdown")
CHECKED = (".log", *INDEXES, ".snapshot", *SMALL)


def flips(folder: FolderOnDisk, suffixes: Iterable[str]) -> list[tuple[str, int]]:
    return [
        (path, bit)
        for path in folder.paths()
        if path.endswith(tuple(suffixes))
        for bit in range(8 * len(folder.content(path)))
        if shows(folder, path, bit)
    ]


LAST_STATE = f"__share_group_state-0/{file_name(2, LOG_SUFFIX)}"


def shows(folder: FolderOnDisk, path: str, bit: int) -> bool:
    """Return True unless the flip is undetectable: the last batch of a log with gaps may begin at any later offset."""
    return path != LAST_STATE or not 0 <= bit // 8 - len(folder.content(path)) // 2 < 8


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_each_flipped_bit_is_found_and_repaired(data: st.DataObject) -> None:
    folder = FolderOnDisk()
    if data.draw(st.booleans()):
        folder.stop()
    path, bit = data.draw(st.sampled_from(flips(folder, CHECKED)))
    folder.content(path)[bit // 8] ^= 1 << bit % 8
    report = verify(folder)
    assert report.findings, f"{path}: bit {bit} was not found"
    after, _ = repair(folder, report)
    assert damage(after) == []
    assert folder.start() >= RECORDS - 3, "a bit costs one batch at most"


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_whatever_is_damaged_verify_goes_on_and_repair_ends_clean(data: st.DataObject) -> None:
    """Up to three files are changed, cut, zeroed, removed or replaced."""
    folder = FolderOnDisk()
    if data.draw(st.booleans()):
        folder.stop()
    for path in data.draw(st.lists(st.sampled_from(folder.paths()), min_size=1, max_size=3, unique=True)):
        content = folder.content(path)
        match data.draw(st.sampled_from(["change", "cut", "zero", "remove", "replace"])):
            case "remove":
                folder.fs.remove(f"{DATA}/{path}")
            case "cut":
                del content[data.draw(st.integers(0, len(content))) :]
            case "zero":
                start = data.draw(st.integers(0, len(content)))
                content[start:] = bytes(len(content) - start)
            case "replace":
                content[:] = folder.content(data.draw(st.sampled_from(folder.paths())))
            case _ if content:
                for _ in range(data.draw(st.integers(1, 9))):
                    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    report = verify(folder)
    choices = Choices(
        skip_damage=True,
        cut_tails=True,
        trust="meta.db",
        set_aside=frozenset(finding.path for finding in report.damage),
    )
    after, _ = repair(folder, report, choices)
    assert damage(after) == []
    folder.start()
