"""Cycles of operations: each came before the next, and the last before the first.

Edges, as Elle draws them for jepsen.tests.kafka: *ww* between writers of neighbouring offsets (transactions left out:
Apache Kafka lets them interleave), *wr* from a writer to those who read it (of a transaction, to readers of committed
records), and *realtime* from an operation to those that began after its answer. Realtime edges go over a chain of
moments, so that there are as many as operations.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence

from tests.campaign.history.anomalies import Analysis, Anomaly
from tests.campaign.history.index import Index
from tests.campaign.history.operations import Operation, Outcome, Transfer

Edges = dict[int, list[int]]


def cycles(index: Index) -> Iterator[Anomaly]:
    operations = [one for one in index.history.operations if _counts(one)]
    numbers = {id(one): number for number, one in enumerate(operations)}
    realtime = _realtime(operations)
    writes = _writes(index, numbers)
    reads = _reads(operations, index, numbers)
    for analysis, parts in (
        (Analysis.WRITE_CYCLE, (realtime, writes)),
        (Analysis.INFORMATION_CYCLE, (realtime, writes, reads)),
    ):
        found = False
        for knot in knots(_merged(parts), len(operations)):
            found = True
            names = ", ".join(f"{operations[number].process}#{number}" for number in sorted(knot)[:6])
            yield Anomaly(analysis, f"{len(knot)} operations: {names}")
        if found:
            return  # what is a cycle of writes is one with reads, too


def _counts(one: Operation) -> bool:
    return isinstance(one.value, Transfer) and one.outcome is not Outcome.FAIL


def _merged(parts: Sequence[Edges]) -> Edges:
    merged: Edges = defaultdict(list)
    for part in parts:
        for start, ends in part.items():
            merged[start] += ends
    return merged


def _realtime(operations: Sequence[Operation]) -> Edges:
    """Return the realtime edges: operation i is node i; answers in order are the nodes from len(operations) on."""
    base = len(operations)
    answered = sorted((one.end, number) for number, one in enumerate(operations) if one.outcome is Outcome.OK)
    times = [end for end, _ in answered]
    edges: Edges = defaultdict(list)
    for position, (_, number) in enumerate(answered):
        edges[number].append(base + position)
        if position:
            edges[base + position - 1].append(base + position)
    for number, one in enumerate(operations):
        if position := bisect_left(times, one.invoked):
            edges[base + position - 1].append(number)
    return edges


def _writes(index: Index, numbers: dict[int, int]) -> Edges:
    edges: Edges = defaultdict(list)
    for log in index.logs.values():
        previous = None
        for offset in sorted(log.order):
            writer = index.writers.get(log.order[offset])
            if writer is None or id(writer[0]) not in numbers or writer[0].value.transactional:  # type: ignore[union-attr]
                continue
            number = numbers[id(writer[0])]
            if previous is not None and previous != number:
                edges[previous].append(number)
            previous = number
    return edges


def _reads(operations: Sequence[Operation], index: Index, numbers: dict[int, int]) -> Edges:
    edges: Edges = defaultdict(list)
    for number, one in enumerate(operations):
        assert isinstance(one.value, Transfer)
        writers = {
            numbers[id(writer[0])]
            for record in one.value.reads
            if (writer := index.writers.get(record.value)) is not None
            and id(writer[0]) in numbers
            and (one.value.read_committed or not writer[0].value.transactional)  # type: ignore[union-attr]
        }
        for writer_number in writers - {number}:
            edges[writer_number].append(number)
    return edges


def knots(edges: Edges, below: int) -> Iterator[list[int]]:
    """Return the strongly connected components (Tarjan's) with at least two nodes below `below`; of each, only those
    nodes.
    """
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    on_path: set[int] = set()
    path: list[int] = []
    for root in list(edges):
        if root in order:
            continue
        work = [(root, iter(edges.get(root, ())))]
        _enter(root, order, low, path, on_path)
        while work:
            node, rest = work[-1]
            following = next(rest, None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == order[node]:
                    members = [one for one in _leave(node, path, on_path) if one < below]
                    if len(members) > 1:
                        yield members
            elif following not in order:
                _enter(following, order, low, path, on_path)
                work.append((following, iter(edges.get(following, ()))))
            elif following in on_path:
                low[node] = min(low[node], order[following])


def _enter(node: int, order: dict[int, int], low: dict[int, int], path: list[int], on_path: set[int]) -> None:
    order[node] = low[node] = len(order)
    path.append(node)
    on_path.add(node)


def _leave(node: int, path: list[int], on_path: set[int]) -> list[int]:
    members = []
    while True:
        member = path.pop()
        on_path.discard(member)
        members.append(member)
        if member == node:
            return members
