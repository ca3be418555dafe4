"""A migration from its plan to its report. Pure: it acts only through its ports."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from shareq.client.errors import BrokerError
from shareq.ops.migrate import access, journal, plan
from shareq.ops.migrate.access import Access
from shareq.ops.migrate.copying import PartitionCopy
from shareq.ops.migrate.errors import Conflict
from shareq.ops.migrate.groups import Groups
from shareq.ops.migrate.journal import MovedTopic
from shareq.ops.migrate.journal_topic import JournalTopic
from shareq.ops.migrate.offset_syncs import OffsetSync
from shareq.ops.migrate.plan import PlannedTopic
from shareq.ops.migrate.ports import LogRange, Partition, Source, Target, Topic
from shareq.ops.migrate.report import FAILED, MigrationRow
from shareq.ops.migrate.verification import compare

OPENED_TOGETHER: Final = 100
"""The number of topics that get their properties in one request."""
MOST_ROUNDS: Final = 20
"""The most rounds of a copy while producers go on.

Each is smaller than the last, if copying is faster than producing.
"""


class Options(NamedTuple):
    """The options of a run: patterns of topics (none: all), and if this run is the end of the migration."""

    topics: Sequence[str] = ()
    cut_over: bool = False


class Progress(NamedTuple):
    """A function called with the planned bytes (None: unknown), and with each copied or compared batch."""

    planned: Callable[[int | None], None] = lambda _: None
    copied: Callable[[int], None] = lambda _: None
    compared: Callable[[int], None] = lambda _: None
    cut_over: Callable[[bool], None] = lambda _: None
    """Called when the cut-over begins (True), and when it is done."""


NO_PROGRESS: Final = Progress()
AT_ONCE: Final = 4
"""The partitions that are copied in turns: the answers of one are awaited while others are read.

Each holds some answers.
"""


class Planned(NamedTuple):
    """The topics that move, and a row for each topic that cannot."""

    topics: tuple[PlannedTopic, ...]
    refused: tuple[MigrationRow, ...]


class Migration:
    """A migration from one cluster to another. `access_of` is given for both clusters if rights move, too."""

    def __init__(
        self,
        source: Source,
        target: Target,
        options: Options,
        groups_of: Callable[[JournalTopic], Groups],
        access_of: tuple[Access, Access] | None = None,
        progress: Progress = NO_PROGRESS,
    ) -> None:
        self._source = source
        self._target = target
        self._options = options
        self._progress = progress
        self._journal = JournalTopic(target, self._source_id())
        self._groups = groups_of(self._journal)
        self._access = access_of

    def _source_id(self) -> str:
        found = self._source.cluster_id()
        if found == self._target.cluster_id():
            raise Conflict(f"source and target are one cluster: {found}")
        return found

    # -- the plan

    def plan(self) -> Planned:
        """Return the plan, without a change at either cluster."""
        self._journal.read()
        wanted = self._source.topics(lambda name, is_internal: plan.moves(name, is_internal, self._options.topics))
        there = self._target.topics([each.name for each in wanted])
        ranges = self._source.ranges([(each.name, number) for each in wanted for number in range(each.partitions)])
        sizes = self._source.sizes()
        topics: list[PlannedTopic] = []
        refused: list[MigrationRow] = []
        for each in wanted:
            why = plan.refusal(each, there.get(each.name), self._ends(there.get(each.name)), self._journal.known)
            if why is not None:
                refused.append(MigrationRow("topic", each.name, None, "refused", note=why))
                continue
            partitions = [(each.name, number) for number in range(each.partitions)]
            taken, left = plan.taken(each, self._try_to_make)
            topics.append(
                PlannedTopic(
                    each,
                    tuple(ranges[one] for one in partitions),
                    each.name not in there,
                    taken,
                    left,
                    tuple(sizes.get(one) for one in partitions),
                )
            )
        return Planned(tuple(topics), tuple(refused))

    def _ends(self, topic: Topic | None) -> list[int]:
        if topic is None:
            return []
        found = self._target.ranges([(topic.name, number) for number in range(topic.partitions)])
        return [each.end for each in found.values()]

    def _try_to_make(self, topic: Topic) -> BrokerError | None:
        return self._target.try_configs(topic)

    def planned_rows(self, planned: Planned) -> Iterator[MigrationRow]:
        """Yield the report of a dry run."""
        for each in planned.topics:
            yield from plan.planned_rows(each)
        yield from planned.refused
        yield from self._groups.planned_rows({each.name for each in planned.topics}, now=self._options.cut_over)
        yield from self._groups.planned_configs()
        if self._access is not None:
            yield from access.move(*self._access, "planned")
        yield self._total_row(planned)

    def _total_row(self, planned: Planned) -> MigrationRow:
        left: dict[Partition, LogRange] = {}
        size: int | None = 0
        for topic in planned.topics:
            for partition, found, of_log in zip(topic.partitions, topic.ranges, topic.sizes, strict=True):
                position = self._position(topic, partition, found)
                if position.upstream < found.end:
                    left[partition] = LogRange(position.upstream, found.end)
                    size = None if size is None or of_log is None else size + max(of_log - position.size, 0)
        offsets = sum(each.end - each.start for each in left.values())
        return plan.total_row(offsets, size, self._source.sample(left))

    def _position(self, topic: PlannedTopic, partition: Partition, found: LogRange) -> OffsetSync:
        """Return the position of a partition's copy; the end of everything if the copy is final."""
        known = self._journal.known.topics.get(topic.name)
        if topic.is_new or known is None:
            return OffsetSync(found.start)
        position = self._journal.known.positions.get((known.topic_id, partition[1]), OffsetSync(found.start))
        return position._replace(upstream=found.end) if known.is_final else position

    # -- doing it

    def run(self, planned: Planned) -> Iterator[MigrationRow]:
        """Copy, compare and report. Work of an earlier run is not repeated."""
        self._journal.open()
        sizes = [size for topic in planned.topics for size in topic.sizes]
        self._progress.planned(None if None in sizes else sum(size for size in sizes if size is not None))
        for topic in planned.topics:
            self._make(topic)
        self._copy(planned)
        rows = self._compare(planned.topics)
        of_groups: list[MigrationRow] = []
        if self._options.cut_over and not planned.refused and not _has_failed(rows):
            of_groups = self._cut_over(planned, rows)
        yield from planned.refused
        for topic in planned.topics:
            yield MigrationRow("topic", topic.name, None, "moved" if self._is_final(topic) else "copied")
            yield from plan.left_rows(topic)
            yield from rows[topic.name]
        yield from of_groups

    def _cut_over(self, planned: Planned, compared: dict[str, list[MigrationRow]]) -> list[MigrationRow]:
        """Take over the progress of groups, copy the records added meanwhile, and open the target. Return the rows of
        groups; the rows of partitions are updated.

        Long steps, and those that do not depend on clients' work, come first: from the take-over on, clients wait.
        """
        partitions = dict.fromkeys(each for topic in planned.topics for each in topic.partitions)
        open_topics = [each for each in planned.topics if not self._is_final(each)]
        if blocked := self._obstacles(planned, partitions):
            return blocked
        rows = list(self._groups.prepare({topic for topic, _ in partitions}))
        if self._access is not None:
            rows += access.move(*self._access, "moved")
        if not self._catch_up(planned, open_topics, compared):
            return rows
        self._progress.cut_over(True)
        states = self._groups.take_over(partitions)
        if not self._catch_up(planned, open_topics, compared):
            return rows
        rows += self._groups.move(partitions, states)
        for at in range(0, len(open_topics), OPENED_TOGETHER):
            self._open(open_topics[at : at + OPENED_TOGETHER])
        self._progress.cut_over(False)
        refused = {row.name for row in rows if row.outcome in FAILED}
        handed = self._groups.verified_rows({topic for topic, _ in partitions})
        rows += [row for row in handed if row.outcome in FAILED and row.name not in refused]
        ranges = self._source.ranges(partitions)
        for topic in open_topics:
            found = [ranges[each] for each in topic.partitions]
            compared[topic.name] = [_late(*each) for each in zip(compared[topic.name], found, strict=True)]
        return rows

    def _obstacles(self, planned: Planned, partitions: Collection[Partition]) -> list[MigrationRow]:
        """Return the rows that show why the cut-over must not begin."""
        names = {each.name for each in planned.topics}
        found = [row for row in self._groups.planned_rows(names, now=True) if row.outcome in FAILED]
        for (topic, number), offset in sorted(self._source.undecided(partitions).items()):
            note = f"a transaction is open from offset {offset} on: end its producer, or abort it"
            found.append(MigrationRow("records", topic, number, "refused", source_end=offset, note=note))
        return found

    def _catch_up(
        self, planned: Planned, topics: Sequence[PlannedTopic], compared: dict[str, list[MigrationRow]]
    ) -> bool:
        """Copy and compare the records added since; return True if all is equal."""
        self._copy(planned)
        compared.update(self._compare(topics))
        return not _has_failed(compared)

    def _open(self, topics: Sequence[PlannedTopic]) -> None:
        """Give topics their final properties; from then on they belong to the target."""
        self._target.set_configs({each.name: each.final_change() for each in topics})
        known = self._journal.known.topics
        self._journal.write([journal.topic(each.name, known[each.name]._replace(is_final=True)) for each in topics])

    def _make(self, topic: PlannedTopic) -> None:
        known = self._journal.known.topics.get(topic.name)
        if known is None or (topic.is_new and known.topic_id):
            self._journal.write([journal.topic(topic.name, MovedTopic())])
        if not self._journal.known.topics[topic.name].topic_id:
            error = self._target.create(topic.staged()) if topic.is_new else None
            made = self._target.topics([topic.name]).get(topic.name)
            if made is None:
                raise error or Conflict(f"topic {topic.name} was made at the target, and is not there")
            why = plan.refusal(topic.source, made, self._ends(made), self._journal.known)
            if why is not None:
                raise Conflict(f"topic {topic.name}: {why}")
            self._journal.write([journal.topic(topic.name, MovedTopic(made.topic_id))])

    def _copy(self, planned: Planned) -> None:
        """Copy in rounds, until one finds nothing new."""
        open_topics = [each for each in planned.topics if not self._is_final(each)]
        partitions = [each for topic in open_topics for each in topic.partitions]
        copies = {
            each: PartitionCopy(self._source, self._target, self._journal, each, self._progress.copied)
            for each in partitions
        }
        for _ in range(MOST_ROUNDS):
            ranges, there = self._source.ranges(partitions), self._target.ranges(partitions)
            left = [each for each in partitions if not copies[each].is_done(ranges[each].end, there[each].end)]
            if not left:
                return
            in_turns(self._work(copies[each], ranges[each], there[each].end) for each in left)
            self._journal.write_notes()
            for each, found in self._target.ranges(left).items():
                copies[each].check(found.end)

    def _work(self, copy: PartitionCopy, found: LogRange, there: int) -> Iterator[None]:
        """Copy a partition, and compare each part while the target still has it in memory."""
        copied = self._journal.known.copied(*copy.partition)
        is_same = True
        for _ in copy.work(found, there):
            verified = self._journal.known.verified.get(copied, OffsetSync(0))
            if is_same and copy.kept.downstream > verified.downstream:
                row = self._verified(copy.partition, self._target.ranges([copy.partition])[copy.partition])
                self._journal.write_notes()
                is_same = row.outcome == "verified"
            yield

    def _is_final(self, topic: PlannedTopic) -> bool:
        known = self._journal.known.topics.get(topic.name)
        return known is not None and known.is_final

    def _compare(self, topics: Sequence[PlannedTopic]) -> dict[str, list[MigrationRow]]:
        """Return the rows of topics' partitions. Records that were compared before are not read again."""
        open_topics = [each for each in topics if not self._is_final(each)]
        there = self._target.ranges([each for topic in open_topics for each in topic.partitions])
        rows = {topic.name: [self._verified(each, there[each]) for each in topic.partitions] for topic in open_topics}
        self._journal.write_notes()
        for topic in topics:
            if self._is_final(topic):
                of_topic = zip(topic.partitions, topic.ranges, strict=True)
                rows[topic.name] = [self._after_the_end(*each) for each in of_topic]
        return rows

    def _after_the_end(self, partition: Partition, found: LogRange) -> MigrationRow:
        """Return the row of a partition that is open for producers at the target: nothing more is copied."""
        position = self._journal.known.positions[self._journal.known.copied(*partition)]
        row = MigrationRow(
            "records",
            *partition,
            outcome="moved",
            source_end=position.upstream,
            target_end=position.downstream,
            bytes=position.size,
        )
        return _late(row, found)

    # -- comparing

    def verify_only(self) -> Iterator[MigrationRow]:
        """Compare the copies, from their start on, with the journal's record of the source. Changes nothing."""
        if not self._journal.read():
            raise Conflict(f"there is no topic {self._journal.name} at the target: nothing was moved to it from here")
        known = self._journal.known
        begun = {name: each for name, each in known.topics.items() if each.topic_id}
        wanted = {name: each for name, each in begun.items() if plan.is_wanted(name, self._options.topics)}
        made = self._target.topics(wanted)
        for name, topic in sorted(wanted.items()):
            if name not in made or made[name].topic_id != topic.topic_id:
                why = "is another one at the target now" if name in made else "is missing at the target"
                yield MigrationRow("topic", name, None, "differs", note=why)
                continue
            partitions = [(name, number) for topic_id, number in sorted(known.positions) if topic_id == topic.topic_id]
            for each, there in self._target.ranges(partitions).items():
                yield self._compared(each, there, OffsetSync(0))
        yield from self._groups.verified_rows(wanted)

    def _verified(self, partition: Partition, there: LogRange) -> MigrationRow:
        """Compare the records copied since the last time, and note that they are equal."""
        known, copied = self._journal.known, self._journal.known.copied(*partition)
        begin = known.verified.get(copied, OffsetSync(0))
        row = self._compared(partition, there, begin)
        last = known.syncs_of(copied)[-1]
        if row.outcome == "verified" and begin != last:
            self._journal.note(journal.verified(copied, last), last.size - begin.size)
        return row

    def _compared(self, partition: Partition, there: LogRange, begin: OffsetSync) -> MigrationRow:
        """Return the row of a compared partition. Its syncs are compared; while it is copied, only the kept ones."""
        syncs = self._journal.known.syncs_of(self._journal.known.copied(*partition))
        position = syncs[-1]
        found = compare(self._target, partition, there, syncs, begin, self._progress.compared)
        return MigrationRow(
            "records",
            *partition,
            outcome="differs" if found.difference else "verified",
            source_start=syncs[0].upstream,
            source_end=position.upstream,
            target_end=position.downstream,
            bytes=position.size,
            checksum=f"{position.checksum:08x}",
            note=found.difference or "",
        )


def in_turns(works: Iterator[Iterator[None]]) -> None:
    """Run iterators to their ends, several at a time, one step of each in turn."""
    under_way = deque(islice(works, AT_ONCE))
    while under_way:
        work = under_way.popleft()
        if next(work, True) is None:
            under_way.append(work)
        else:
            under_way.extend(islice(works, 1))


def _has_failed(rows: Mapping[str, Sequence[MigrationRow]]) -> bool:
    return any(row.outcome in FAILED for of_topic in rows.values() for row in of_topic)


def _late(row: MigrationRow, found: LogRange) -> MigrationRow:
    """Return the row of a moved partition, corrected by the source's log now."""
    if row.source_end is None or found.end <= row.source_end:
        return row
    note = f"offsets {row.source_end} to {found.end - 1} came after the cut-over, and are at the source alone"
    return row._replace(outcome="differs", note=note)


__all__ = ["LogRange", "Migration", "Options", "Planned", "Progress"]
