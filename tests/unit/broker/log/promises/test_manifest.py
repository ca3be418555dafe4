"""The manifest's lines, each of which is checked on its own."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from devtools.in_memory.mem_fs import CrashModel, MemFs
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.log.promises.manifest import (
    LogRow,
    Manifest,
    boot_line,
    chain_of,
    gone_line,
    parse_manifest,
    row_line,
    snapshot,
    synced_line,
)
from shareq.broker.log.promises.manifest_file import MANIFEST_FILE, ManifestFile
from shareq.protocol.records.checksum import crc32c
from tests.support.worlds.log_world import DATA, TOPIC, LogWorld

ID = bytes(range(16))
ROWS = {("orders", 0): LogRow(ID, 5, 40, 55, 7), ("a.b_c-d", 12): LogRow(ID, 0, -1, 0, 0)}


def test_a_snapshot_and_what_came_after_it() -> None:
    newer = LogRow(ID, 6, 40, 60, 7)
    data = snapshot("one", ROWS) + boot_line("two") + row_line(("orders", 0), newer) + gone_line(("a.b_c-d", 12))
    assert parse_manifest(snapshot("one", ROWS)) == Manifest("one", ROWS, True)
    assert parse_manifest(data) == Manifest("two", {("orders", 0): newer}, True)
    assert parse_manifest(snapshot("", {})) == Manifest("", {}, True)


def test_a_last_line_that_was_cut_off_is_no_damage() -> None:
    data = snapshot("one", ROWS)
    late = row_line(("orders", 0), LogRow(ID, 6, 40, 60, 7))
    for size in range(len(late)):
        assert parse_manifest(data + late[:size]) == Manifest("one", ROWS, True, cut_off=size > 0)


def test_no_flipped_bit_makes_anything_up() -> None:
    data = snapshot("one", ROWS) + row_line(("orders", 0), LogRow(ID, 6, 40, 60, 7))
    known = set(ROWS.values()) | {LogRow(ID, 6, 40, 60, 7)}
    rng = Random(1)
    for _ in range(2000):
        damaged = bytearray(data)
        damaged[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        found = parse_manifest(bytes(damaged))
        if found is not None:
            assert set(found.rows.values()) <= known
            assert found.boot_id in ("one", "")


def test_what_is_no_manifest() -> None:
    for data in (b"", b"\0" * 100, b"nonsense\n", snapshot("one", ROWS)[60:]):
        assert parse_manifest(data) is None


def test_lines_that_a_power_loss_tears_before_they_are_synced_are_not_missing() -> None:
    """A log whose first line is torn has nothing acknowledged."""
    late = row_line(("late", 0), LogRow(ID, 0, 0, 9, 7))
    written = [snapshot("one", ROWS), late, row_line(("orders", 0), LogRow(ID, 6, 40, 60, 7)), gone_line(("other", 1))]
    data = b"".join(written)
    synced = data + synced_line(len(data))
    rows = {("orders", 0): LogRow(ID, 6, 40, 60, 7), **{key: ROWS[key] for key in ROWS if key[0] != "orders"}}
    position = len(written[0])
    for at in range(position, position + len(late) - 1):  # not its line feed: then the next line is missing, too
        torn, rotten = bytearray(data), bytearray(synced)
        torn[at] ^= 1
        rotten[at] ^= 1
        assert parse_manifest(bytes(torn), "two") == Manifest("one", rows, True, cut_off=True)
        assert parse_manifest(bytes(torn), "one") == Manifest("one", rows, False), "the machine has run since"
        assert parse_manifest(bytes(torn), "") == Manifest("one", rows, False), "nobody knows"
        assert parse_manifest(bytes(rotten), "two") == Manifest("one", rows, False), "it was synced"


@pytest.mark.parametrize("kept", range(5))
def test_an_end_of_zeros_is_not_missing_after_a_power_loss(kept: int) -> None:
    data = snapshot("one", ROWS) + row_line(("late", 0), LogRow(ID, 0, 0, 9, 7))[:kept] + b"\0" * 30
    assert parse_manifest(data, "two") == Manifest("one", ROWS, True, cut_off=True)


def test_without_a_word_about_what_was_synced_each_missing_line_counts() -> None:
    """A file of an earlier build has no line about syncs; such a line may also be damaged."""
    data = bytearray(snapshot("one", ROWS))
    end = data.index(b"synced")
    data[end + 8] ^= 1
    data[end - 20] ^= 1
    found = parse_manifest(bytes(data + gone_line(("other", 1))), "two")
    assert found is not None
    assert not found.is_whole


def test_the_file_says_how_much_of_it_is_on_stable_storage(world: LogWorld) -> None:
    world.produce(b"a")
    world.clock.advance(2_000)
    content = bytes(world.fs.content(f"{DATA}/{MANIFEST_FILE}"))
    rows = content.rindex(b"log ")
    damaged = bytearray(content)
    damaged[rows] ^= 1
    found = parse_manifest(bytes(damaged), "another start")
    assert found is not None
    assert not found.is_whole


def test_segments_are_known_again() -> None:
    assert chain_of([0, 4, 8]) == chain_of(iter([0, 4, 8])) != chain_of([0, 8])


@pytest.mark.parametrize("left", [1, 20])
def test_nothing_is_written_behind_a_line_that_was_cut_off(left: int, world: LogWorld) -> None:
    """Without a new line two lines would be lost, one of them in the middle of the file."""
    world.produce(b"a")
    world.restart(clean=False)
    world.fs.content(f"{DATA}/log-manifest").extend(b"0" * left)
    world.restart(clean=False)
    world.produce(b"b")
    found = parse_manifest(world.fs.read_bytes(f"{DATA}/log-manifest"))
    assert found is not None
    assert (found.is_whole, found.cut_off) == (True, False)


def test_a_failed_sync_is_made_up_for_though_a_later_one_waits_already() -> None:
    """The data is written again: the later sync would succeed without writing what the first one lost."""
    world = LogWorld(flush_every_message=True)
    world.fs.loses_pages = world.fs.drops_failed_syncs = True
    world.produce(b"a")
    held: list[Callable[[], None]] = []
    world.fs.held_syncs = held
    world.clock.advance(1_000)  # the manifest is being synced
    world.fs.held_syncs = None
    world.produce(b"b")  # its line waits for the next sync
    world.fs.fail = lambda kind, path: OSError("planned") if kind == "sync" and path.endswith(MANIFEST_FILE) else None
    held.pop()()
    world.fs.fail = None
    world.clock.advance(2_000)
    world.crash(CrashModel.POWER_LOSS)
    found = parse_manifest(bytes(world.fs.content(f"{DATA}/{MANIFEST_FILE}")))
    assert found is not None
    assert found.is_whole
    assert found.rows[TOPIC, 0].synced == 2


def test_what_came_while_a_snapshot_was_synced_is_synced_soon() -> None:
    """The line was durable in the old file, which the snapshot replaces."""
    clock = VirtualClock()
    fs = MemFs(clock.call_soon, Random(1))
    fs.make_dirs(DATA)
    fs.sync_dir(".")
    manifest = ManifestFile(fs, clock, DATA)
    manifest.begin(None, ROWS)
    held = fs.held_syncs = []
    end = 0
    while not held:  # until there is a snapshot under way
        end += 1
        manifest.note(("orders", 0), LogRow(ID, 5, 40, end, 7))
        manifest.write()
    late = LogRow(ID, 5, 40, end + 1, 7)
    manifest.note(("orders", 0), late)
    manifest.write()
    fs.held_syncs = None
    clock.advance(1_000)  # the old file, with that line, is synced
    held.pop()()
    clock.run_until_idle()
    fs.sync_dir(DATA)  # as the system may do at any time
    fs.crash(CrashModel.POWER_LOSS, Random(2))
    found = manifest.load()
    assert found is not None
    assert found.rows["orders", 0] == late


def test_a_last_line_that_is_none_is_an_end_that_was_cut_off_and_one_before_it_is_damage() -> None:
    data = snapshot("one", ROWS)
    assert parse_manifest(data + b"garbage\n") == Manifest("one", ROWS, True, cut_off=True)
    assert parse_manifest(data + b"garbage\nhalf") == Manifest("one", ROWS, False, cut_off=True)
    assert parse_manifest(data + b"garbage\n" + boot_line("one")) == Manifest("one", ROWS, False)


@pytest.mark.parametrize(("synced", "whole"), [(True, False), (False, True)])
def test_a_loss_of_power_excuses_just_what_was_not_synced(synced: bool, whole: bool) -> None:
    """Loss is tolerated exactly from the first byte that was not reported as synced."""
    rows = {("orders", number): LogRow(ID, 0, 0, 0, 0) for number in range(200)}
    data = snapshot("one", rows)
    first, second = (row_line(("orders", number), LogRow(ID, 1, 1, 1, 1)) for number in (0, 1))
    torn = bytes(len(first) - 1) + b"\n"
    lines = [torn, second] if synced else [first, torn]
    data += b"".join([*lines, synced_line(len(data) + len(first)), boot_line("one")])
    found = parse_manifest(data, "two")
    assert found is not None
    assert (found.is_whole, found.cut_off) == (whole, whole)
    same_boot = parse_manifest(data, "one")
    assert same_boot is not None
    assert not same_boot.is_whole


def test_a_list_of_segments_is_known_by_the_crc_of_their_base_offsets_in_eight_bytes() -> None:
    assert chain_of([0, 10]) == crc32c(bytes(15) + b"\n")
    assert chain_of([]) == crc32c(b"")
