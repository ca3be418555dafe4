"""Share groups: the list with lag and members, and one group with members, partitions and windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from shareq.client.admin import Admin
from shareq.client.admin.calls import Outcome, Partition, only, total
from shareq.client.admin.share_groups import Positions, ShareGroup, ShareMember, SharePosition
from shareq.client.errors import ClientError
from shareq.ops.console.views.dead_letters import queues_of
from shareq.ops.console.views.nodes import listed
from shareq.ops.console.views.shared import (
    MAX_ROWS,
    NO_LAG,
    Json,
    Look,
    ends_of,
    error_of,
    finished,
    page_of,
    summed_lag,
)
from shareq.ops.console.views.windows import Windows, strips

STRIPS: Final = 8
"""The number of partitions on a page that show their windows."""
STRIP_RANGES: Final = 300
_COUNTED: Final = ("in_flight", "oldest_age_ms", "deliveries", "redeliveries", "states", "held", "given_up", "lock_ms")


def share_groups(search: str, page: int) -> Look:
    """Return the view of a page of groups, with members and lag."""

    def look(admin: Admin) -> Json:
        groups, missing, admin = listed(admin, ["share"])
        states = {each.group_id: each.state for each in groups}
        shown = page_of(states, search, page)
        described = dict(admin.share_groups.describe(shown.rows)) if shown.rows else {}
        positions = dict(admin.share_groups.offsets(shown.rows)) if shown.rows else {}
        rows = [_row(name, states[name], described.get(name), positions.get(name)) for name in shown.rows]
        _add_pauses(admin, rows)
        return {"total": shown.total, "rows": rows, "missing": missing}

    return look


def _row(name: str, state: str, group: Outcome[ShareGroup] | None, positions: Outcome[Positions] | None) -> Json:
    known = group if isinstance(group, ShareGroup) else None
    begun = {} if positions is None or isinstance(positions, ClientError) else positions
    return {
        "group": name,
        "state": known.state if known else state,
        "members": len(known.members) if known else None,
        "partitions": len(begun),
        **_lag(positions),
        "error": error_of(group) or error_of(positions),
    }


def _add_pauses(admin: Admin, rows: Sequence[Json]) -> None:
    """Add to the groups' rows True for paused groups; None if the cluster does not report that."""
    paused = admin.share_groups.paused(row["group"] for row in rows) if rows else {}
    for row in rows:
        row["paused"] = paused.get(row["group"])


def longest_lags(admin: Admin, windows: Windows, states: Mapping[str, str], most: int) -> list[Json]:
    """Return the `most` groups with the longest lags.

    Each has the age of its oldest record in flight, if there is a records API, and the number of letters in its
    dead-letter queue, if this user may see queues.
    """
    positions = dict(admin.share_groups.offsets(states)) if states else {}
    lags = {name: _lag(positions.get(name)) for name in states}
    shown = sorted(states, key=lambda name: (-(lags[name]["lag"] or 0), -lags[name]["unknown"], name))[:most]
    described = dict(admin.share_groups.describe(shown)) if shown else {}
    rows = [_row(name, states[name], described.get(name), positions.get(name)) for name in shown]
    try:
        counted = windows.groups()
    except ClientError:  # the view of a group says why
        counted = {}
    letters = _letters(admin)
    for row in rows:
        row["oldest_age_ms"] = counted.get(row["group"], {}).get("oldest_age_ms")
        row["letters"] = letters.get(row["group"])
    _add_pauses(admin, rows)
    return rows


def _letters(admin: Admin) -> dict[str, int | None]:
    """Return the number of letters in each group's queue; nothing if this user may not see queues."""
    try:
        return {group: queue["letters"] for queue in queues_of(admin) for group in queue["groups"]}
    except ClientError:  # the view of dead letters says why
        return {}


def _lag(positions: Outcome[Positions] | None) -> Json:
    if positions is None or isinstance(positions, ClientError):
        return NO_LAG
    return summed_lag(each.lag if isinstance(each, SharePosition) else None for each in positions.values())


def share_group(name: str, page: int, windows: Windows) -> Look:
    """Return the view of a group: members with assignments, progress by partition, and a page of windows."""

    def look(admin: Admin) -> Json:
        group = only(dict(admin.share_groups.describe([name])), name)
        positions = only(dict(admin.share_groups.offsets([name])), name)
        rows, trouble = _partitions(admin, positions), None
        counted: Mapping[Partition, Json] = {}
        missing: Sequence[str] = ()
        try:
            counted, missing = windows.partitions(name)
        except ClientError as error:
            trouble = str(error)
        for row in rows:
            of_api = counted.get((row["topic"], row["partition"]), {})
            row |= {each: of_api.get(each) for each in _COUNTED}
        shown = [(row["topic"], row["partition"]) for row in rows[page * STRIPS : (page + 1) * STRIPS]]
        return {
            "group": name,
            "state": group.state,
            "paused": admin.share_groups.paused([name]).get(name),
            "epoch": group.epoch,
            "assignor": group.assignor,
            "members": [_member(each) for each in group.members[:MAX_ROWS]],
            "total_members": len(group.members),
            "partitions": rows,
            "total_partitions": len(positions),
            "strips_each": STRIPS,
            "strips": [] if trouble else strips(admin, windows, name, shown, STRIP_RANGES),
            "windows": windows.known,
            "windows_error": trouble,
            "missing": list(missing),
            **_sums(rows),
        }

    return look


def _sums(rows: Sequence[Json]) -> Json:
    summed = {each: total(row[each] for row in rows) for each in ("end", "in_flight", "deliveries", "redeliveries")}
    summed |= {**summed_lag(row["lag"] for row in rows), "done": finished(rows)}
    held = [sum(row["held"].values()) for row in rows if row["held"] is not None]
    ages = [row["oldest_age_ms"] for row in rows if row["oldest_age_ms"] is not None]
    return {**summed, "held": sum(held) if held else None, "oldest_age_ms": max(ages, default=None)}


def _member(member: ShareMember) -> Json:
    return {
        "member": member.member_id,
        "client": member.client_id,
        "host": member.host,
        "rack": member.rack,
        "epoch": member.epoch,
        "subscriptions": list(member.subscriptions),
        "assignment": {topic: list(numbers) for topic, numbers in sorted(member.assignment.items())},
    }


def _partitions(admin: Admin, positions: Positions) -> list[Json]:
    shown: Sequence[Partition] = sorted(positions)[:MAX_ROWS]
    ends = ends_of(admin, shown)
    rows = []
    for topic, number in shown:
        one = positions[topic, number]
        known = one if isinstance(one, SharePosition) else SharePosition(None, -1, None)
        log_start, end = ends[topic, number]
        rows.append(
            {
                "topic": topic,
                "partition": number,
                "start": known.start,
                "log_start": log_start,
                "end": end,
                "lag": known.lag,
                "error": str(one) if isinstance(one, ClientError) else None,
            }
        )
    return rows


def sample(data: Json) -> Mapping[str, float | None]:
    """Return the figures for the charts of a group: totals, from which the pages compute rates; None if unknown."""
    return {
        "lag": data["lag"],
        "end": data["end"],
        "done": data["done"],
        "in_flight": data["in_flight"],
        "held": data["held"],
        "deliveries": data["deliveries"],
        "redeliveries": data["redeliveries"],
    }
