"""The records in flight of a share group, by partition: from the records API, or from the log of states."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Final, NamedTuple

from shareq.client.admin.calls import NotFound, Partition, only
from shareq.client.core.list_offsets import LATEST
from shareq.client.errors import ClientError
from shareq.ops.cli.output.printing import duration, printable
from shareq.ops.cli.share.plot import has_colour, plot, width_of_terminal
from shareq.ops.cli.share.record_choice import FINISHED
from shareq.ops.cli.shared.command import Session, now_ms
from shareq.ops.cli.shared.exits import say
from shareq.ops.records_api import RangeRow, RecordsApi
from shareq.ops.share_states import WRITTEN, StoredState, stored_states
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import RecordState

NOTE: Final = (
    "as the cluster has written it down: a record that is unfinished is available, or locked by a member; "
    "which, by whom and since when, no broker says without the records API (--api)"
)


class Full(NamedTuple):
    """A full window: the number in flight, the limit, and the number of records behind it."""

    in_flight: int
    limit: int
    behind: int


class Window(NamedTuple):
    """A share partition: its start offset (None: not resolved), high watermark (None: unknown), and ranges in between.

    `ranges` takes the first offset, states (none: all) and a member. `finished`: how many offsets are acknowledged or
    archived behind an unfinished one. `full`: only the records API knows.
    """

    topic: str
    partition: int
    start: int | None
    end: int | None
    ranges: Callable[[int, Collection[str], str | None], Iterator[RangeRow]]
    finished: int
    full: Full | None = None


def windows(
    session: Session, api: RecordsApi | None, group: str, topics: Collection[str], partitions: Collection[Partition]
) -> Iterator[Window]:
    """Yield a group's windows, by topic and number: of these topics and partitions, or of all if none are given.

    Raise NotFound for a group that has begun none of them.
    """

    def is_wanted(topic: str, number: int) -> bool:
        return not (topics or partitions) or topic in topics or (topic, number) in partitions

    found = _of_api(api, group, is_wanted) if api is not None else _of_states(session, group, is_wanted)
    count = 0
    for each in found:
        count += 1
        yield each
    if api is not None:
        session.notes += sorted(api.missing)
    if not count:
        raise NotFound(
            ErrorCode.RESOURCE_NOT_FOUND, f"share group {group}", "It has not begun with any partition there."
        )


def _of_api(api: RecordsApi, group: str, is_wanted: Callable[[str, int], bool]) -> Iterator[Window]:
    for row in api.partitions(group):
        topic, number = row["topic"], row["partition"]
        if is_wanted(topic, number):

            def ranges(
                first: int, states: Collection[str], member: str | None, topic: str = topic, number: int = number
            ) -> Iterator[RangeRow]:
                return api.ranges(group, topic, number, first=first, states=states, member=member)

            finished = sum(row["states"].get(state, 0) for state in FINISHED)
            yield Window(
                topic=topic,
                partition=number,
                start=row["start_offset"],
                end=row["high_watermark"],
                ranges=ranges,
                finished=finished,
                full=_full(row),
            )


def _full(row: dict[str, Any]) -> Full | None:
    """Read a full window from a row of the API. Return None if no records are waiting behind it."""
    if row["start_offset"] is None or row["high_watermark"] is None:
        return None
    full = Full(row["in_flight"], row["in_flight_limit"], row["high_watermark"] - row["end_offset"])
    return full if full.in_flight >= full.limit and full.behind > 0 else None


def why_full(window: Window) -> str | None:
    """Return a sentence on a full window: the records behind it, and the offset that must be finished first.

    Return None for a window that accepts more records.
    """
    if window.full is None:
        return None
    first = next(window.ranges(window.start or 0, (), None), None)
    return (
        f"the window is full ({window.full.in_flight:,} of {window.full.limit:,}, share.partition.max.record.locks): "
        f"{window.full.behind:,} records behind it wait for offset {window.start}{_in_hand(first)}"
    )


def _in_hand(first: RangeRow | None) -> str:
    """Return the end of the sentence: who has held the record that blocks a full window, or why nobody holds it."""
    if first is None:
        return ""
    if first.member is not None and first.since_ms is not None:
        client = f" ({first.client_id} at {first.host})" if first.client_id is not None else ""
        return f", which {first.member}{client} has had for {duration(max(0, first.at_ms - first.since_ms))}"
    if first.state == "delayed" and first.until_ms is not None:
        return f", which is delayed for {duration(max(0, first.until_ms - first.at_ms))} more"
    return f", which is {first.state}"


def _of_states(session: Session, group: str, is_wanted: Callable[[str, int], bool]) -> Iterator[Window]:
    only(dict(session.admin.share_groups.describe([group])), group)
    positions = only(dict(session.admin.share_groups.offsets([group])), group)
    wanted = sorted(each for each in positions if is_wanted(*each))
    states = stored_states(session.network, group, wanted) if wanted else {}
    ends = session.admin.topics.offsets(dict.fromkeys(wanted, LATEST))
    for partition in wanted:
        state, last = states[partition], ends[partition]
        end = None if isinstance(last, ClientError) else last.offset
        if isinstance(state, ClientError):
            session.failed(state)
            continue
        rows = tuple(_rows(state, end))

        def ranges(
            first: int, states: Collection[str], member: str | None, rows: Collection[RangeRow] = rows
        ) -> Iterator[RangeRow]:
            del member
            for row in rows:
                if row.last >= first and (not states or row.state in states):
                    yield row._replace(first=max(row.first, first))

        finished = sum(row.last - row.first + 1 for row in rows if row.state in FINISHED)
        yield Window(*partition, state.start, end, ranges, finished)


def _rows(state: StoredState, end: int | None) -> Iterator[RangeRow]:
    """Yield the rows from the start offset to the high watermark, `end`, which is exclusive."""
    if state.start is None:
        return
    at_ms, position = now_ms(), state.start

    def row(first: int, last: int, name: str, deliveries: int | None) -> RangeRow:
        return RangeRow(
            first=first,
            last=last,
            state=name,
            pending=False,
            deliveries=deliveries,
            member=None,
            client_id=None,
            host=None,
            since_ms=None,
            until_ms=None,
            in_flight_ms=None,
            behind=None,
            at_ms=at_ms,
        )

    for first, last, number, deliveries in state.batches:
        if position < first:
            yield row(position, first - 1, "unfinished", None)
        name = "unfinished" if number == RecordState.AVAILABLE else WRITTEN.get(number, "unfinished")
        yield row(first, last, name, deliveries)
        position = last + 1
    if end is not None and position < end:
        yield row(position, end - 1, "unfinished", None)


def draw_windows(session: Session, api: RecordsApi | None, groups: Iterable[str]) -> None:
    """Print the strips of groups, partition by partition."""
    colour, width = has_colour(), width_of_terminal()
    for group in groups:
        for window in windows(session, api, group, (), ()):
            rows = list(window.ranges(0, (), None))
            rest = 0
            if api is None and rows and rows[-1].deliveries is None:
                last = rows.pop()  # nothing is written down of these: most of them may never have been read
                rest = last.last - last.first + 1
            name = f"{group} {window.topic}:{window.partition}"
            sys.stdout.writelines(f"{line}\n" for line in ("", *plot(printable(name), rows, width, colour=colour)))
            if why := why_full(window):
                sys.stdout.write(f"  {why}\n")
            if rest:
                sys.stdout.write(f"  and {rest:,} offsets behind them, of which nothing is written down\n")
    if api is None:
        say(NOTE)
