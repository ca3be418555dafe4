"""Play in lockstep: what counts as a mismatch, what is justified, and that a planted difference is found."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import pytest

from tests.differential.answers import Answer, PartitionAnswer
from tests.differential.campaign import Campaign, Outcome
from tests.differential.compare import differences
from tests.differential.justified import JUSTIFIED, LOG_START_AT_PRODUCE, Situation, explained
from tests.differential.player import Plays
from tests.differential.report import BEGIN, END, Report, write_ignored, write_report
from tests.differential.runner import Attempt, Played, RestartGate, verdict
from tests.differential.steps import (
    BATCH_OPTIMIZED,
    Acknowledge,
    AckRange,
    DescribeOffsets,
    Fetch,
    Produce,
    ReadState,
    Setup,
    Step,
    setup_of,
)
from tests.differential.view import View

STEP = Fetch("fetch", 0, 1)
FOUND = differences(Answer(), Answer(1))


def attempt(ours: Answer, theirs: Answer, *, before: int = 0) -> Attempt:
    played = [Played(STEP, Answer(), Answer())] * before + [Played(STEP, ours, theirs)]
    return Attempt(1, played, differences(ours, theirs), Counter())


def test_agreeing_at_once_is_agreeing() -> None:
    assert verdict([attempt(Answer(), Answer())]) == "agreed"


def test_a_mismatch_is_one_that_apache_kafka_repeats() -> None:
    assert verdict([attempt(Answer(), Answer(1))] * 4) == "mismatch"


def test_apache_kafka_may_disagree_with_itself() -> None:
    assert verdict([attempt(Answer(), Answer(1)), attempt(Answer(), Answer(), before=3)]) == "agreed"


def test_shareq_may_not() -> None:
    assert verdict([attempt(Answer(1), Answer()), attempt(Answer(), Answer())]) == "ours wavers"


def test_differences_that_are_never_the_same_decide_nothing() -> None:
    assert verdict([attempt(Answer(), Answer(1)), attempt(Answer(), Answer(2))]) == "undecided"
    assert verdict([attempt(Answer(), Answer(1)), attempt(Answer(), Answer(1), before=1)]) == "undecided"


# -- justified differences


def view_of(begins: Literal["altered", "earliest", "latest"] = "altered") -> View:
    return View(replace(setup_of(0), begins=begins), log_end=[100, 100])


def explains(step: Step, ours: Answer, theirs: Answer, view: View | None = None) -> list[str]:
    """Return the names of the known differences that were found, if they explain everything."""
    hits, rest = explained(Situation(step, ours, theirs, view or view_of(), differences(ours, theirs)))
    return [] if rest else [hit.name for hit in hits]


def acquired(first: int, last: int, count: int = 1, *, partition: int = 0) -> Answer:
    return Answer(0, {partition: PartitionAnswer(acquired=dict.fromkeys(range(first, last + 1), count))})


def test_names_are_unique() -> None:
    assert len({known.name for known in JUSTIFIED}) == len(JUSTIFIED)


def test_an_unknown_topic_excuses_nothing_else() -> None:
    step = Fetch("unknown topic", 3, 0, (0,), unknown_topic=True)
    ours = Answer(0, {0: PartitionAnswer(100)})
    assert explains(step, ours, Answer(-1)) == ["unknown topic id in a share fetch"]
    assert explains(step, ours, Answer(42)) == []
    assert explains(step, acquired(0, 1), Answer(-1)) == []
    assert explains(replace(step, unknown_topic=False), ours, Answer(-1)) == []


def test_an_initial_start_offset_is_persisted_only_until_something_is_written() -> None:
    ours, theirs = Answer(0, {0: PartitionAnswer(start_offset=7)}), Answer(0, {0: PartitionAnswer(start_offset=-1)})
    view = view_of("latest")
    assert explains(ReadState("read state"), ours, theirs, view) == ["initial start offset is persisted"]
    assert explains(ReadState("read state"), ours, theirs) == []
    view.written.add(0)
    assert explains(ReadState("read state"), ours, theirs, view) == []


def test_records_may_be_skipped_only_after_a_reload() -> None:
    view = view_of("latest")
    assert explains(STEP, acquired(3, 9), acquired(6, 9), view) == []
    view.reread.add(0)
    assert explains(STEP, acquired(3, 9), acquired(6, 9), view) == ["initial start offset survives a reload"]
    assert explains(STEP, acquired(6, 9), acquired(3, 9), view) == []


def test_acknowledging_below_an_empty_window() -> None:
    step = Acknowledge("bad ack", 0, 1, ((0, (AckRange(0, 2, (1,)),)),))
    refused = Answer(0, {0: PartitionAnswer(ack_error=121)})
    assert explains(step, refused, Answer(-1)) == [
        "acknowledging from below the start offset, with nothing in flight there"
    ]
    assert explains(step, Answer(0, {0: PartitionAnswer(ack_error=42)}), Answer(-1)) == []
    assert explains(step, refused, Answer(0)) == []


def test_too_few_types_release_nothing() -> None:
    sound = replace(STEP, acks=((0, (AckRange(0, 2, (2, 2, 2)),)),))
    short = replace(STEP, acks=((0, (AckRange(0, 2, (2, 2)),)),))
    ended = PartitionAnswer(acquired={50: 1})
    ours = Answer(0, {0: PartitionAnswer(acquired={0: 2}), 1: ended})
    theirs = Answer(0, {0: PartitionAnswer(acquired={0: 2, 1: 2}), 1: ended})
    assert explains(sound, ours, theirs) == ["what a share fetch itself releases, when another partition ends it"]
    assert explains(short, ours, theirs) == []


def test_throttled_records_may_come_in_other_numbers_after_a_reload() -> None:
    view = view_of()
    assert explains(STEP, acquired(0, 9, 4), acquired(0, 8, 4), view) == []
    view.reloaded.add(0)
    name = ["how many throttled records come after a reload"]
    assert explains(STEP, acquired(0, 9, 4), acquired(0, 8, 4), view) == name
    assert explains(STEP, acquired(0, 8, 4), acquired(0, 9, 4), view) == name
    assert explains(STEP, acquired(0, 9, 2), acquired(0, 8, 2), view) == []
    assert explains(STEP, acquired(0, 9, 4), Answer(), view) == []


def test_deleted_records_of_the_batch_in_which_the_log_starts() -> None:
    view = view_of()
    assert explains(STEP, acquired(5, 9), acquired(3, 9), view) == []
    view.log_start[0] = 5
    assert explains(STEP, acquired(5, 9), acquired(3, 9), view) == [
        "deleted records of the batch in which the log starts"
    ]
    assert explains(STEP, acquired(6, 9), acquired(3, 9), view) == []
    assert explains(STEP, acquired(5, 9), acquired(3, 8), view) == []
    assert explains(STEP, acquired(3, 9), acquired(5, 9), view) == []


def test_a_log_start_that_passed_a_group_may_end_a_fetch_for_all_its_partitions() -> None:
    step, view = replace(STEP, partitions=(0, 1)), view_of()
    assert explains(step, acquired(0, 4, partition=1), Answer(), view) == []
    view.log_start[0] = 100
    name = "the first share fetch after the log start passed the group"
    assert explains(step, acquired(0, 4, partition=1), Answer(), view) == [name]
    assert explains(step, acquired(0, 4, partition=1), acquired(0, 3, partition=1), view) == []


def test_a_log_start_that_passed_a_group_may_end_a_fetch_before_the_other_partition_is_loaded() -> None:
    step, view = replace(STEP, partitions=(0, 1)), view_of()
    view.log_start[0] = 100
    both = Answer(0, {}, {(partition, "partition_index"): (partition,) for partition in range(2)})
    one = Answer(0, {}, {(0, "partition_index"): (0,)})
    assert explains(step, both, one, view) == ["the first share fetch after the log start passed the group"]
    assert explains(step, one, both, view) == []
    view.loaded.add(1)
    assert explains(step, both, one, view) == []


def test_beyond_the_end_may_be_refused_otherwise_after_records_were_deleted() -> None:
    step, view = Acknowledge("bad ack", 0, 1, ((0, (AckRange(100, 101, (1,)),)),)), view_of()
    ours, theirs = (Answer(0, {0: PartitionAnswer(ack_error=error)}) for error in (121, 42))
    assert explains(step, ours, theirs, view) == []
    view.log_start[0] = 100
    assert explains(step, ours, theirs, view) == ["acknowledging beyond the end, where the log start passed the group"]
    assert explains(step, theirs, ours, view) == []
    within = replace(step, acks=((0, (AckRange(99, 101, (1,)),)),))
    assert explains(within, ours, theirs, view) == []


def test_a_negative_batch_size_adds_the_offset_in_front() -> None:
    step = replace(STEP, batch_size=-1, mode=BATCH_OPTIMIZED)
    assert explains(step, acquired(5, 9), acquired(4, 9)) == ["negative BatchSize"]
    again = Answer(0, {0: PartitionAnswer(acquired=dict.fromkeys(range(5, 10), 1) | {4: 3})})
    assert explains(step, again, acquired(4, 9)) == ["negative BatchSize"]
    assert explains(step, acquired(5, 9), acquired(3, 9)) == []
    assert explains(step, acquired(5, 9), acquired(4, 9, 2)) == []
    assert explains(replace(step, batch_size=1), acquired(5, 9), acquired(4, 9)) == []


def test_a_shared_budget_may_go_to_either_partition_first() -> None:
    step = Fetch("fetch, shared budget", 0, 1, (0, 1), max_records=1)
    either = acquired(5, 9), acquired(0, 0, partition=1)
    assert explains(step, *either) == ["which partition a shared MaxRecords goes to first"]
    assert explains(replace(step, kind="fetch"), *either) == []
    assert explains(step, acquired(5, 9), acquired(5, 9, 2)) == []


def test_what_a_request_releases_may_come_with_records_of_the_other_partition() -> None:
    step = Fetch("fetch with acks", 0, 1, acks=((1, (AckRange(2, 4, (2, 2, 1)),)),))
    first = PartitionAnswer(acquired={7: 1})
    theirs = Answer(0, {0: first})
    name = ["what a share fetch itself releases, when another partition ends it"]
    assert explains(step, Answer(0, {0: first, 1: PartitionAnswer(acquired={2: 2, 3: 2})}), theirs) == name
    assert explains(step, Answer(0, {0: first, 1: PartitionAnswer(acquired={4: 2})}), theirs) == []
    assert explains(step, Answer(0, {1: PartitionAnswer(acquired={2: 2, 3: 2})}), Answer()) == []
    assert explains(replace(step, acks=()), Answer(0, {0: first, 1: PartitionAnswer(acquired={2: 2})}), theirs) == []


def stored(start: int, *batches: tuple[int, int, int, int]) -> Answer:
    path = "ReadShareGroupStateResponse.results.partitions.state_batches"
    return Answer(0, {0: PartitionAnswer(start_offset=start)}, {(0, path): (batches,)})


def test_the_start_offset_may_be_behind_the_dead_that_are_archived() -> None:
    step, view = ReadState("read state"), view_of()
    lower, higher = stored(1, (1, 5, 4, 2), (6, 6, 0, 1)), stored(4, (4, 5, 4, 2), (6, 6, 0, 1))
    assert explains(step, lower, higher, view) == []
    view.had_queue = True
    known = ["start offset that is persisted while the dead are archived"]
    assert explains(step, lower, higher, view) == explains(step, higher, lower, view) == known
    for other in (
        stored(4, (4, 5, 4, 1), (6, 6, 0, 1)),
        stored(4, (4, 5, 2, 2), (6, 6, 0, 1)),
        stored(4, (6, 6, 0, 1)),
        stored(7),
    ):
        assert explains(step, lower, other, view) == []
    assert explains(step, stored(1, (1, 3, 3, 2), (4, 4, 4, 1)), stored(4, (4, 4, 4, 1)), view) == []
    described = [
        Answer(0, {0: PartitionAnswer(start_offset=start, lag=lag)}) for start, lag in ((1, 3), (4, 3), (4, 2))
    ]
    assert explains(DescribeOffsets("describe offsets"), described[0], described[1], view) == known
    assert explains(DescribeOffsets("describe offsets"), described[0], described[2], view) == []


def test_a_lag_is_known_here_while_nothing_of_the_first_window_is_finished() -> None:
    def described(lag: int, start: int = -1) -> Answer:
        return Answer(0, {0: PartitionAnswer(start_offset=start, lag=lag)})

    step, view = DescribeOffsets("describe offsets"), view_of()
    view.log_end[0], view.log_start[0] = 12, 2
    known = ["lag behind a window of which nothing is finished"]
    assert explains(step, described(7), described(-1), view) == []  # nothing was acquired
    view.begun.add(0)
    assert explains(step, described(7), described(-1), view) == known
    assert explains(step, described(13), described(-1), view) == []
    assert explains(step, described(-1), described(7), view) == []
    assert explains(step, described(7), described(8), view) == []
    assert explains(step, described(7, 5), described(-1), view) == []
    view.written.add(0)
    assert explains(step, described(7), described(-1), view) == []


def test_what_follows_from_the_acquired_records_is_explained_with_them() -> None:
    name = "which partition a shared MaxRecords goes to first"
    step = Fetch("fetch, shared budget", 0, 1, (0, 1), max_records=1)
    path = "ShareFetchResponse.responses.partitions.records"
    ours = replace(acquired(5, 9), fields={(0, path): ((5, 9),)})
    theirs = acquired(0, 0, partition=1)
    assert explains(step, ours, replace(theirs, fields={(1, path): ((0, 0),)})) == [name]
    assert explains(step, ours, replace(theirs, fields={(1, path): ((0, 0),), (None, "top"): (1,)})) == []


def test_a_killed_broker_may_return_the_log_start_it_had() -> None:
    view = View(replace(setup_of(0), begins="altered", kill=True, restart_at=20), log_end=[100, 100])
    view.log_start[0] = 7

    def reported(log_start: int) -> Answer:
        return Answer(0, {}, {(0, LOG_START_AT_PRODUCE): (log_start,)})

    step = Produce("produce", 0, (1,))
    assert explains(step, reported(7), reported(0), view) == ["deleted records after SIGKILL"]
    assert explains(step, reported(0), reported(7), view) == []
    assert explains(step, reported(7), reported(0)) == []


# -- restarts


async def test_sequences_restart_together_and_do_not_wait_for_those_that_have_ended() -> None:
    restarts: list[str] = []

    async def restart() -> None:
        restarts.append("restart")

    gate = RestartGate(restart, 3)
    waiting = [asyncio.create_task(gate.pass_through()) for _ in range(2)]
    await asyncio.sleep(0)
    assert restarts == []
    await gate.leave()
    await asyncio.gather(*waiting)
    assert restarts == ["restart"]
    await gate.leave()
    assert restarts == ["restart"]


# -- the whole of it, with shareq in the place of Apache Kafka


@dataclass(slots=True)
class CountsWrong:
    """A player that reports one delivery too many from the second delivery on."""

    player: Plays
    reported: list[int] = field(default_factory=list)

    async def begin(self, setup: Setup) -> None:
        await self.player.begin(setup)

    async def play(self, step: Step) -> Answer:
        answer = await self.player.play(step)
        rows = {}
        for number, row in answer.partitions.items():
            wrong = {offset: count + (count >= 2) for offset, count in row.acquired.items()}
            rows[number] = replace(row, acquired=wrong)
        return replace(answer, partitions=rows)

    async def settle(self) -> None:
        await self.player.settle()

    async def end(self) -> None:
        await self.player.end()


class LeavesOut(CountsWrong):
    """A player that omits the rows of share fetches without acquired records and without an error."""

    async def play(self, step: Step) -> Answer:
        answer = await self.player.play(step)
        silent = {number for number, row in answer.partitions.items() if row == PartitionAnswer()}
        if not isinstance(step, Fetch):
            return answer
        rows = {number: row for number, row in answer.partitions.items() if number not in silent}
        fields = {key: value for key, value in answer.fields.items() if key[0] not in silent}
        return replace(answer, partitions=rows, fields=fields)


class Planted(Campaign):
    fault: type[CountsWrong] = CountsWrong

    def make(self, side: Literal["ours", "theirs"], name: str) -> Plays:
        player = super().make(side, name)
        return self.fault(player) if side == "ours" else player


class PlantedRows(Planted):
    """A campaign in which one side's answers lack rows."""

    fault = LeavesOut


def run(campaign: Campaign, seeds: list[int]) -> list[Outcome]:
    with campaign:
        return asyncio.run(campaign.run(seeds))


@pytest.mark.crash
def test_shareq_agrees_with_itself_and_a_planted_difference_is_found() -> None:
    quiet: list[str] = []
    outcomes = run(Campaign(8, steps=30, show=quiet.append, kinds=("ours", "ours")), [3, 20, 21])
    assert [(one.seed, one.verdict) for one in outcomes if one.verdict != "agreed"] == []
    assert {len(one.attempts[-1].played) for one in outcomes} == {30}

    planted = run(Planted(8, steps=20, tries=2, show=quiet.append, kinds=("ours", "ours")), list(range(20, 28)))
    caught = [one for one in planted if one.verdict == "mismatch"]
    assert len(caught) >= 3
    assert {difference.what for one in caught for difference in one.attempts[-1].found} == {"acquired"}
    silent = run(PlantedRows(8, steps=10, tries=2, show=quiet.append, kinds=("ours", "ours")), list(range(20, 28)))
    caught_silent = [one for one in silent if one.verdict == "mismatch"]
    assert len(caught_silent) >= 3
    assert {difference.what for one in caught_silent for difference in one.attempts[-1].found} == {"row"}

    report = Report(planted, 60, 1.0)
    text = report.failures[0].reported(verbose=False)
    assert "acquired: ours" in text
    assert f"--from {report.failures[0].outcome.seed} --verbose" in text


def test_the_report_replaces_what_stands_between_its_marks(tmp_path: Path) -> None:
    document = tmp_path / "differential.md"
    document.write_text(f"before{os.linesep}{BEGIN}\nold\n{END}\nafter")
    outcome = Outcome(1, [attempt(Answer(), Answer())], "agreed")
    write_report(document, Report([outcome], 60, 12.0))
    text = document.read_text()
    assert "old" not in text
    assert text.startswith("before")
    assert text.endswith(f"{END}\nafter")
    assert "| sequences that agree | 1 |" in text


def test_the_report_reports_what_was_passed_over_and_how_often(tmp_path: Path) -> None:
    document = tmp_path / "ignored.md"
    document.write_text(f"{BEGIN}\n{END}\n")
    epoch, always = "ShareGroupHeartbeatResponse.member_epoch", "ShareGroupHeartbeatResponse.throttle_time_ms"
    ours = [Answer(0, {}, {(None, always): (0,)}, {(None, epoch): (number,)}) for number in (1, 2, 3)]
    theirs = Answer(0, {}, {(None, always): (0,)}, {(None, epoch): (3,)})
    played = attempt(ours[0], theirs)
    for each in ours:
        played.look_aside(each, theirs)
    write_ignored(document, Report([Outcome(1, [played], "agreed")], 60, 12.0))
    text = document.read_text()
    assert f"`{epoch}` 3/2" in text
    message, _, field = always.partition(".")
    assert f"* `{message}`: `{field}=0`" in text
