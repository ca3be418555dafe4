"""The intended differences of shareq from Apache Kafka 4.4.0, by name. No others are accepted.

Each has a reason and a narrow predicate, and its hits are counted; one without hits in a full run is reported, and
should be removed. `diverges`: the brokers' states differ afterwards, so the sequence continues with a new topic and
group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from shareq.protocol.errors import ErrorCode
from tests.differential.answers import Answer
from tests.differential.compare import Difference
from tests.differential.steps import (
    BATCH_OPTIMIZED,
    PARTITIONS,
    RELEASE,
    Acknowledge,
    DescribeOffsets,
    Fetch,
    ReadState,
    Step,
)
from tests.differential.view import View


@dataclass(frozen=True, slots=True)
class Situation:
    """A step with different answers, and the knowledge before it. `found` are the differences left to explain."""

    step: Step
    ours: Answer
    theirs: Answer
    view: View
    found: Sequence[Difference]


LOG_START_AT_PRODUCE: Final = "ProduceResponse.responses.partition_responses.log_start_offset"
FOLLOWS: Final = frozenset(
    ("row", *(f"ShareFetchResponse.responses.partitions.{each}" for each in ("acquired_records", "records")))
)
"""The fields that depend on the acquired records: the explanation of those explains them, too."""

_FINISHED: Final = frozenset((2, 4))
"""The states acknowledged and archived."""

LEAST_THROTTLED = 3
"""The lowest delivery count at which, with any delivery limit, fewer records may have been handed out."""

Explains = Callable[[Situation, Difference], bool]


_SUMMARY: Final = "ReadShareGroupStateSummaryResponse.results.partitions."
_BATCHES: Final = "ReadShareGroupStateResponse.results.partitions.state_batches"
_SAID_OF_STATE: Final = frozenset(
    ("start_offset", f"{_SUMMARY}start_offset", f"{_SUMMARY}delivery_complete_count", _BATCHES)
)


@dataclass(frozen=True, slots=True)
class Justified:
    """A known difference. `explains` checks one difference of an answer at a time."""

    name: str
    reason: str
    explains: Explains
    diverges: bool = False


def _unknown_topic(situation: Situation, difference: Difference) -> bool:
    step, ours, theirs = situation.step, situation.ours, situation.theirs
    return (
        isinstance(step, Fetch)
        and step.unknown_topic
        and theirs.error == ErrorCode.UNKNOWN_SERVER_ERROR
        and ours.error == ErrorCode.NONE
        and all(row.error == ErrorCode.UNKNOWN_TOPIC_ID for row in ours.partitions.values())
    )


def _initial_start_offset(situation: Situation, difference: Difference) -> bool:
    return (
        isinstance(situation.step, ReadState)
        and difference.what == "start_offset"
        and difference.theirs == -1
        and situation.view.setup.begins != "altered"
        and difference.partition not in situation.view.written
    )


def _first_window(situation: Situation, difference: Difference) -> bool:
    partition, mine, view = difference.partition, difference.ours, situation.view
    if not isinstance(situation.step, DescribeOffsets) or partition is None or not isinstance(mine, int):
        return False
    starts = {answer.of(partition).start_offset for answer in (situation.ours, situation.theirs)}
    return (
        (difference.what, difference.theirs, starts) == ("lag", -1, {-1})
        and partition in view.begun - view.written
        and 0 <= mine <= view.log_end[partition]
    )


def _below_an_empty_window(situation: Situation, difference: Difference) -> bool:
    step, ours, theirs = situation.step, situation.ours, situation.theirs
    if not isinstance(step, Fetch | Acknowledge) or ours.error or theirs.error != ErrorCode.UNKNOWN_SERVER_ERROR:
        return False
    return any(
        ours.of(partition).ack_error == ErrorCode.INVALID_RECORD_STATE
        and any(each.first < min(situation.view.held[partition], default=each.last + 1) for each in ranges)
        for partition, ranges in step.acks
        if partition < PARTITIONS
    )


def _start_offset_survives(situation: Situation, difference: Difference) -> bool:
    mine, other, view = difference.ours, difference.theirs, situation.view
    return (
        isinstance(situation.step, Fetch)
        and isinstance(mine, Mapping)
        and isinstance(other, Mapping)
        and view.setup.begins == "latest"
        and difference.partition in view.reread - view.written
        and min(mine, default=0) < min(other, default=view.log_end[difference.partition])
    )


def _released_at_the_same_time(situation: Situation, difference: Difference) -> bool:
    """Return True if this request released the differing records, and the other partition's records end the fetch."""
    step, theirs = situation.step, situation.theirs
    mine, other = difference.ours, difference.theirs
    if not isinstance(step, Fetch) or not isinstance(mine, Mapping) or not isinstance(other, Mapping):
        return False
    released = {
        offset
        for partition, ranges in step.acks
        if partition == difference.partition
        for each in ranges
        if len(each.types) in (1, each.last - each.first + 1)
        for offset in range(each.first, each.last + 1)
        if each.types[0 if len(each.types) == 1 else offset - each.first] == RELEASE
    }
    ended = any(row.acquired for partition, row in theirs.partitions.items() if partition != difference.partition)
    return ended and {offset for offset, _ in mine.items() ^ other.items()} <= released


def _negative_batch_size(situation: Situation, difference: Difference) -> bool:
    """Return True if the difference, with BatchSize -1, is the one offset before the new records of a batch."""
    step, mine, other = situation.step, difference.ours, difference.theirs
    if not isinstance(step, Fetch) or not isinstance(mine, Mapping) or not isinstance(other, Mapping):
        return False
    changed = {offset for offset, _ in mine.items() ^ other.items()}
    return (
        (step.mode, step.batch_size) == (BATCH_OPTIMIZED, -1)
        and len(changed) == 1
        and all(other.get(offset) == 1 == mine.get(offset + 1) for offset in changed)
    )


def _throttled_after_a_reload(situation: Situation, difference: Difference) -> bool:
    """Return True if the partition was loaded again, and the differing records failed half of their deliveries."""
    mine, other = difference.ours, difference.theirs
    if not isinstance(situation.step, Fetch) or not isinstance(mine, Mapping) or not isinstance(other, Mapping):
        return False
    fewer, more = sorted((mine, other), key=len)
    return (
        difference.partition in situation.view.reloaded
        and len(fewer) > 0
        and fewer.items() < more.items()
        and all(more[offset] >= LEAST_THROTTLED for offset in more.keys() - fewer.keys())
    )


def _passed_by_the_log_start(situation: Situation, difference: Difference) -> bool:
    """Return True if Apache Kafka returns no records of a partition whose first ones were deleted.

    The other partition may differ, too, if it ended the fetch; or its row is missing, because it was not loaded yet.
    """
    step, ours, theirs, view = situation.step, situation.ours, situation.theirs, situation.view
    what, partition = difference.what, difference.partition
    if not isinstance(step, Fetch) or partition is None or what not in ("acquired", "row"):
        return False
    passed = {
        partition
        for partition in range(PARTITIONS)
        if not theirs.of(partition).acquired
        and 0 < view.log_start[partition] <= min(ours.of(partition).acquired, default=view.log_start[partition])
    }
    nothing = not any(theirs.of(partition).acquired for partition in range(PARTITIONS))
    if what == "row":
        return nothing and bool(passed - {partition}) and difference.ours is True and partition not in view.loaded
    return partition in passed or (nothing and len(passed) > 0)


def _in_front_of_the_log_start(situation: Situation, difference: Difference) -> bool:
    """Return True if Apache Kafka delivers, from its first record on, the batch in which the log starts."""
    mine, other, partition = difference.ours, difference.theirs, difference.partition
    if not isinstance(situation.step, Fetch) or not isinstance(mine, Mapping) or not isinstance(other, Mapping):
        return False
    log_start = situation.view.log_start[partition or 0]
    deleted = {offset: count for offset, count in other.items() if offset < log_start}
    return bool(deleted) and {**deleted, **mine} == dict(other) and sorted(deleted) == [*range(min(deleted), log_start)]


def _log_start_forgotten(situation: Situation, difference: Difference) -> bool:
    """Return True if Apache Kafka, when killed, forgot its log start.

    It delivers deleted records, or returns a lower start to a producer.
    """
    mine, other, partition = difference.ours, difference.theirs, difference.partition
    setup = situation.view.setup
    if not setup.kill or setup.restart_at is None or partition is None:
        return False
    log_start = situation.view.log_start[partition]
    if difference.what == LOG_START_AT_PRODUCE:
        return mine == (log_start,) and isinstance(other, tuple) and other[0] < log_start
    if not isinstance(mine, Mapping) or not isinstance(other, Mapping):
        return False
    only_there = other.keys() - mine.keys()
    return len(only_there) > 0 and max(only_there) < log_start


def _behind_what_the_log_start_passed(situation: Situation, difference: Difference) -> bool:
    """Return True if the request acknowledges unwritten offsets of a partition whose records were deleted."""
    step, view, partition = situation.step, situation.view, difference.partition
    if not isinstance(step, Fetch | Acknowledge) or partition is None or partition >= PARTITIONS:
        return False
    ranges = dict(step.acks).get(partition, ())
    return (
        difference.what == "ack_error"
        and (difference.ours, difference.theirs) == (ErrorCode.INVALID_RECORD_STATE, ErrorCode.INVALID_REQUEST)
        and view.log_start[partition] > 0
        and any(each.first >= view.log_end[partition] for each in ranges)
    )


def _start_offset_of_the_dead(situation: Situation, difference: Difference) -> bool:
    """Return True if the states differ only in a start offset that is past finished records, which the other state
    lists.
    """
    partition = difference.partition
    if not situation.view.had_queue or partition is None or difference.what not in _SAID_OF_STATE:
        return False
    ours, theirs = situation.ours.of(partition), situation.theirs.of(partition)
    if isinstance(situation.step, DescribeOffsets):
        return difference.what == "start_offset" and ours.lag == theirs.lag
    if not isinstance(situation.step, ReadState) or ours.start_offset is None or theirs.start_offset is None:
        return False
    low, high = sorted(
        ((one.start_offset or 0), _states(answer, partition))
        for one, answer in ((ours, situation.ours), (theirs, situation.theirs))
    )
    passed = range(low[0], high[0])
    return all(low[1].get(at, (0, 0))[0] in _FINISHED for at in passed) and high[1] == {
        at: state for at, state in low[1].items() if at >= high[0]
    }


def _states(answer: Answer, partition: int) -> dict[int, tuple[int, int]]:
    said = cast("Sequence[Sequence[tuple[int, int, int, int]]]", answer.fields.get((partition, _BATCHES), ((),)))
    return {at: (state, count) for first, last, state, count in said[0] for at in range(first, last + 1)}


def _which_partition_first(situation: Situation, difference: Difference) -> bool:
    step, ours, theirs = situation.step, situation.ours, situation.theirs
    if not isinstance(step, Fetch) or step.kind != "fetch, shared budget" or difference.what != "acquired":
        return False
    rows = [(ours.of(partition).acquired, theirs.of(partition).acquired) for partition in range(PARTITIONS)]
    return all(
        mine.items() <= other.items() or other.items() <= mine.items() for mine, other in rows
    ) and step.max_records < sum(max(len(mine), len(other)) for mine, other in rows)


JUSTIFIED: Final = (
    Justified(
        "unknown topic id in a share fetch",
        "Apache Kafka fails the whole request, and every later one of the session, with UNKNOWN_SERVER_ERROR; "
        "here the partition alone gets UNKNOWN_TOPIC_ID, and the rest of the session is served",
        _unknown_topic,
    ),
    Justified(
        "initial start offset is persisted",
        "what share.auto.offset.reset resolved to is written down at the first acquire; Apache Kafka keeps -1 until "
        "the first acknowledgement, and resolves it again whenever it reads the state",
        _initial_start_offset,
    ),
    Justified(
        "lag behind a window of which nothing is finished",
        "counted from the start offset that is written down at the first acquire; Apache Kafka has none until the "
        "first acknowledgement, and so no lag",
        _first_window,
    ),
    Justified(
        "initial start offset survives a reload",
        "as above: with `latest`, records that were acquired but never acknowledged come again; Apache Kafka has "
        "skipped them",
        _start_offset_survives,
        diverges=True,
    ),
    Justified(
        "acknowledging from below the start offset, with nothing in flight there",
        "Apache Kafka fails the whole request, other partitions included, with UNKNOWN_SERVER_ERROR (it looks for the "
        "batch at the start offset without asking whether there is one); here the partition gets INVALID_RECORD_STATE",
        _below_an_empty_window,
        diverges=True,
    ),
    Justified(
        "what a share fetch itself releases, when another partition ends it",
        "the acknowledgements are being written while the fetch looks for records: which of them are through when "
        "another partition has some is a matter of the moment at both brokers",
        _released_at_the_same_time,
        diverges=True,
    ),
    Justified(
        "how many throttled records come after a reload",
        "they are a part of what is in flight together, and that is as the persisted state is cut; Apache Kafka may "
        "keep two neighbours apart that are equal (it writes each record's lock expiry by itself), here they are one",
        _throttled_after_a_reload,
        diverges=True,
    ),
    Justified(
        "negative BatchSize",
        "Apache Kafka cuts ranges that begin before what it acquires, and so hands out for the first time, as it "
        "were, what others hold, what is finished, or what it is just handing out; here it means the same as 0",
        _negative_batch_size,
        diverges=True,
    ),
    Justified(
        "the first share fetch after the log start passed the group",
        "Apache Kafka finds out by a read that is out of range, goes on from the log start, and answers without a "
        "record of it, often before it has read the other partition: the client asks again; here the same fetch reads "
        "again and hands the records out",
        _passed_by_the_log_start,
        diverges=True,
    ),
    Justified(
        "acknowledging beyond the end, where the log start passed the group",
        "Apache Kafka keeps batches that lie below the log start for a while, and says INVALID_REQUEST behind them; "
        "here nothing is in flight any more, for which both say INVALID_RECORD_STATE",
        _behind_what_the_log_start_passed,
    ),
    Justified(
        "deleted records of the batch in which the log starts",
        "Apache Kafka hands out this record batch from its first record on when it finds the new log start while "
        "nothing is in flight; here deleted records are not delivered",
        _in_front_of_the_log_start,
        diverges=True,
    ),
    Justified(
        "deleted records after SIGKILL",
        "Apache Kafka writes log start offsets down once a minute and at a clean stop; killed before, it has the "
        "deleted records again. Here they are written down before DeleteRecords is answered",
        _log_start_forgotten,
        diverges=True,
    ),
    Justified(
        "start offset that is persisted while the dead are archived",
        "it goes with the writes of a share partition's state, and Apache Kafka archives each dead record, or each "
        "range as it was rejected, with a write of its own, in any order and with the start offset that it has by "
        "then; here those of a batch of letters are one write. Both know the same of every record",
        _start_offset_of_the_dead,
    ),
    Justified(
        "which partition a shared MaxRecords goes to first",
        "Apache Kafka begins with those whose log position it happens to know, and orders a session's partitions by "
        "hash when several brought records; here they take turns by session epoch, in the session's order",
        _which_partition_first,
        diverges=True,
    ),
)


def explained(situation: Situation) -> tuple[list[Justified], list[Difference]]:
    """Return the known differences that explain something, and the differences that stay unexplained."""
    hits: list[Justified] = []
    rest: list[Difference] = []
    acquired: set[int | None] = set()
    for difference in situation.found:
        known = next((each for each in JUSTIFIED if each.explains(situation, difference)), None)
        if known is None:
            rest.append(difference)
            continue
        if known not in hits:
            hits.append(known)
        if difference.what == "acquired":
            acquired.add(difference.partition)
    return hits, [each for each in rest if each.what not in FOLLOWS or each.partition not in acquired]
