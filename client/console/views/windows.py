"""What is in flight: asked of shareq's records API, where there is one; else what a cluster says of it to anybody."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

from shareq.client.admin import Admin
from shareq.client.admin.calls import only
from shareq.client.admin.share_groups import SharePosition
from shareq.client.console.views.shared import Json, Look, WrongRequest, ends_of, number, required
from shareq.client.errors import BrokerError, ClientError, Unreachable
from shareq.protocol.errors import ErrorCode

TIMEOUT_S: Final = 5.0
MAX_ANSWER_BYTES: Final = 16 << 20
ROOT: Final = "/api/v1"
RANGES: Final = 2_000
"""Ranges of a window that is shown alone."""
STATES: Final = ("available", "delayed", "waiting", "acquired", "acknowledged", "archiving", "archived")

WITHOUT: Final = (
    "This cluster does not say which member has which record: only shareq's records API does, and this console was "
    "started without --records-api."
)

Ask = Callable[[str, str], tuple[int, bytes]]
"""From a path with its query, and a token, to a status and a body. Raises OSError."""


class Windows:
    """The records API at a URL; without one, nothing is known of what is in flight. By one thread or several."""

    def __init__(self, url: str | None = None, token: str = "", *, ask: Ask | None = None) -> None:
        """Raises ValueError for what is no URL. `ask`: in place of a connection for each request."""
        self._ask = ask if ask is not None else None if url is None else _asker(url)
        self._token = token

    @property
    def known(self) -> bool:
        """Whether there is a records API to ask."""
        return self._ask is not None

    def get(self, parts: tuple[str, ...], **query: str | int) -> Json:
        """What the API has at a path. Raises BrokerError for what is missing, Unreachable for everything else."""
        assert self._ask is not None, "asked for only where it is known"
        path = ROOT + "".join(f"/{quote(part, safe='')}" for part in parts)
        try:
            status, body = self._ask(f"{path}?{urlencode(query)}" if query else path, self._token)
            answer = json.loads(body)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Unreachable(f"records API: {error}") from None
        if status == http.client.OK and isinstance(answer, dict):
            return answer
        text = _error_in(answer) or f"status {status}"
        if status == http.client.NOT_FOUND:
            raise BrokerError(ErrorCode.GROUP_ID_NOT_FOUND, "records API", text)
        raise Unreachable(f"records API: {text}")

    def partitions(self, group: str) -> dict[tuple[str, int], Json]:
        """What the API counts of each share partition of a group; nothing where there is no API."""
        if not self.known:
            return {}
        rows = self.get(("share-groups", group, "partitions"), limit=500)["partitions"]
        return {(row["topic"], row["partition"]): row for row in rows}

    def records(self, group: str, topic: str, partition: int, **query: str | int) -> Json:
        """The ranges in flight of a share partition."""
        return self.get(("share-groups", group, "topics", topic, "partitions", str(partition), "records"), **query)


def _error_in(answer: Any) -> str | None:
    error = answer.get("error") if isinstance(answer, dict) else None
    return str(error.get("message")) if isinstance(error, dict) else None


def _asker(url: str) -> Ask:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be a URL as http://127.0.0.1:9465")
    host, port, context = parts.hostname, parts.port, None
    if parts.scheme == "https":
        context = ssl.create_default_context()

    def ask(path: str, token: str) -> tuple[int, bytes]:
        if context is None:
            connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
        else:
            connection = http.client.HTTPSConnection(host, port, timeout=TIMEOUT_S, context=context)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {token}", "Connection": "close"})
            answer = connection.getresponse()
            body = answer.read(MAX_ANSWER_BYTES + 1)
        finally:
            connection.close()
        if len(body) > MAX_ANSWER_BYTES:
            raise ValueError(f"an answer of more than {MAX_ANSWER_BYTES} bytes")
        return answer.status, body

    return ask


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
        found = windows.records(group, topic, partition, **query)
        return {"known": True, "why": None, **found}

    return look


def strip(windows: Windows, group: str, topic: str, partition: int, most: int) -> Json:
    """The window as a list of groups' partitions shows it: at most `most` ranges; an error in its place."""
    try:
        found = windows.records(group, topic, partition, limit=most)
    except ClientError as error:
        return {"known": False, "why": str(error)}
    return {"known": True, "why": None, **found}


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
