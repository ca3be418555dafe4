"""Registers: committed offsets, topics by name, configurations. A read returns the last or an overlapping write."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from tests.campaign.history.anomalies import Analysis, Anomaly
from tests.campaign.history.index import Index
from tests.campaign.history.operations import Operation, Outcome


class _Write(NamedTuple):
    one: Operation
    value: str | None


def lost_updates(index: Index) -> Iterator[Anomaly]:
    """Report register reads whose value was written by nobody, or only by writes that were certainly overwritten
    before.
    """
    writes: dict[str, list[_Write]] = defaultdict(list)
    for one, transfer in index.transfers():
        if one.outcome is not Outcome.FAIL:
            for name, value in transfer.writes.items():
                writes[name].append(_Write(one, value))
    for one, transfer in index.transfers():
        if one.outcome is Outcome.OK:
            for name, value in transfer.observed.items():
                candidates = _candidates(writes[name], one)
                if value not in candidates:
                    shown = ", ".join(sorted(map(str, candidates)))
                    text = f"{name}: {one.process} read {value}, not one of {shown}"
                    yield Anomaly(Analysis.LOST_UPDATE, text, name)


def _candidates(writes: list[_Write], read: Operation) -> set[str | None]:
    done = [write for write in writes if write.one.end < read.invoked]
    begun = [write for write in writes if write.one.invoked < read.end]
    newest = max((write.one.invoked for write in done), default=None)
    if newest is None:
        return {None, *(write.value for write in begun)}
    return {write.value for write in begun if write.one.end >= newest}
