"""Consumer groups, of both protocols: the list with lag, and one with members and offsets."""

from __future__ import annotations

from collections.abc import Mapping

from shareq.client.admin import Admin
from shareq.client.admin.calls import Outcome, Partition, only, total
from shareq.client.admin.consumer_groups import CommittedOffsets, ConsumerGroup
from shareq.client.errors import ClientError
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

_KINDS = ("consumer", "classic")


def consumer_groups(search: str, page: int) -> Look:
    """Return the view of a page of groups, with members and lag."""

    def look(admin: Admin) -> Json:
        groups, missing, admin = listed(admin, _KINDS)
        states = {each.group_id: each.state for each in groups if each.protocol in ("consumer", "")}
        shown = page_of(states, search, page)
        described = dict(admin.consumer_groups.describe(shown.rows)) if shown.rows else {}
        offsets = dict(admin.consumer_groups.offsets(shown.rows)) if shown.rows else {}
        committed = {each for one in offsets.values() if not isinstance(one, ClientError) for each in one}
        ends = {each: end for each, (_, end) in ends_of(admin, sorted(committed)).items()}
        rows = [_row(name, states[name], described.get(name), offsets.get(name), ends) for name in shown.rows]
        return {"total": shown.total, "rows": rows, "missing": missing}

    return look


def _row(
    name: str,
    state: str,
    group: Outcome[ConsumerGroup] | None,
    offsets: Outcome[CommittedOffsets] | None,
    ends: Mapping[Partition, int | None],
) -> Json:
    known = group if isinstance(group, ConsumerGroup) else None
    committed = None if offsets is None or isinstance(offsets, ClientError) else offsets
    lag = NO_LAG if committed is None else summed_lag(_lag(one, ends.get(each)) for each, one in committed.items())
    return {
        "group": name,
        "state": known.state if known else state,
        "kind": known.kind if known else "",
        "members": len(known.members) if known else None,
        "partitions": len(committed or ()),
        **lag,
        "error": error_of(group) or error_of(offsets),
    }


def _lag(committed: object, end: int | None) -> int | None:
    offset = getattr(committed, "offset", None)
    return None if offset is None or end is None else max(0, end - offset)


def consumer_group(name: str) -> Look:
    """Return the view of a group: members with assignments, and its progress in each partition."""

    def look(admin: Admin) -> Json:
        group = only(dict(admin.consumer_groups.describe([name])), name)
        offsets = only(dict(admin.consumer_groups.offsets([name])), name)
        shown = sorted(offsets)[:MAX_ROWS]
        ends = ends_of(admin, shown)
        rows: list[Json] = []
        for topic, number in shown:
            one, (start, end) = offsets[topic, number], ends[topic, number]
            at = None if isinstance(one, ClientError) else one.offset
            rows.append(
                {
                    "topic": topic,
                    "partition": number,
                    "offset": at,
                    "start": start,
                    "end": end,
                    "lag": _lag(one, end),
                    "member": _member_of(group, topic, number),
                }
            )
        return {
            "group": name,
            "kind": group.kind,
            "state": group.state,
            "epoch": group.epoch,
            "assignor": group.assignor,
            "members": [
                {
                    "member": each.member_id,
                    "instance": each.instance_id,
                    "client": each.client_id,
                    "host": each.host,
                    "assignment": {topic: list(numbers) for topic, numbers in sorted(each.assignment.items())},
                }
                for each in group.members[:MAX_ROWS]
            ],
            "total_members": len(group.members),
            "partitions": rows,
            "total_partitions": len(offsets),
            **summed_lag(each["lag"] for each in rows),
            "end": total(each["end"] for each in rows),
            "done": finished(rows),
        }

    return look


def _member_of(group: ConsumerGroup, topic: str, number: int) -> str | None:
    owners = (each.member_id for each in group.members if number in each.assignment.get(topic, ()))
    return next(owners, None)


def sample(data: Json) -> Mapping[str, float | None]:
    """Return the figures for the charts of a group."""
    return {"lag": data["lag"], "end": data["end"], "done": data["done"]}
