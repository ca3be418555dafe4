"""Passes over an in-flight batch with a status for each offset, which suits the short runs of order by key. Pure.

The first of the statuses is that of the offset `base`. All offsets passed to a function have a status, unless its
docstring says otherwise. So a pass over some offsets looks at no others, while a pass of `runs` would move all runs
behind them. A run is (first, last (inclusive), status). Statuses are compared as objects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mypy_extensions import i64


def runs_in(statuses: list[Any], base: i64, first: i64, last: i64, most: i64) -> list[Any]:
    """Return the first `most` runs among `first..last` (inclusive), ascending."""
    found: list[Any] = []
    at: i64 = first - base
    stop: i64 = last + 1 - base
    while at < stop and len(found) < most:
        begin: i64 = at
        status: Any = statuses[at]
        at += 1
        while at < stop and statuses[at] is status:
            at += 1
        found.append((base + begin, base + at - 1, status))
    return found


def put(statuses: list[Any], base: i64, starts: list[Any], others: list[Any], last: i64) -> None:
    """Set the statuses of successive runs to `others`.

    The runs begin at `starts`, and the last one ends at `last` (inclusive).
    """
    count: i64 = len(starts)
    index: i64 = 0
    while index < count:
        at: i64 = starts[index]
        at -= base
        stop: i64 = last + 1
        if index + 1 < count:
            stop = starts[index + 1]
        stop -= base
        status: Any = others[index]
        while at < stop:
            statuses[at] = status
            at += 1
        index += 1


def available_run(statuses: list[Any], base: i64, first: i64, last: i64) -> tuple[int, int]:
    """Return the first and the last offset (inclusive) of the first available run among `first..last` (inclusive).

    If there is none, both are `last` + 1.
    """
    at: i64 = first - base
    stop: i64 = last + 1 - base
    seen: Any = None
    while at < stop:
        status: Any = statuses[at]
        if status is not seen:
            if status.available:
                begin: i64 = at
                while at < stop and statuses[at] is status:
                    at += 1
                return base + begin, base + at - 1
            seen = status
        at += 1
    return last + 1, last + 1


def count_available(statuses: list[Any], base: i64, first: i64, last: i64) -> tuple[int, int]:
    """Return the number of available offsets among `first..last` (inclusive), and the highest one, or -1."""
    at: i64 = first - base
    stop: i64 = last + 1 - base
    count: i64 = 0
    highest: i64 = -1
    seen: Any = None
    available: bool = False
    while at < stop:
        status: Any = statuses[at]
        if status is not seen:
            seen = status
            available = status.available
        if available:
            count += 1
            highest = base + at
        at += 1
    return count, highest


def unfinished(statuses: list[Any], at: i64) -> int:
    """Return the index of the first status from index `at` on that is not done; the number of statuses if all are."""
    count: i64 = len(statuses)
    seen: Any = None
    while at < count:
        status: Any = statuses[at]
        if status is not seen:
            if not status.done:
                break
            seen = status
        at += 1
    return at


def from_front(
    statuses: list[Any],
    base: i64,
    first: i64,
    last: i64,
    waits: Any,
    taken: i64,
    passed: i64,
    fetch_cost: i64,
    far: float,
) -> tuple[list[Any], int, int]:
    """Return available runs from the front, with the same result as `runs.from_front`."""
    parts: list[Any] = []
    chosen: i64 = 0
    chosen_passed: i64 = passed
    least: float = 1.0e300
    if taken > 0:
        least = float(fetch_cost + passed) / float(taken)
    waited: bool = False
    free: Any = None  # the last available status, and the last waiting one
    behind: Any = None
    at: i64 = first - base
    stop: i64 = last + 1 - base
    while at < stop:
        status: Any = statuses[at]
        if status is behind:
            waited = True
            at += 1
            continue
        if status is not free:
            if not status.available:
                waited = status.state is waits
                if waited:
                    behind = status
                at += 1
                while at < stop and statuses[at] is status:
                    at += 1
                continue
            free = status
        begin: i64 = at
        while at < stop and statuses[at] is status:
            at += 1
        taken += at - begin
        if waited:
            passed += 1
            waited = False
        parts.append((base + begin, base + at - 1, status))
        cost: float = float(fetch_cost + passed) / float(taken)
        if cost <= least:
            least = cost
            chosen = len(parts)
            chosen_passed = passed
        elif cost > least * far:
            break
    return parts, chosen, chosen_passed


def hand_out(
    statuses: list[Any],
    base: i64,
    parts: list[Any],
    acquired: Any,
    batch: Any,
    ranges: list[Any],
    new_range: Any,
    range_type: Any,
) -> int:
    """Give each part the status `acquired(batch, status)`, and append its range to `ranges`.

    Return the number of offsets. A part is (first, last (inclusive), status), where all its offsets have that status.
    Its range is `new_range(range_type, (first, last, delivery count))`.
    """
    offsets: i64 = 0
    seen: Any = None
    status: Any = None
    deliveries: Any = None
    for part in parts:
        if part[2] is not seen:
            seen = part[2]
            status = acquired(batch, seen)
            deliveries = status.delivery_count
        first: Any = part[0]
        last: Any = part[1]
        at: i64 = first
        at -= base
        stop: i64 = last
        stop += 1 - base
        offsets += stop - at
        while at < stop:
            statuses[at] = status
            at += 1
        ranges.append(new_range(range_type, (first, last, deliveries)))
    return offsets


def accept(
    statuses: list[Any],
    base: i64,
    acks: list[Any],
    at: i64,
    owned: Any,
    target: Any,
    rows: list[Any],
    new_row: Any,
    row_type: Any,
) -> tuple[int, int, int]:
    """Apply acknowledgements from index `at` on, as long as each accepts only offsets of the status `owned`.

    The accepted offsets get the status `target`, and the rows to write are appended to `rows`. The pass also ends at an
    acknowledgement with an offset outside of the list.

    `acks` has three numbers for each acknowledgement: its first and last offset (inclusive), and its type, which is 1
    if it accepts. Returns the index of the first acknowledgement that was not applied, the number of accepted offsets,
    and the last of them, or -1. `new_row(row_type, (first, last, state, count))` makes a row; a row that continues the
    last one, with the same state and count, extends it instead.
    """
    count: i64 = len(acks) // 3
    size: i64 = len(statuses)
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
        begin: i64 = first_offset
        begin -= base
        stop: i64 = last_offset
        stop += 1 - base
        if begin < 0 or stop > size or begin >= stop:
            break
        index: i64 = begin
        while index < stop and statuses[index] is owned:
            index += 1
        if index < stop:
            break
        index = begin
        while index < stop:
            statuses[index] = target
            index += 1
        if row_last == base + begin - 1 and rows[-1][2] == state and rows[-1][3] == deliveries:
            rows[-1] = new_row(row_type, (rows[-1][0], last_offset, state, deliveries))
        else:
            rows.append(new_row(row_type, (first_offset, last_offset, state, deliveries)))
        last = base + stop - 1
        row_last = last
        offsets += stop - begin
        at += 1
    return at, offsets, last


def settle(statuses: list[Any], base: i64, first: i64, last: i64, write_id: int) -> tuple[list[Any], int]:
    """Settle the statuses that the state write `write_id` left pending among `first..last` (inclusive).

    Return the settled runs with their new statuses, and the lowest available offset among `first..last`, or -1.
    """
    changed: list[Any] = []
    lowest: i64 = -1
    own: Any = None  # the last pending status, its new status, and the last other one
    after: Any = None
    other: Any = None
    at: i64 = first - base
    stop: i64 = last + 1 - base
    while at < stop:
        status: Any = statuses[at]
        if status is other:
            at += 1
            continue
        if status is not own:
            if status.write_id != write_id:
                other = status
                if lowest < 0 and status.available:
                    lowest = base + at
                at += 1
                continue
            own = status
            after = status.after
            if after is None:
                after = status
            if lowest < 0 and after.available:
                lowest = base + at
        begin: i64 = at
        while at < stop and statuses[at] is status:
            statuses[at] = after
            at += 1
        changed.append((base + begin, base + at - 1, after))
    return changed, lowest


def free(offsets: list[Any], firsts: list[Any], lists: list[list[Any]], old: Any, new: Any) -> tuple[list[Any], int]:
    """Replace the status `old` by `new` at these offsets. Return the other offsets, and the lowest changed one, or -1.

    Each of `lists` has the statuses of successive offsets; `firsts` has the first offset of each list, ascending. An
    offset outside of all lists is one of the others.
    """
    others: list[Any] = []
    lowest: i64 = -1
    base: i64 = 0
    size: i64 = 0
    statuses: list[Any] = []
    for offset in offsets:
        number: i64 = offset
        at: i64 = number - base
        if at < 0 or at >= size:
            low: i64 = 0
            high: i64 = len(firsts)
            while low < high:
                middle: i64 = (low + high) // 2
                first: i64 = firsts[middle]
                if first <= number:
                    low = middle + 1
                else:
                    high = middle
            if low == 0:
                others.append(offset)
                continue
            base = firsts[low - 1]
            statuses = lists[low - 1]
            size = len(statuses)
            at = number - base
        if at < size and statuses[at] is old:
            statuses[at] = new
            if lowest < 0 or number < lowest:
                lowest = number
        else:
            others.append(offset)
    return others, lowest
