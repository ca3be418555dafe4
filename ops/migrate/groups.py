"""The move of committed offsets, and of share groups' states, with the records, by the offset map. Pure.

A share group's members may be at work. Its states are read as a new leader of the share partition reads them (KIP-932),
with an epoch above all: later confirmations of the old leader are refused by its coordinator, and members get the error
that makes them look for the leader again. So every acknowledgement that was confirmed is moved, and no later one is
confirmed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from shareq.client.errors import BrokerError, is_transient
from shareq.ops.migrate import journal
from shareq.ops.migrate.group_ports import Committed, Redrive, ShareState, SourceGroups, TargetGroups
from shareq.ops.migrate.journal import Copied, Entry, Handed
from shareq.ops.migrate.journal_topic import JournalTopic
from shareq.ops.migrate.mapping import downstream
from shareq.ops.migrate.plan import is_wanted
from shareq.ops.migrate.ports import Partition
from shareq.ops.migrate.report import MigrationRow, Outcome
from shareq.ops.migrate.states import DONE, compared, offsets_in, pieces, translated

_CANNOT_WRITE: Final = (
    "the target does not take states from this user (ClusterAction on the cluster is needed): "
    "give --at-least-once to move start offsets alone, and have the rest come again"
)
_BACKOFF: Final = "shareq.redelivery.backoff.ms"
_HAS_MEMBERS: Final = "has members: stop them before the cut-over"


class GroupOptions(NamedTuple):
    """Patterns of groups, none for all; and if records may be delivered again whose finished state cannot be moved."""

    groups: Sequence[str] = ()
    at_least_once: bool = False


class Groups:
    """The move of groups' progress in copied partitions."""

    def __init__(
        self,
        source_groups: SourceGroups,
        target_groups: TargetGroups,
        topic: JournalTopic,
        options: GroupOptions,
    ) -> None:
        self._old = source_groups
        self._new = target_groups
        self._journal = topic
        self._options = options
        self._delays: frozenset[str] = frozenset()

    # -- before anything is done

    def planned_rows(self, topics: Collection[str], *, now: bool) -> Iterator[MigrationRow]:
        """Return a row for each group with progress in these topics; `now`: the cut-over is about to begin.

        Groups that are refused here must not be taken over.
        """
        known = self._journal.known
        for group, has_members in sorted(self._old.consumer_groups().items()):
            found = [each for each in self._old.offsets(group) if each[0] in topics] if self._is_wanted(group) else []
            if not found:
                continue
            row = MigrationRow("offsets", group, None, "planned")
            if taken := self._own(found, self._new.offsets(group), known.offsets, group):
                row = row._replace(outcome="refused", note=f"{taken[0]}: the target has an offset of its own")
            elif has_members:
                row = row._replace(outcome="refused" if now else "planned", note=_HAS_MEMBERS)
            yield row
        writable = self._new.writable_states()
        for group, found in self._begun(topics):
            row = MigrationRow("share-group", group, None, "planned")
            if taken := self._own(found, self._new.begun(group), known.states, group):
                row = row._replace(outcome="refused", note=f"{taken[0]}: the group has begun at the target")
            elif not writable and not self._options.at_least_once:
                row = row._replace(outcome="refused", note=_CANNOT_WRITE)
            yield row

        yield from (row for _, row in self._redrives(topics))

    def _begun(self, topics: Collection[str]) -> Iterator[tuple[str, list[Partition]]]:
        """Yield each share group with the partitions of these topics that it has begun."""
        for group in filter(self._is_wanted, sorted(self._old.share_groups())):
            if found := [each for each in self._old.begun(group) if each[0] in topics]:
                yield group, found

    def _redrives(self, topics: Collection[str]) -> Iterator[tuple[Redrive, MigrationRow]]:
        """Yield the redrives that write to these topics, or read letters in them: after a cut-over they must not."""
        for each in self._old.redrives():
            if each.queue in topics or each.target in topics or not each.target:
                note = f"ends with the cut-over: {each.left} letters of {each.queue} were not looked at, and stay there"
                yield each, MigrationRow("redrive", each.name, None, "left", note=note)

    def planned_configs(self) -> Iterator[MigrationRow]:
        """Yield a row for each property of a group."""
        return self._config_rows("planned", dry_run=True)

    def _config_rows(self, done: Outcome, *, dry_run: bool) -> Iterator[MigrationRow]:
        found = self._old.group_configs()
        self._delays = frozenset(group for group, configs in found.items() if _BACKOFF in configs)
        wanted = {group: configs for group, configs in sorted(found.items()) if self._is_wanted(group)}
        errors = self._set_configs(wanted, dry_run=dry_run)
        for group, name in ((group, name) for group, configs in wanted.items() for name in sorted(configs)):
            row = MigrationRow("config", group, None, done, note=name)
            error = errors.get((group, name))
            why = error and (error.message or error)
            yield row._replace(outcome="left", note=f"{name}: {why}") if error else row

    def _is_wanted(self, group: str) -> bool:
        return is_wanted(group, self._options.groups)

    def _own(
        self,
        partitions: Collection[Partition],
        there: Collection[Partition],
        handed: Mapping[journal.OfGroup, Handed],
        group: str,
    ) -> Partition | None:
        """Return a partition in which the target has progress that no run has written; None if there is none."""
        known = self._journal.known
        for each in sorted(set(partitions).intersection(there)):
            if each[0] not in known.topics or (group, *known.copied(*each)) not in handed:
                return each
        return None

    def _set_configs(
        self, wanted: Mapping[str, Mapping[str, str]], *, dry_run: bool
    ) -> dict[tuple[str, str], BrokerError]:
        """Set the properties of all groups at once; set refused ones again, one by one.

        Return the errors by group and property.
        """
        refused = [(group, sorted(wanted[group])) for group in self._new.set_group_configs(wanted, dry_run=dry_run)]
        errors: dict[tuple[str, str], BrokerError] = {}
        for number in range(max((len(names) for _, names in refused), default=0)):
            some = {group: names[number] for group, names in refused if number < len(names)}
            one_each = {group: {name: wanted[group][name]} for group, name in some.items()}
            for group, error in self._new.set_group_configs(one_each, dry_run=dry_run).items():
                errors[group, some[group]] = error
        return errors

    # -- doing it

    def prepare(self, topics: Collection[str]) -> Iterator[MigrationRow]:
        """Copy properties, end redrives that write to these topics, and let the target prepare for states."""
        yield from self._config_rows("moved", dry_run=False)
        for group, found in self._begun(topics) if self._new.writable_states() else ():
            self._new.expect(group, found)
        for redrive, row in self._redrives(topics):
            self._old.end_redrive(redrive.name)
            yield row

    def take_over(self, partitions: Collection[Partition]) -> dict[str, Mapping[Partition, ShareState | None]]:
        """Read the states of all share groups in these partitions. The source confirms nothing more from here on."""
        states: dict[str, Mapping[Partition, ShareState | None]] = {}
        for group in filter(self._is_wanted, sorted(self._old.share_groups())):
            begun = [each for each in self._old.begun(group) if each in partitions]
            left = [each for each in begun if not self._is_done(self._journal.known.states, group, each)]
            if left:
                states[group] = self._old.take_over(group, left)
        return states

    def move(
        self, partitions: Collection[Partition], states: Mapping[str, Mapping[Partition, ShareState | None]]
    ) -> Iterator[MigrationRow]:
        """Write committed offsets and states to the target. Those that an earlier run wrote belong to the target."""
        for group in filter(self._is_wanted, sorted(self._old.consumer_groups())):
            yield from self._move_offsets(group, partitions)
        writable = self._new.writable_states()
        for group, of_group in sorted(states.items()):
            yield from self._move_states(group, of_group, writable)

    def _move_offsets(self, group: str, partitions: Collection[Partition]) -> list[MigrationRow]:
        found = {each: at for each, at in self._old.offsets(group).items() if each in partitions}
        there = self._new.offsets(group) if found else {}
        handed: dict[Partition, Committed] = {}
        rows: list[MigrationRow] = []
        for partition, committed in sorted(found.items()):
            known = self._journal.known.offsets.get((group, *self._journal.known.copied(*partition)))
            row = MigrationRow("offsets", group, partition[1], "moved", source_end=committed.offset, note=partition[0])
            if known is not None and known.is_done:
                row = row._replace(target_end=known.offset, note=f"{partition[0]}: by a run before")
            elif known is None and partition in there:
                row = row._replace(outcome="refused", note=f"{partition[0]}: the target has an offset of its own")
            else:
                offset = self._map(partition, {committed.offset})[committed.offset]
                handed[partition] = committed._replace(offset=offset)
                row = row._replace(target_end=offset)
            rows.append(row)
        return self._hand_over(
            group,
            journal.offsets,
            {each: Handed(at.offset) for each, at in handed.items()},
            rows,
            lambda: self._new.commit(group, handed),
        )

    def _move_states(
        self, group: str, states: Mapping[Partition, ShareState | None], writable: Collection[int]
    ) -> list[MigrationRow]:
        there = self._new.begun(group)
        handed: dict[Partition, ShareState] = {}
        rows: list[MigrationRow] = []
        is_again = False
        for partition, state in sorted(states.items()):
            row = MigrationRow("share-group", group, partition[1], "moved", note=partition[0])
            known = self._journal.known.states.get((group, *self._journal.known.copied(*partition)))
            if state is None:
                row = row._replace(outcome="left", note=f"{partition[0]}: nothing of it was finished or failed yet")
            elif known is None and partition in there:
                row = row._replace(outcome="refused", note=f"{partition[0]}: the group has begun at the target")
            else:
                is_again |= known is not None
                moved = translated(state, self._map(partition, offsets_in(state)), writable or DONE)
                handed[partition] = moved
                row = row._replace(
                    source_start=state.start, target_end=moved.start, note=self._lost(group, partition, moved, writable)
                )
            rows.append(row)

        def write() -> None:
            starts = {each: state.start for each, state in handed.items()}
            begun = there if writable else ()  # above what a run before has done, not even this is carried out
            asked = self._new.begin(group, {each: start for each, start in starts.items() if each not in begun})
            if writable and (asked > 1 or is_again):
                self._new.begin_above(group, starts)
            for some in pieces(handed) if writable else ():
                self._new.write(group, some)

        noted = {
            each: Handed(state.start, ranges=state.ranges, takes_ranges=bool(writable))
            for each, state in handed.items()
        }
        return self._hand_over(group, journal.state, noted, rows, write)

    def _lost(self, group: str, partition: Partition, moved: ShareState, writable: Collection[int]) -> str:
        """Return the note about a share partition: the part of its state that the target cannot store."""
        again = 0 if writable else moved.count(DONE)
        found = f"{partition[0]}: {again} records that are done come again" if again else partition[0]
        delayed = sum(each.last - each.first + 1 for each in moved.ranges if each.state == 0 and each.deliveries)
        if delayed and group in self._delays:
            found += f"; {delayed} that failed are available at once, as their delays end"
        return found

    def verified_rows(self, topics: Collection[str]) -> Iterator[MigrationRow]:
        """Return a row for each offset written: equal if the group is there, or has advanced from it.

        States of share groups are compared completely, record by record, if the target shows them.
        """
        names = {each.topic_id: name for name, each in self._journal.known.topics.items() if name in topics}
        for group, handed in self._handed(self._journal.known.offsets, names):
            committed = self._new.offsets(group)
            for each, known in handed.items():
                yield _verified("offsets", group, each, known, committed[each].offset if each in committed else -1)
        for group, handed in self._handed(self._journal.known.states, names):
            starts = self._new.begun(group)
            states = self._new.read(group, [each for each in handed if each in starts])
            for each, known in handed.items():
                row = _verified("share-group", group, each, known, starts.get(each, -1))
                yield row if row.outcome == "differs" else _with_state(row, known, states.get(each))

    def _handed(
        self, handed: Mapping[journal.OfGroup, Handed], names: Mapping[str, str]
    ) -> list[tuple[str, dict[Partition, Handed]]]:
        """Return the positions already written, by group."""
        found: dict[str, dict[Partition, Handed]] = {}
        for (group, topic_id, number), each in sorted(handed.items()):
            if topic_id in names and self._is_wanted(group):
                found.setdefault(group, {})[names[topic_id], number] = each
        return list(found.items())

    def _hand_over(
        self,
        group: str,
        entry: Callable[[str, Copied, Handed], Entry],
        handed: Mapping[Partition, Handed],
        rows: list[MigrationRow],
        write: Callable[[], None],
    ) -> list[MigrationRow]:
        """Write the progress of a group, with an entry in the journal before and after.

        Return its rows, refused if the target refuses.
        """
        copied = {self._journal.known.copied(*partition): each for partition, each in handed.items()}
        if not copied:
            return rows
        self._journal.write([entry(group, partition, each) for partition, each in copied.items()])
        try:
            write()
        except BrokerError as error:
            if is_transient(error):
                raise
            return [row._replace(outcome="refused", note=str(error)) if row.outcome == "moved" else row for row in rows]
        self._journal.write(
            [entry(group, partition, each._replace(is_done=True)) for partition, each in copied.items()]
        )
        return rows

    def _map(self, partition: Partition, offsets: Collection[int]) -> dict[int, int]:
        return downstream(self._journal, self._journal.known.copied(*partition), offsets)

    def _is_done(self, handed: Mapping[journal.OfGroup, Handed], group: str, partition: Partition) -> bool:
        known = handed.get((group, *self._journal.known.copied(*partition)))
        return known is not None and known.is_done


def _verified(
    kind: Literal["offsets", "share-group"], group: str, partition: Partition, handed: Handed, found: int
) -> MigrationRow:
    topic, number = partition
    row = MigrationRow(kind, group, number, "verified", target_end=handed.offset, note=topic)
    if not handed.is_done:
        return row._replace(outcome="differs", note=f"{topic}: the cut-over was not finished: run it again")
    if found < handed.offset:
        return row._replace(outcome="differs", note=f"{topic}: the group is at {found} at the target")
    return row if found == handed.offset else row._replace(note=f"{topic}: has gone on to {found}")


def _with_state(row: MigrationRow, handed: Handed, found: ShareState | None) -> MigrationRow:
    """Complete the row of a share partition with the right start: compare the states of records behind it."""
    given = ShareState(handed.offset, handed.ranges)
    if not handed.takes_ranges or found is None:
        why = "does not show" if handed.takes_ranges else "does not take"
        count = sum(each.last - each.first + 1 for each in given.ranges)
        note = f"{row.note}; states of {count} records behind the start are not compared: the target {why} them"
        return row._replace(note=note) if count else row
    gone_on, differ = compared(given, found)
    if differ:
        note = f"{row.note}; {differ} records behind the start have other states at the target"
        return row._replace(outcome="differs", note=note)
    return row._replace(note=f"{row.note}; with {gone_on} records behind it, too") if gone_on else row
