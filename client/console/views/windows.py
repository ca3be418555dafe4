"""What is in flight: asked of shareq's records API, where there is one; else what a cluster says of it to anybody."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, Final, Protocol
from urllib.parse import quote

from shareq.client.admin import Admin
from shareq.client.admin.calls import only
from shareq.client.admin.share_groups import SharePosition
from shareq.client.console.views.shared import MAX_ROWS, Json, Look, WrongRequest, ends_of, number, required
from shareq.client.errors import ClientError
from shareq.client.state_colours import STATES

RANGES: Final = 2_000
"""Ranges of a window that is shown alone."""

WITHOUT: Final = (
    "Which member has which record cannot be known here: only the records API of shareq says it, and this console was "
    "started without --records-api. The start offset and the lag are the coordinator's."
)


class Api(Protocol):
    """What is asked of the records API: `shareq.client.records_api.RecordsApi`."""

    def get(self, path: str, **query: str | int) -> dict[str, Any]: ...


class Windows:
    """The records API; without one, nothing is known of what is in flight. Used by several threads."""

    def __init__(self, api: Api | None = None) -> None:
        self._api = api

    @property
    def known(self) -> bool:
        """Whether there is a records API to ask."""
        return self._api is not None

    def partitions(self, group: str) -> dict[tuple[str, int], Json]:
        """What the API counts of each share partition of a group; nothing where there is no API."""
        if self._api is None:
            return {}
        rows = self._api.get(f"/share-groups/{_name(group)}/partitions", limit=MAX_ROWS)["partitions"]
        return {(row["topic"], row["partition"]): row for row in islice(rows, MAX_ROWS)}

    def records(self, group: str, topic: str, partition: int, **query: str | int) -> Json:
        """The ranges in flight of a share partition, which is known of."""
        assert self._api is not None, "asked for only where it is known"
        path = f"/share-groups/{_name(group)}/topics/{_name(topic)}/partitions/{partition}/records"
        return {"known": True, "why": None, **self._api.get(path, **query)}


def _name(text: str) -> str:
    return quote(text, safe="")


def window(given: Mapping[str, str], windows: Windows) -> Look:
    """The window of one share partition: its ranges from an offset on, of states or of a member alone if wanted."""
    group, topic = required(given, "group"), required(given, "topic")
    partition, first = number(given, "partition", 0), number(given, "from", 0, highest=2**63 - 1)
    state, member = given.get("state", ""), given.get("member", "")
    if unknown := set(filter(None, state.split(","))) - set(STATES):
        raise WrongRequest(f"state {min(unknown)[:40]}: must be of {', '.join(STATES)}")
    query: dict[str, str | int] = {"limit": RANGES, "from": first}
    query |= {name: value for name, value in (("state", state), ("member", member)) if value}

    def look(admin: Admin) -> Json:
        if not windows.known:
            return _from_the_cluster(admin, group, topic, partition)
        return windows.records(group, topic, partition, **query)

    return look


def strip(windows: Windows, group: str, topic: str, partition: int, most: int) -> Json:
    """The window as a list of groups' partitions shows it: at most `most` ranges; an error in its place."""
    try:
        return windows.records(group, topic, partition, limit=most)
    except ClientError as error:
        return {"known": False, "why": str(error)}


def _from_the_cluster(admin: Admin, group: str, topic: str, partition: int) -> Json:
    """What any cluster says: the first offset that is not done with, the end of the log, the lag."""
    positions = only(dict(admin.share_groups.offsets([group], {topic: [partition]})), group)
    one = positions.get((topic, partition))
    if isinstance(one, ClientError):
        raise one
    known = one if isinstance(one, SharePosition) else SharePosition(None, -1, None)
    _, end = ends_of(admin, [(topic, partition)])[topic, partition]
    return {
        "known": False,
        "why": WITHOUT,
        "group": group,
        "topic": topic,
        "partition": partition,
        "start_offset": known.start,
        "high_watermark": end,
        "lag": known.lag,
    }
