"""The verdicts of a soak: what counts as flat. The whole soak, with a broker: `make soak`."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from devtools.clients.requests import batch
from shareq.protocol.records.batch import batch_headers, decode_records
from tests.campaign.soak import verdicts
from tests.campaign.soak.__main__ import NOTICED_BY
from tests.campaign.soak.planted import DiskWait, Fault, Levers, swapped
from tests.campaign.soak.report import sparkline
from tests.campaign.soak.samples import Sample, kinds_of, read_metrics
from tests.campaign.soak.verdicts import Turn
from tests.support.waiting import until

FLAT = [
    Sample(float(second), 60 + (second * 7 % 5) / 10, 50 + second * 3 % 7, 5, slow_stalls=0) for second in range(1800)
]

MOST_LOGS = 180


def test_a_flat_process_is_sound() -> None:
    found = [verdicts.memory(FLAT), verdicts.descriptors(FLAT, MOST_LOGS), verdicts.stalls(FLAT, [])]
    assert [one.sound for one in found] == [True] * 3, found


def test_slope_is_that_of_most_points_whatever_a_few_of_them_do() -> None:
    points = [(second, second * 2 / 60 + (500 if second % 20 == 0 else 0)) for second in range(300)]
    assert verdicts.slope_a_minute(points) == pytest.approx(2, abs=0.05)
    assert verdicts.slope_a_minute(points[:1]) == 0


def test_a_leak_of_two_megabytes_a_minute_is_noticed() -> None:
    leaking = [replace(one, rss_mb=one.rss_mb + one.at_s * 2 / 60) for one in FLAT]
    assert not verdicts.memory(leaking).sound


def test_memory_that_grows_at_the_start_alone_is_sound() -> None:
    warm = [replace(one, rss_mb=one.rss_mb + min(one.at_s, 500) / 10) for one in FLAT]
    assert verdicts.memory(warm).sound


def test_a_short_run_may_take_some_memory_for_good_and_not_much() -> None:
    for jump_mb, sound in ((20, True), (40, False)):
        short = [replace(one, rss_mb=one.rss_mb + jump_mb * (one.at_s > 60)) for one in FLAT[:90]]
        assert verdicts.memory(short).sound is sound


def test_memory_that_jumps_late_is_noticed() -> None:
    late = [replace(one, rss_mb=one.rss_mb + (10 if one.at_s > 1200 else 0)) for one in FLAT]
    assert not verdicts.memory(late).sound


def test_descriptors_that_stay_open_are_noticed_and_those_of_a_flood_are_not() -> None:
    flood = [replace(one, descriptors=one.descriptors + 300 * (one.at_s % 60 < 5)) for one in FLAT]
    assert verdicts.descriptors(flood, MOST_LOGS).sound
    leaking = [replace(one, descriptors=one.descriptors + int(one.at_s / 30)) for one in flood]
    assert not verdicts.descriptors(leaking, MOST_LOGS).sound


@pytest.mark.parametrize(
    ("kind", "most_logs", "sound"),
    [("logs", 53, True), ("logs", 52, False), ("logs again", 59, False), ("removed", 59, False)],
)
def test_logs_are_open_once_each_and_no_more_than_the_pool_has(kind: str, most_logs: int, sound: bool) -> None:
    grown = [int(one.at_s / 30) for one in FLAT]
    growing = [
        replace(one, descriptors=one.descriptors + n, kinds={kind: n}) for one, n in zip(FLAT, grown, strict=True)
    ]
    assert verdicts.descriptors(growing, most_logs).sound is sound


def test_descriptors_are_shown_by_kind() -> None:
    links = [
        "socket:[7]",
        "/d/t-0/0.log",
        "/d/t-0/0.log",
        "/d/t-0/0.index",
        "/d/t-0/1.log (deleted)",
        "anon_inode:[eventpoll]",
    ]
    kinds = kinds_of(links)
    assert kinds == {"sockets": 1, "logs": 2, "logs again": 1, "removed": 1, "others": 1}
    verdict = verdicts.descriptors([replace(one, kinds=kinds) for one in FLAT], MOST_LOGS)
    of_kinds = "48 (1 logs again, 1 others, 1 removed, 1 sockets)"
    assert verdict.found == f"besides logs at least {of_kinds}, then {of_kinds}; most 56; logs: most 2 of 180"


@pytest.mark.parametrize(
    ("turns", "waited_s", "disk_s", "sound"),
    [
        ([], 0.0, 0.0, False),
        ([], 0.3, 0.0, True),
        ([], 0.1, 0.0, False),
        ([], 0.0, 0.3, True),
        ([], 0.1, 0.15, True),
        ([], 0.0, 0.1, False),
        ([Turn("broker stands still", 95, 99)], 0.0, 0.0, True),
        ([Turn("broker stands still", 80, 90)], 0.0, 0.0, False),
        ([Turn("broker stands still", 104, 109)], 0.0, 0.0, False),
    ],
    ids=[
        "ours",
        "no processor",
        "a little without",
        "the disk",
        "the disk, and no processor",
        "a little of the disk",
        "a stop",
        "an earlier stop",
        "a later stop",
    ],
)
def test_a_stall_is_noticed_unless_something_else_explains_it(
    turns: list[Turn], waited_s: float, disk_s: float, sound: bool
) -> None:
    held = [
        replace(one, slow_stalls=1, stalled_s=0.4, waited_s=waited_s, disk_s=disk_s) if one.at_s >= 100 else one
        for one in FLAT
    ]
    assert verdicts.stalls(held, turns).sound is sound


def test_looks_that_had_no_answer_hide_no_stall() -> None:
    silent = [
        replace(
            one, slow_stalls=None if 90 < one.at_s < 110 else int(one.at_s >= 100), stalled_s=float(one.at_s >= 100)
        )
        for one in FLAT
    ]
    assert not verdicts.stalls(silent, []).sound


def test_stalls_need_an_answered_look() -> None:
    assert not verdicts.stalls([replace(one, slow_stalls=None) for one in FLAT], []).sound


def test_a_log_with_a_traceback_or_an_error_is_noticed() -> None:
    assert verdicts.log("10:00:00 INFO all is well\n10:00:01 WARNING a client left\n").sound
    assert not verdicts.log("10:00:00 INFO x\nTraceback (most recent call last):\n").sound
    assert not verdicts.log("10:00:00 ERROR x\n").sound


def test_a_history_needs_operations_no_anomaly_and_no_failure() -> None:
    assert verdicts.history(10, [], []).sound
    assert not verdicts.history(0, [], []).sound
    assert not verdicts.history(10, ["lost-write: x"], []).sound
    assert not verdicts.history(10, [], ["Traceback"]).sound


def test_a_stop_is_by_itself_with_code_zero_and_in_time() -> None:
    assert verdicts.stop(0, 1, 20).sound
    assert not verdicts.stop(-9, 1, 20).sound
    assert not verdicts.stop(0, 21, 20).sound
    assert not verdicts.verify(1, "damaged").sound


def test_metrics_have_what_is_sampled() -> None:
    text = """# HELP shareq_event_loop_stall_seconds How late
shareq_event_loop_stall_seconds_bucket{le="0.03"} 7.0
shareq_event_loop_stall_seconds_bucket{le="0.1"} 8.0
shareq_event_loop_stall_seconds_bucket{le="+Inf"} 11.0
shareq_event_loop_stall_seconds_count 11.0
shareq_event_loop_stall_seconds_sum 2.5
shareq_share_group_members{group="a"} 2.0
shareq_share_group_members{group="b"} 1.0
"""
    assert read_metrics(text) == (3, 2.5, {"share members": 3.0})
    assert read_metrics("") == (None, 0.0, {})


def test_sparkline_has_a_bar_for_each_part_of_the_time() -> None:
    assert sparkline([(float(at), at) for at in range(8)], 8) == "▁▂▃▄▅▆▇█"
    assert sparkline([(0.0, 1), (9.0, 1)], 3) == "▁ ▁"
    assert sparkline([]) == ""


def test_levers_are_seen_by_all_who_have_the_file_open(tmp_path: Path) -> None:
    path = tmp_path / "levers"
    ours, theirs = Levers(path), Levers(path)
    ours.set(clock_ms=-5)
    ours.set(sync_ms=7)
    assert (theirs.clock_ms, theirs.sync_ms) == (-5, 7)


class ScriptedWait(DiskWait):
    """A disk's waits by a clock of the test's own. `pass_by` is a call of a given duration, of which a part is work."""

    def __init__(self, levers: Levers) -> None:
        self.now_ns = self.worked_ns = 0
        super().__init__(levers, lambda: self.now_ns)

    def busy_ns(self) -> int:
        return self.worked_ns

    def pass_by(self, took_ns: int, worked_ns: int) -> None:
        self.now_ns += took_ns
        self.worked_ns += worked_ns


def test_what_a_call_waits_for_is_not_what_it_works(tmp_path: Path) -> None:
    levers = Levers(tmp_path / "levers")
    disk = ScriptedWait(levers)
    call = disk.measured(disk.pass_by)
    call(10_000, 10_000)
    assert levers.disk_ns == 0
    call(50_000, 2_000)
    assert levers.disk_ns == 48_000
    disk.measured(call)(7_000, 0)
    assert levers.disk_ns == 55_000, "a call within a call counts once"
    other = threading.Thread(target=call, args=(9_000, 0))
    other.start()
    other.join()
    assert levers.disk_ns == 55_000, "another thread's waits are its own"
    call(1_000, 3_000)
    assert levers.disk_ns == 55_000, "clocks that disagree take nothing away"


def test_the_kernel_counts_what_a_thread_works_and_a_wait_is_seen(tmp_path: Path) -> None:
    levers = Levers(tmp_path / "levers")
    disk = DiskWait(levers)
    before_ns = disk.busy_ns()

    def worked() -> bool:
        return sum(range(100_000)) > 0 and disk.busy_ns() > before_ns

    until(worked)
    read_end, write_end = os.pipe()

    def waited() -> bool:
        threading.Timer(0.01, os.write, (write_end, b"x")).start()
        return disk.measured(os.read)(read_end, 1) == b"x" and levers.disk_ns > 0

    until(waited)
    os.close(read_end)
    os.close(write_end)


def test_swapped_batches_are_sound_and_have_other_values() -> None:
    data = swapped(batch(b"plain.7|..", b"other") + batch(b"plain.8"))
    values = [
        record.value for at, header in batch_headers(data) for record in decode_records(data[at : at + header.size])
    ]
    assert values == [b"ghost.7|..", b"other", b"ghost.8"]


def test_too_few_looks_are_not_sound() -> None:
    assert not verdicts.memory([]).sound
    assert not verdicts.descriptors(FLAT[:1], MOST_LOGS).sound


def test_a_machine_that_is_too_busy_says_nothing_about_stalls() -> None:
    starved = [replace(one, waited_s=one.at_s * 0.6) for one in FLAT]
    found = verdicts.stalls(starved, [])
    assert (found.sound, found.judged) == (False, False)
    assert verdicts.stalls([replace(one, waited_s=one.at_s * 0.4) for one in FLAT], []).sound


def test_each_fault_has_a_verdict() -> None:
    assert set(NOTICED_BY) == set(Fault)
    assert set(NOTICED_BY.values()) == {"memory", "descriptors", "stalls", "history"}
