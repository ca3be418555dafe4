"""The analyses of jepsen.tests.kafka over logs: lost, duplicate, unordered and improper reads.

As in Jepsen, the values of a place are ordered by the offsets that clients received, once all agree on them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise

from tests.campaign.history.anomalies import Analysis, Anomaly
from tests.campaign.history.index import Index
from tests.campaign.history.operations import (
    Bounds,
    Drained,
    Operation,
    Outcome,
    Place,
    Record,
    Refused,
    Seek,
    Transfer,
)

Rule = Callable[[Index], Iterator[Anomaly]]


def inconsistent_offsets(index: Index) -> Iterator[Anomaly]:
    for place, log in index.logs.items():
        for offset, known, value in log.conflicts:
            yield Anomaly(Analysis.INCONSISTENT_OFFSETS, f"{place} at {offset}: {known} and {value}")


def duplicates(index: Index) -> Iterator[Anomaly]:
    for place, log in index.logs.items():
        offsets = defaultdict(list)
        for offset, value in log.order.items():
            offsets[value].append(offset)
        for value, several in offsets.items():
            if len(several) > 1:
                yield Anomaly(Analysis.DUPLICATE, f"{place}: {value} at {sorted(several)}")


def lost_writes(index: Index) -> Iterator[Anomaly]:
    """Report required records that readers have passed without reading.

    If a place was not drained, as in Jepsen: records below the highest offset read that nobody read.
    """
    read = _read_values(index)
    for value, (_, record) in index.writers.items():
        place, offset = record.place, _offset(index, record)
        if offset is None or value in read or not index.is_durable(value) or index.may_be_gone(place, offset, value):
            continue
        log = index.logs[place]
        if log.drained is not None or offset <= log.highest_read:
            yield Anomaly(Analysis.LOST_WRITE, f"{place} at {offset}: {value}", value)
        else:
            yield Anomaly(Analysis.UNSEEN, f"{place} at {offset}: {value}", value)


def _offset(index: Index, record: Record) -> int | None:
    if record.offset is not None:
        return record.offset
    reader = index.read_committed.get(record.value)
    if reader is None:
        return None
    return next((one.offset for one in _reads(reader) if one.value == record.value), None)


def _reads(one: Operation) -> tuple[Record, ...]:
    match one.value:
        case Transfer(reads=reads):
            return reads
        case Drained(records=records):
            return records
        case _:
            return ()


def _read_values(index: Index) -> set[str]:
    """Return the values that were read last: by the drain of its place, otherwise by any reader."""
    drained = {place for place, log in index.logs.items() if log.drained is not None}
    found: set[str] = set()
    for one in index.history.operations:
        is_drain = isinstance(one.value, Drained)
        found.update(record.value for record in _reads(one) if is_drain or record.place not in drained)
    return found


def aborted_and_garbage_reads(index: Index) -> Iterator[Anomaly]:
    for one in index.history.operations:
        committed_only = not isinstance(one.value, Transfer) or one.value.read_committed
        for record in _reads(one):
            writer = index.writers.get(record.value)
            if writer is None:
                yield Anomaly(Analysis.GARBAGE, f"{one.process} read {record}")
            elif writer[0].outcome is Outcome.FAIL and (committed_only or not _is_transactional(writer[0])):
                yield Anomaly(Analysis.ABORTED_READ, f"{one.process} read {record}")
            elif writer[1].place != record.place:
                yield Anomaly(Analysis.GARBAGE, f"{one.process} read {record}, sent to {writer[1].place}")


def _is_transactional(one: Operation) -> bool:
    return isinstance(one.value, Transfer) and one.value.transactional


def intermediate_reads(index: Index) -> Iterator[Anomaly]:
    for one, transfer in index.transfers():
        if not transfer.transactional or one.outcome is Outcome.FAIL:
            continue
        seen, gone = [], []
        for record in transfer.sends:
            log = index.logs.get(record.place)
            if log is None or log.drained is None:
                break
            offset = _offset(index, record)
            if record.value in index.read_committed:
                seen.append(record.value)
            elif offset is None or not index.may_be_gone(record.place, offset, record.value):
                gone.append(record.value)
        else:
            if seen and gone and not _uncertain_place(index, transfer):
                yield Anomaly(Analysis.INTERMEDIATE_READ, f"{one.process}: {seen} without {gone}")


def _uncertain_place(index: Index, transfer: Transfer) -> bool:
    """Return True if records of unknown offset may have been removed from a place that removes records."""
    return any(
        record.offset is None
        and (
            index.logs[record.place].floor > 0
            or record.place.topic in index.deleted
            or (record.place.topic in index.created and index.created[record.place.topic].compacted)
        )
        for record in transfer.sends
    )


def precommitted_reads(index: Index) -> Iterator[Anomaly]:
    """Report a transaction that reads its own writes."""
    for one, transfer in index.transfers():
        if transfer.transactional and transfer.read_committed:
            own = {record.value for record in transfer.sends}
            for record in transfer.reads:
                if record.value in own:
                    yield Anomaly(Analysis.PRECOMMITTED_READ, f"{one.process} read {record}")


def polls_within(index: Index) -> Iterator[Anomaly]:
    """Report reads of one operation that do not follow the log, or leave records out."""
    for one, transfer in index.transfers():
        for place, reads in _by_place(transfer.reads).items():
            for before, after in pairwise(reads):
                yield from _step(index, place, before, after, one, internal=True)


def polls_across(index: Index) -> Iterator[Anomaly]:
    """Report a process that does not continue where its last read ended, without a seek or failed transaction."""
    last: dict[tuple[str, Place], Record] = {}
    for one in index.history.operations:
        if isinstance(one.value, Seek):
            for place in one.value.places:
                last.pop((one.process, place), None)
        elif isinstance(one.value, Transfer) and one.outcome is Outcome.OK:
            for place, reads in _by_place(one.value.reads).items():
                if (before := last.get((one.process, place))) is not None:
                    yield from _step(index, place, before, reads[0], one, internal=False)
                last[one.process, place] = reads[-1]


def _step(
    index: Index, place: Place, before: Record, after: Record, one: Operation, *, internal: bool
) -> Iterator[Anomaly]:
    assert before.offset is not None
    assert after.offset is not None
    where = f"{one.process}, {place}: {before.offset} ({before.value}), then {after.offset} ({after.value})"
    if after.offset <= before.offset:
        yield Anomaly(Analysis.INT_NONMONOTONIC_POLL if internal else Analysis.NONMONOTONIC_POLL, where)
    elif skipped := index.logs[place].between(before.offset, after.offset):
        yield Anomaly(Analysis.INT_POLL_SKIP if internal else Analysis.POLL_SKIP, f"{where} without {skipped[:5]}")


def nonmonotonic_sends(index: Index) -> Iterator[Anomaly]:
    """Report a process's sends that are out of order in the log."""
    last: dict[tuple[str, Place], int] = {}
    for one, transfer in index.transfers():
        for place, sends in _by_place(transfer.sends).items():
            offsets = [record.offset for record in sends if record.offset is not None]
            for before, after in pairwise(offsets):
                if after <= before:
                    text = f"{one.process}, {place}: {after} after {before}"
                    yield Anomaly(Analysis.INT_NONMONOTONIC_SEND, text)
            known = last.get((one.process, place), -1)
            if offsets and offsets[0] <= known:
                yield Anomaly(Analysis.NONMONOTONIC_SEND, f"{one.process}, {place}: {offsets[0]} after {known}")
            if offsets:
                last[one.process, place] = max(offsets)


def _by_place(records: tuple[Record, ...]) -> dict[Place, list[Record]]:
    found: dict[Place, list[Record]] = {}
    for record in records:
        found.setdefault(record.place, []).append(record)
    return found


def deleted_reads(index: Index) -> Iterator[Anomaly]:
    for one in index.history.operations:
        for record in _reads(one):
            for deletion in index.deleted.get(record.place.topic, ()):
                if deletion.is_before(one):
                    yield Anomaly(Analysis.DELETED_READ, f"{one.process} read {record} of a deleted topic")
            for trim, before in index.trims.get(record.place, ()):
                if trim.is_before(one) and (record.offset or 0) < before:
                    yield Anomaly(Analysis.DELETED_READ, f"{one.process} read {record}, deleted below {before}")


def moved_starts(index: Index) -> Iterator[Anomaly]:
    """Report a log start that goes back, or below a deletion."""
    known: dict[Place, list[tuple[Operation, int]]] = defaultdict(list)
    for place, trims in index.trims.items():
        known[place] += [(one, before) for one, before in trims if one.outcome is Outcome.OK]
    for one in index.history.operations:
        if isinstance(one.value, Bounds | Drained):
            known[one.value.place].append((one, one.value.start))
    for place, starts in known.items():
        yield from _moved_back(Analysis.START_MOVED_BACK, str(place), starts)


def _moved_back(analysis: Analysis, what: str, seen: list[tuple[Operation, int]]) -> Iterator[Anomaly]:
    """Report values below the greatest one that was answered before their operation began."""
    ended = sorted((one.end, value) for one, value in seen)
    highest, upto = -1, 0
    for one, value in sorted(seen, key=lambda each: each[0].invoked):
        while upto < len(ended) and ended[upto][0] < one.invoked:
            highest = max(highest, ended[upto][1])
            upto += 1
        if value < highest and isinstance(one.value, Bounds | Drained):
            yield Anomaly(analysis, f"{what}: {value} after {highest}")


def refusals(index: Index) -> Iterator[Anomaly]:
    """Report answers that only lost state explains."""
    for one in index.history.operations:
        if isinstance(one.value, Refused):
            yield Anomaly(Analysis.REFUSED, f"{one.process}: {one.value.what}")


RULES: tuple[Rule, ...] = (
    inconsistent_offsets,
    duplicates,
    lost_writes,
    aborted_and_garbage_reads,
    intermediate_reads,
    precommitted_reads,
    polls_within,
    polls_across,
    nonmonotonic_sends,
    deleted_reads,
    moved_starts,
    refusals,
)
