"""The records in flight: from shareq's records API, if configured; otherwise from the cluster's stored state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final, Protocol
from urllib.parse import quote

from shareq.client.admin import Admin
from shareq.client.admin.calls import Outcome, Partition, only
from shareq.client.admin.share_groups import SharePosition
from shareq.client.errors import BrokerError, ClientError
from shareq.ops.console.views.shared import MAX_ROWS, Json, Look, WrongRequest, ends_of, number, required
from shareq.ops.records_api import missing_in
from shareq.ops.share_states import WRITTEN, StoredState, stored_states
from shareq.ops.state_colours import STATES
from shareq.protocol.errors import ErrorCode

RANGES: Final = 2_000
"""The most ranges of a window that is shown alone."""

WITHOUT: Final = (
    "As the cluster has written it down: what is unfinished is available, or locked by a member. Which, by whom and "
    "since when cannot be known here: only the records API of shareq says it, and this console has none (--api)."
)


class Api(Protocol):
    """The needed part of the records API's client, `shareq.ops.records_api.RecordsApi`."""

    def get(self, path: str, **query: str | int) -> dict[str, Any]: ...


class Windows:
    """The records API; without one, records in flight are unknown. Used by several threads."""

    def __init__(self, api: Api | None = None) -> None:
        self._api = api

    @property
    def known(self) -> bool:
        """True if there is a records API to ask."""
        return self._api is not None

    def nodes(self) -> Json | None:
        """Return all nodes and slots; None without an API, and if its broker is no node. Raises ClientError."""
        if self._api is None:
            return None
        try:
            return self._api.get("/nodes")
        except BrokerError as error:
            if error.code is not ErrorCode.RESOURCE_NOT_FOUND:
                raise
            return None

    def groups(self) -> dict[str, Json]:
        """Return the API's sums for the first share groups, with the age of each group's oldest record in flight.

        Return nothing without an API.
        """
        if self._api is None:
            return {}
        answer = self._api.get("/share-groups", limit=MAX_ROWS)
        now_ms = answer["at_ms"]
        return {
            row["group"]: {**row, "oldest_age_ms": _age(row["oldest_in_flight_ms"], now_ms)}
            for row in islice(answer["groups"], MAX_ROWS)
        }

    def partitions(self, group: str) -> tuple[dict[tuple[str, int], Json], list[str]]:
        """Return the API's counts for each share partition of a group, and why those of some nodes are missing; nothing
        without an API.
        """
        if self._api is None:
            return {}, []
        answer = self._api.get(f"/share-groups/{_name(group)}/partitions", limit=MAX_ROWS)
        rows = {(row["topic"], row["partition"]): row for row in islice(answer["partitions"], MAX_ROWS)}
        return rows, missing_in(answer)

    def records(self, group: str, topic: str, partition: int, **query: str | int) -> Json:
        """Return the ranges in flight of a share partition, which must exist in the API."""
        assert self._api is not None, "asked for only where it is known"
        path = f"/share-groups/{_name(group)}/topics/{_name(topic)}/partitions/{partition}/records"
        return {"known": True, "why": None, **self._api.get(path, **query)}


def _age(since_ms: int | None, now_ms: int) -> int | None:
    return None if since_ms is None else max(0, now_ms - since_ms)


def _name(text: str) -> str:
    return quote(text, safe="")


def window(given: Mapping[str, str], windows: Windows) -> Look:
    """Return the view of one share partition's window: its ranges from an offset on.

    Only those of given states, or of a given member, if wanted.
    """
    group, topic = required(given, "group"), required(given, "topic")
    partition, first = number(given, "partition", 0), number(given, "from", 0, highest=2**63 - 1)
    state, member = given.get("state", ""), given.get("member", "")
    if unknown := set(filter(None, state.split(","))) - set(STATES):
        raise WrongRequest(f"state {min(unknown)[:40]}: must be of {', '.join(STATES)}")
    query: dict[str, str | int] = {"limit": RANGES, "from": first}
    query |= {name: value for name, value in (("state", state), ("member", member)) if value}

    def look(admin: Admin) -> Json:
        if not windows.known:
            found = written(admin, group, [(topic, partition)])[topic, partition]
            return {**found, "ranges": [each for each in found["ranges"] if _is_wanted(each, first, state)]}
        return windows.records(group, topic, partition, **query)

    return look


def _is_wanted(each: Json, first: int, states: str) -> bool:
    return each["last"] >= first and (not states or each["state"] in states.split(","))


def strips(admin: Admin, windows: Windows, group: str, wanted: Sequence[Partition], most: int) -> list[Json]:
    """Return the windows of several partitions, each with at most `most` ranges, or an error in its place."""
    if not windows.known:
        return list(written(admin, group, wanted).values()) if wanted else []
    return [_strip(windows, group, topic, partition, most) for topic, partition in wanted]


def _strip(windows: Windows, group: str, topic: str, partition: int, most: int) -> Json:
    try:
        return windows.records(group, topic, partition, limit=most)
    except ClientError as error:
        return {"known": False, "why": str(error)}


def written(admin: Admin, group: str, wanted: Sequence[Partition]) -> dict[Partition, Json]:
    """Return the windows in the form that any cluster can provide: start offset, lag, and batches of states.

    Start offset and lag are the coordinator's, the batches are from `__share_group_state`. If that log may not be read,
    or has no records of the group yet, there are no ranges.
    """
    topics: dict[str, list[int]] = {}
    for topic, partition in wanted:
        topics.setdefault(topic, []).append(partition)
    positions = only(dict(admin.share_groups.offsets([group], topics)), group)
    ends = ends_of(admin, wanted)
    states: Mapping[Partition, Outcome[StoredState]] = {}
    trouble: str | None = None
    try:
        states = stored_states(admin.network, group, wanted)
    except ClientError as error:
        trouble = str(error)
    rows: dict[Partition, Json] = {}
    for each in wanted:
        one, state = positions.get(each), states.get(each)
        known = one if isinstance(one, SharePosition) else SharePosition(None, -1, None)
        ranges = _ranges(state) if isinstance(state, StoredState) else []
        rows[each] = {
            "known": bool(ranges),
            "why": f"{WITHOUT} {trouble or ''}".strip(),
            "group": group,
            "topic": each[0],
            "partition": each[1],
            "start_offset": known.start,
            "end_offset": ranges[-1]["last"] + 1 if ranges else known.start,
            "high_watermark": ends[each][1],
            "lag": known.lag,
            "ranges": ranges[:RANGES],
            "next": ranges[RANGES]["first"] if len(ranges) > RANGES else None,
        }
    return rows


def _ranges(state: StoredState) -> list[Json]:
    """Return the ranges from the start offset to the last batch that was written."""
    if state.start is None:
        return []
    found: list[Json] = []
    position = state.start
    for first, last, kind, deliveries in state.batches:
        if position < first:
            found.append(_range(position, first - 1, "unfinished", None))
        found.append(_range(first, last, WRITTEN.get(kind, "unfinished"), deliveries))
        position = last + 1
    return found


def _range(first: int, last: int, state: str, deliveries: int | None) -> Json:
    return {"first": first, "last": last, "state": state, "deliveries": deliveries}
