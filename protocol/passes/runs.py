"""Passes over the runs of an in-flight batch, for fetches, acknowledgements and state writes. Pure.

A batch's runs are two lists: `starts`, ascending, and the status of each run; the last run ends at `end` (exclusive).
With order by key most runs have one or two records, so the cost of a pass for each run counts as much as the rest of a
request. Statuses are compared as objects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from mypy_extensions import i64


_FAR: Final = 0x7FFF_FFFF_FFFF_FFFF  # no row reaches it


def find(starts: list[Any], offset: i64, low: i64) -> i64:
    """Return the first index from `low` on whose start is at or above `offset`; the number of starts if none is."""
    high: i64 = len(starts)
    step: i64 = 1
    while low + step < high:
        start: i64 = starts[low + step]
        if start >= offset:
            high = low + step + 1
            break
        low += step
        step += step
    while low < high:
        middle: i64 = (low + high) // 2
        start = starts[middle]
        if start < offset:
            low = middle + 1
        else:
            high = middle
    return low


def ascend(numbers: list[Any], highest: i64) -> bool:
    """Return True if the ranges of `numbers` ascend, and all their types are among 0..highest.

    A range has three numbers: its first and last offset (inclusive), and its type. It may begin at the last offset of
    the range before it.
    """
    size: i64 = len(numbers)
    at: i64 = 0
    before: i64 = -1
    while at < size:
        first: i64 = numbers[at]
        last: i64 = numbers[at + 1]
        kind: i64 = numbers[at + 2]
        if first < before or last < first or kind < 0 or kind > highest:
            return False
        before = last
        at += 3
    return True


def accept(
    starts: list[Any],
    statuses: list[Any],
    end: i64,
    acks: list[Any],
    at: i64,
    owned: Any,
    target: Any,
    rows: list[Any],
    new_row: Any,
    row_type: Any,
) -> tuple[int, int, int]:
    """Apply acknowledgements from index `at` on to runs, up to the first one that this pass does not handle.

    It handles an acknowledgement that accepts exactly one run, which has the status `owned` and no neighbour of the
    status `target`. The run gets the status `target`, and the rows to write are appended to `rows`.

    `acks` has three numbers for each acknowledgement: its first and last offset (inclusive), and its type, which is 1
    if it accepts. Returns the index of the first acknowledgement that was not applied, the number of accepted offsets,
    and the last of them, or -1. `new_row(row_type, (first, last, state, count))` makes a row; a row that continues the
    last one, with the same state and count, extends it instead.
    """
    count: i64 = len(acks) // 3
    runs: i64 = len(starts)
    index: i64 = 0
    offsets: i64 = 0
    last: i64 = -1
    row_last: i64 = -2
    if len(rows) > 0:
        row_last = rows[-1][1]
    state: Any = target.state
    deliveries: Any = target.delivery_count
    while at < count:
        kind: i64 = acks[3 * at + 2]
        if kind != 1:
            break
        first_offset: Any = acks[3 * at]
        last_offset: Any = acks[3 * at + 1]
        first: i64 = first_offset
        index = find(starts, first, index)
        if index == runs or statuses[index] is not owned:
            break
        start: i64 = starts[index]
        behind: i64 = end
        if index + 1 < runs:
            behind = starts[index + 1]
            if statuses[index + 1] is target:
                break
        ack_last: i64 = last_offset
        if start != first or ack_last != behind - 1 or (index > 0 and statuses[index - 1] is target):
            break
        statuses[index] = target
        if row_last == first - 1 and rows[-1][2] == state and rows[-1][3] == deliveries:
            rows[-1] = new_row(row_type, (rows[-1][0], last_offset, state, deliveries))
        else:
            rows.append(new_row(row_type, (first_offset, last_offset, state, deliveries)))
        row_last = ack_last
        last = ack_last
        offsets += behind - first
        at += 1
    return at, offsets, last


def from_front(
    starts: list[Any],
    statuses: list[Any],
    end: i64,
    first: i64,
    last: i64,
    waits: Any,
    taken: i64,
    passed: i64,
    fetch_cost: i64,
    far: float,
) -> tuple[list[Any], int, int]:
    """Return available parts from the front, the number with the lowest cost per offset, and `passed` after these.

    A part is (first, last (inclusive), status): a run, cut to the offsets from `first`, which is in a run, to `last`
    (both inclusive). `taken` offsets were taken before, with `passed` runs of the state `waits` in front of them. A
    choice of parts costs `fetch_cost`, and 1 for each part behind such a run. The search ends when the cost per offset
    exceeds `far` times the lowest one.
    """
    parts: list[Any] = []
    chosen: i64 = 0
    chosen_passed: i64 = passed
    least: float = 1.0e300
    if taken > 0:
        least = float(fetch_cost + passed) / float(taken)
    waited: bool = False
    count: i64 = len(starts)
    index: i64 = find(starts, first + 1, 0) - 1
    seen: Any = None
    available: bool = False
    waiting: bool = False
    while index < count:
        start: Any = starts[index]
        run_first: i64 = start
        if run_first > last:
            break
        status: Any = statuses[index]
        index += 1
        if status is not seen:
            seen = status
            available = status.available
            waiting = not available and status.state is waits
        if not available:
            waited = waiting
            continue
        run_last: i64 = end - 1
        if index < count:
            run_last = starts[index]
            run_last -= 1
        if run_last > last:
            run_last = last
        if run_first < first:
            run_first = first
        taken += run_last - run_first + 1
        if waited:
            passed += 1
            waited = False
        parts.append((run_first, run_last, status))
        cost: float = float(fetch_cost + passed) / float(taken)
        if cost <= least:
            least = cost
            chosen = len(parts)
            chosen_passed = passed
        elif cost > least * far:
            break
    return parts, chosen, chosen_passed


def hand_out(
    starts: list[Any],
    statuses: list[Any],
    end: i64,
    parts: list[Any],
    at: i64,
    old: Any,
    new: Any,
    ranges: list[Any],
    new_range: Any,
    range_type: Any,
) -> int:
    """Give runs the status `new`, as long as each part from `parts[at]` on is a whole run of the status `old`.

    For each of them `new_range(range_type, (first, last, delivery count))` is appended to `ranges`. Return the index of
    the first part that is no such run. No neighbour of the runs may have the status `new`.
    """
    count: i64 = len(parts)
    runs: i64 = len(starts)
    index: i64 = 0
    deliveries: Any = new.delivery_count
    while at < count:
        part: Any = parts[at]
        first: i64 = part[0]
        last: i64 = part[1]
        index = find(starts, first, index)
        if index == runs or statuses[index] is not old or part[2] is not old:
            break
        start: i64 = starts[index]
        behind: i64 = end
        if index + 1 < runs:
            behind = starts[index + 1]
        if start != first or behind != last + 1:
            break
        statuses[index] = new
        ranges.append(new_range(range_type, (part[0], part[1], deliveries)))
        at += 1
    return at


def settle(
    starts: list[Any], statuses: list[Any], end: i64, write_id: int
) -> tuple[list[Any], list[Any], list[Any], int]:
    """Settle the runs that the state write `write_id` left pending; return the new starts and statuses of all runs.

    Neighbours of the same status are joined. Also return the settled runs, as (first, last (inclusive), status), and
    the lowest available offset, or -1.
    """
    new_starts: list[Any] = []
    new_statuses: list[Any] = []
    changed: list[Any] = []
    lowest: i64 = -1
    last: Any = None
    seen: Any = None
    after: Any = None
    pending: bool = False
    runs: i64 = len(starts)
    index: i64 = 0
    while index < runs:
        start: Any = starts[index]
        status: Any = statuses[index]
        index += 1
        if status is not seen:
            seen = status
            after = status
            pending = status.write_id == write_id
            if pending and status.after is not None:
                after = status.after
        if pending:
            behind: i64 = end
            if index < runs:
                behind = starts[index]
            changed.append((start, behind - 1, after))
        if after is not last:
            new_starts.append(start)
            new_statuses.append(after)
            last = after
            if lowest < 0 and after.available:
                lowest = start
    return new_starts, new_statuses, changed, lowest


def overlay(one: list[Any], other: list[Any], new_row: Any, row_type: Any) -> list[Any]:
    """Merge two lists of ascending, disjoint rows (first, last (inclusive), state, count) into one such list.

    Where both lists have a row, the one with the higher (count, state) is used. Neighbours that could be one row are
    joined. `new_row(row_type, (first, last, state, count))` makes a row.
    """
    found: list[Any] = []
    at: i64 = 0
    row: Any = _row(one, 0)  # the next row; None once a part of it was used
    first, last, state, count = _fields(row)
    rival_at: i64 = 0
    rival: Any = _row(other, 0)
    rival_first, rival_last, rival_state, rival_count = _fields(rival)
    put: Any = None  # the last row, which the next part may extend; None if it has to be made
    put_first: i64 = -2
    put_last: i64 = -2
    put_state: i64 = 0
    put_count: i64 = 0
    while first != _FAR or rival_first != _FAR:
        begin: i64 = first if first < rival_first else rival_first
        stop: i64 = last if first == begin else first - 1
        rival_stop: i64 = rival_last if rival_first == begin else rival_first - 1
        if rival_stop < stop:
            stop = rival_stop
        if first == begin and stop < last:
            row = None
        if rival_first == begin and stop < rival_last:
            rival = None
        part: Any = row
        part_state: i64 = state
        part_count: i64 = count
        if first != begin or (
            rival_first == begin and (rival_count > count or (rival_count == count and rival_state > state))
        ):
            part = rival
            part_state = rival_state
            part_count = rival_count
        if put_last == begin - 1 and put_state == part_state and put_count == part_count:
            put = None
        else:
            _put_row(found, put, put_first, put_last, put_state, put_count, new_row, row_type)
            put = part
            put_first = begin
            put_state = part_state
            put_count = part_count
        put_last = stop
        if first == begin:
            first = stop + 1
            if stop == last:
                at += 1
                row = _row(one, at)
                first, last, state, count = _fields(row)
        if rival_first == begin:
            rival_first = stop + 1
            if stop == rival_last:
                rival_at += 1
                rival = _row(other, rival_at)
                rival_first, rival_last, rival_state, rival_count = _fields(rival)
    _put_row(found, put, put_first, put_last, put_state, put_count, new_row, row_type)
    return found


def _row(rows: list[Any], at: i64) -> Any:
    return rows[at] if at < len(rows) else None


def _fields(row: Any) -> tuple[i64, i64, i64, i64]:
    """Return the row's numbers, unpacked all at once, which is far quicker than one by one.

    Without a row, first and last are `_FAR`, and state and count 0.
    """
    if row is None:
        return _FAR, _FAR, 0, 0
    fields: tuple[i64, i64, i64, i64] = row
    return fields


def _put_row(
    found: list[Any], row: Any, first: i64, last: i64, state: i64, count: i64, new_row: Any, row_type: Any
) -> None:
    """Append `row`, or a new row if it is None; nothing if `last` is negative."""
    if last >= 0:
        if row is None:
            row = new_row(row_type, (first, last, state, count))
        found.append(row)


def is_combined(rows: list[Any]) -> bool:
    """Return True if these rows are ascending and disjoint, and no two neighbours could be one row."""
    end: i64 = -2
    end_state: i64 = -1
    end_count: i64 = -1
    for row in rows:
        first, last, state, count = _fields(row)
        if first <= end or (first == end + 1 and state == end_state and count == end_count):
            return False
        end = last
        end_state = state
        end_count = count
    return True


def is_account(rows: list[Any], row_type: Any, states: i64) -> bool:
    """Return True if all of these are valid rows of the type `row_type`, and combined as in `is_combined`.

    A row is valid if first <= last, no number is below 0, and the bit of its state is set in `states`.
    """
    end: i64 = -2
    end_state: i64 = -1
    end_count: i64 = -1
    for row in rows:
        if type(row) is not row_type:
            return False
        first, last, state, count = _fields(row)
        if first < 0 or last < first or count < 0 or state < 0 or state > 62 or (states >> state) & 1 == 0:
            return False
        if first <= end or (first == end + 1 and state == end_state and count == end_count):
            return False
        end = last
        end_state = state
        end_count = count
    return True


def available_in(starts: list[Any], statuses: list[Any], end: i64, first: i64, last: i64) -> tuple[int, int]:
    """Return the number of available offsets from `first` to `last` (both inclusive), and the highest of them, or -1.

    `first` must be in a run.
    """
    count: i64 = 0
    highest: i64 = -1
    runs: i64 = len(starts)
    index: i64 = find(starts, first + 1, 0) - 1
    seen: Any = None
    available: bool = False
    while index < runs:
        run_first: i64 = starts[index]
        if run_first > last:
            break
        status: Any = statuses[index]
        index += 1
        if status is not seen:
            seen = status
            available = status.available
        if available:
            run_last: i64 = end - 1
            if index < runs:
                run_last = starts[index]
                run_last -= 1
            if run_last > last:
                run_last = last
            if run_first < first:
                run_first = first
            count += run_last - run_first + 1
            highest = run_last
    return count, highest


def edges(ranges: list[Any], at: i64, base: i64, last: i64) -> tuple[list[int], int]:
    """Return the parts of ranges that lie between `base` and `last` (both inclusive), and an index.

    Ranges are (first, last (inclusive), ...), ascending and disjoint; those before `ranges[at]` are not looked at. Of
    each part the first and the last offset are returned in turn, less `base`. The index is that of the first range with
    offsets above `last`, or the number of ranges.
    """
    found: list[int] = []
    count: i64 = len(ranges)
    while at < count:
        row: Any = ranges[at]
        range_first: i64 = row[0]
        range_last: i64 = row[1]
        if range_first > last:
            break
        if range_last >= base:
            if range_first < base:
                range_first = base
            found.append(range_first - base)
            if range_last > last:
                found.append(last - base)
                break
            found.append(range_last - base)
        at += 1
    return found, at


def replaced(
    starts: list[Any], statuses: list[Any], end: i64, offsets: list[Any], old: Any, new: Any
) -> tuple[list[Any], list[Any], list[Any]]:
    """Return runs with `new` in place of `old` at `offsets`, and the offsets that have another status.

    The runs are returned as starts and statuses. The offsets are ascending, and all in the runs, the last of which ends
    at `end` (exclusive). Neighbours of the same status become one run.
    """
    new_starts: list[Any] = []
    new_statuses: list[Any] = []
    others: list[Any] = []
    last: Any = None
    runs: i64 = len(starts)
    count: i64 = len(offsets)
    index: i64 = 0
    at: i64 = 0
    offset: i64 = end
    if count > 0:
        offset = offsets[0]
    while index < runs:
        start: Any = starts[index]
        status: Any = statuses[index]
        index += 1
        stop: i64 = end
        if offset < end and index < runs:
            stop = starts[index]
        if offset < stop:
            position: i64 = start
            while offset < stop:
                if status is not old:
                    others.append(offsets[at])
                else:
                    if offset > position and last is not old:
                        new_starts.append(position)
                        new_statuses.append(old)
                    if offset > position or last is not new:
                        new_starts.append(offsets[at])
                        new_statuses.append(new)
                    last = new
                    position = offset + 1
                at += 1
                offset = end
                if at < count:
                    offset = offsets[at]
            if position == stop:
                continue
            start = position
        if status is not last:
            new_starts.append(start)
            new_statuses.append(status)
            last = status
    return new_starts, new_statuses, others
