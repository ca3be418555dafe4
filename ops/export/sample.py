"""Samples of a cluster's share groups, over Kafka's protocol only, for any cluster of Kafka 4.2 or later.

No request of Kafka's shows which records members hold. The log of states shows which offsets behind the first
unfinished one are finished, and how often the others were delivered, as of the last write.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from heapq import nsmallest
from itertools import islice
from typing import Final, NamedTuple

from shareq.client.admin import Admin
from shareq.client.admin.calls import Outcome, Partition
from shareq.client.admin.share_groups import SharePosition
from shareq.client.core.list_offsets import EARLIEST, LATEST
from shareq.client.errors import ClientError
from shareq.client.network import Network
from shareq.client.reader import Reader
from shareq.ops.share_states import WRITTEN, StateBatch, StateLog
from shareq.protocol.share import RecordState

logger = logging.getLogger(__name__)

MOST_PARTITIONS: Final = 5_000
"""The most share partitions in one sample; groups with members come first. A scraper cannot use more."""
MOST_FIRST_RECORDS: Final = 500
"""The most records whose time is requested for one sample; those of others are requested for later ones."""
FIRST_RECORD_BYTES: Final = 1 << 16
AVAILABLE: Final = RecordState.AVAILABLE.name.lower()
MANY_DELIVERIES: Final = 5


class PartitionSample(NamedTuple):
    """A share partition. `first_record_s`: the time of the record at `start`, since the epoch; None without lag, and
    while unknown.

    `offsets`: the stored offsets by state; `retried`: the unfinished ones by deliveries.
    """

    start: int | None
    lag: int | None
    first_record_s: float | None
    offsets: Mapping[str, int]
    retried: Mapping[int, int]


class Sample(NamedTuple):
    """A sample of all share groups: `members` of each; `letters` by dead-letter queue; `left_out` is the number of
    groups beyond the limit.

    `has_states` is False if the log of states may not be read, or does not exist.
    """

    members: Mapping[str, int]
    partitions: Mapping[tuple[str, str, int], PartitionSample]
    letters: Mapping[str, int]
    has_states: bool
    left_out: int


class Sampler:
    """A sampler, which keeps state between its samples. Owned by one thread."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._admin = Admin(network)
        self._states = StateLog(network)
        self._first_records: dict[Partition, dict[int, float | None]] = {}  # times, by offset; None: it has none
        self._complaint = ""

    def take(self) -> Sample:
        """Take a sample. Raise the errors of its requests; groups or partitions that are refused are left out."""
        positions, left_out = self._positions()
        members = {
            group: len(found.members)
            for group, found in self._admin.share_groups.describe(positions)
            if not isinstance(found, ClientError)
        }
        has_states = self._catch_up()
        known = {
            (group, *partition): position
            for group, of_group in positions.items()
            for partition, position in of_group.items()
            if not isinstance(position, ClientError)
        }
        partitions = {place: self._partition(place, position, has_states) for place, position in known.items()}
        self._look_at_first_records(partitions)
        partitions = {place: one._replace(first_record_s=self._first(place, one)) for place, one in partitions.items()}
        return Sample(members, partitions, self._letters(), has_states, left_out)

    def _positions(self) -> tuple[dict[str, dict[Partition, Outcome[SharePosition]]], int]:
        """Return positions by group, and the number of groups left out."""
        listed = [(row.state == "Empty", row.group_id) for row in self._admin.groups.find(("share",))]
        names = [name for _, name in nsmallest(MOST_PARTITIONS, listed)]
        positions: dict[str, dict[Partition, Outcome[SharePosition]]] = {}
        begun = 0
        for group, outcome in self._admin.share_groups.offsets(names):
            if isinstance(outcome, ClientError):
                continue
            if begun + len(outcome) > MOST_PARTITIONS:
                break
            positions[group] = outcome
            begun += len(outcome)
        return positions, len(listed) - len(positions)

    def _catch_up(self) -> bool:
        try:
            self._states.catch_up()
        except ClientError as error:
            if str(error) != self._complaint:  # not with every sample
                logger.warning("no deliveries and finished offsets: the log of states cannot be read: %s", error)
            self._complaint = str(error)
            return False
        self._complaint = ""
        return True

    def _partition(self, place: tuple[str, str, int], position: SharePosition, has_states: bool) -> PartitionSample:
        group, _, number = place
        state = self._states.state(group, position.topic_id, number) if has_states else None
        batches = list(state.batches) if state is not None else []
        start = position.start
        while start is not None and batches and batches[0].first <= start and batches[0].state in WRITTEN:
            start = max(start, batches.pop(0).last + 1)  # the stored start trails what is finished by one write
        return PartitionSample(start, position.lag, None, *_counted(batches))

    def _first(self, place: tuple[str, str, int], one: PartitionSample) -> float | None:
        if one.lag == 0 or one.start is None:
            return None
        return self._first_records.get(place[1:], {}).get(one.start)

    def _look_at_first_records(self, partitions: Mapping[tuple[str, str, int], PartitionSample]) -> None:
        """Read the times of the records at start offsets, and forget earlier ones."""
        wanted: dict[Partition, set[int]] = {}
        for (_, topic, number), one in partitions.items():
            if one.lag != 0 and one.start is not None:
                wanted.setdefault((topic, number), set()).add(one.start)
        self._first_records = {
            each: {start: at for start, at in times.items() if start in wanted[each]}
            for each, times in self._first_records.items()
            if each in wanted
        }
        missing = (
            (each, start)
            for each, starts in wanted.items()
            for start in sorted(starts)
            if start not in self._first_records.get(each, ())
        )
        rounds: list[dict[Partition, int]] = []
        for each, start in islice(missing, MOST_FIRST_RECORDS):
            fitting = next((one for one in rounds if each not in one), None)
            if fitting is None:
                fitting = {}
                rounds.append(fitting)
            fitting[each] = start
        for starts in rounds:
            self._read_first(starts)

    def _read_first(self, starts: Mapping[Partition, int]) -> None:
        """Read the first record at or after each of these offsets.

        A topic that is refused leaves only its own times unknown.
        """
        try:
            for found in Reader(self._network, starts, partition_bytes=FIRST_RECORD_BYTES).read(0):
                each = found.topic, found.partition
                time_ms = found.record.timestamp
                times = self._first_records.setdefault(each, {})
                times.setdefault(starts[each], time_ms / 1000 if time_ms >= 0 else None)
        except ClientError as error:
            topics = {topic for topic, _ in starts}
            for topic in sorted(topics) if len(topics) > 1 else ():
                self._read_first({each: start for each, start in starts.items() if each[0] == topic})
            if len(topics) == 1:
                logger.info("the times of first records are not all known: %s", error)

    def _letters(self) -> dict[str, int]:
        queues = [queue.topic for queue in self._admin.redrives.queues() if queue.exists]
        partitions = [
            (name, number)
            for name, found in self._admin.topics.describe(queues)
            if not isinstance(found, ClientError)
            for number in range(len(found.partitions))
        ]
        starts, ends = (self._admin.topics.offsets(dict.fromkeys(partitions, at)) for at in (EARLIEST, LATEST))
        letters = dict.fromkeys((name for name, _ in partitions), 0)
        for each in partitions:
            start, end = starts[each], ends[each]
            if isinstance(start, ClientError) or isinstance(end, ClientError):
                letters.pop(each[0], None)
            elif each[0] in letters:
                letters[each[0]] += (end.offset or 0) - (start.offset or 0)
        return letters


def _counted(batches: Iterable[StateBatch]) -> tuple[dict[str, int], dict[int, int]]:
    """Return offsets by state, and unfinished ones by deliveries; MANY_DELIVERIES counts that many or more."""
    offsets: Counter[str] = Counter()
    retried: Counter[int] = Counter()
    for each in batches:
        count = each.last - each.first + 1
        offsets[WRITTEN.get(each.state, AVAILABLE)] += count
        if each.state not in WRITTEN and each.deliveries > 0:
            retried[min(each.deliveries, MANY_DELIVERIES)] += count
    return dict(offsets), dict(retried)
