"""A client of shareq's records API (docs/records-api.md) over HTTP.

Blocking, with one connection for each request, as the broker serves them.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterable, Iterator
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from shareq.client.errors import AuthenticationFailed, BrokerError, ClientError, ConfigError, Unreachable
from shareq.client.security.config import TlsConfig
from shareq.protocol.errors import ErrorCode

ROOT: Final = "/api/v1"
LARGEST_ANSWER: Final = 64 << 20
_UNAUTHORIZED: Final = 401
_NOT_FOUND: Final = 404
_OK: Final = 200


class ApiRefused(ClientError):
    """An error: the broker refused a request to its records API."""


class RangeRow(NamedTuple):
    """Offsets `first..last` (inclusive) that are alike. Times are milliseconds since the epoch, of the broker's clock;
    `at_ms` is the time of the answer. None without a value.
    """

    first: int
    last: int
    state: str
    pending: bool
    deliveries: int | None
    member: str | None
    client_id: str | None
    host: str | None
    since_ms: int | None
    until_ms: int | None
    in_flight_ms: int | None
    behind: int | None
    at_ms: int


class RecordsApi:
    """The records API of one broker at `url` (http://HOST:PORT). Raises AuthenticationFailed, Unreachable, BrokerError
    with RESOURCE_NOT_FOUND for missing objects, and ApiRefused.
    """

    def __init__(self, url: str, token: str, *, tls: TlsConfig | None = None, timeout_s: float = 30.0) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.rstrip("/") not in ("", ROOT):
            raise ConfigError(f"{url}: must be the URL of a records API, for example http://127.0.0.1:9465")
        if not token.isascii() or not token.isprintable() or not token:
            raise ConfigError("the token of the records API must be visible characters of ASCII")
        self.url = f"{parts.scheme}://{parts.netloc}{ROOT}"
        self._https = parts.scheme == "https"
        try:
            self._address = (parts.hostname, parts.port or (443 if self._https else 80))
        except ValueError:
            raise ConfigError(f"{url}: the port must be at most 65535") from None
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        self._tls = tls
        self._timeout_s = timeout_s
        self.missing: set[str] = set()
        """Why rows of some nodes are missing in the lists that were read."""

    def about(self) -> dict[str, Any]:
        """Return version, cluster id and node id."""
        return self.get("")

    def nodes(self) -> list[dict[str, Any]]:
        """Return all nodes before a cluster, as the asked one sees them; none if the broker serves alone."""
        try:
            found: list[dict[str, Any]] = self.get("/nodes")["nodes"]
        except BrokerError as error:
            if error.code is not ErrorCode.RESOURCE_NOT_FOUND:
                raise
            return []
        return found

    def groups(self, *, behind: str = "") -> Iterator[dict[str, Any]]:
        """Yield share groups by name, with sums over their partitions: those whose names come after `behind`."""
        return self._pages("/share-groups", "groups", "after", behind)

    def group(self, group: str) -> dict[str, Any]:
        """Return one group with its members."""
        return self.get(f"/share-groups/{_name(group)}")

    def partitions(self, group: str) -> Iterator[dict[str, Any]]:
        """Return the share partitions of a group."""
        return self._pages(f"/share-groups/{_name(group)}/partitions", "partitions", "after")

    def window(self, group: str, topic: str, partition: int) -> dict[str, Any]:
        """Return a share partition's offsets, limits and first ranges."""
        return self.get(_records(group, topic, partition), limit=1)

    def ranges(
        self,
        group: str,
        topic: str,
        partition: int,
        *,
        first: int = 0,
        limit: int | None = None,
        states: Iterable[str] = (),
        member: str | None = None,
    ) -> Iterator[RangeRow]:
        """Yield the offsets in flight of a share partition from `first` on, at most `limit` ranges."""
        asked: dict[str, str | int] = {"from": first}
        if wanted := ",".join(states):
            asked["state"] = wanted
        if member is not None:
            asked["member"] = member
        left = limit
        while left is None or left > 0:
            answer = self.get(_records(group, topic, partition), **asked, limit=min(left or 2_000, 2_000))
            members = answer["members"]
            for row in answer["ranges"]:
                client = members.get(row["member"], {})
                fields = {"client_id": client.get("client_id"), "host": client.get("host"), "at_ms": answer["at_ms"]}
                yield RangeRow(**_known({**row, **fields}))
            left = None if left is None else left - len(answer["ranges"])
            if answer["next"] is None:
                return
            asked["from"] = answer["next"]

    def _pages(self, path: str, rows: str, cursor: str, behind: str = "") -> Iterator[dict[str, Any]]:
        following: str | None = behind
        while following is not None:
            answer = self.get(path, **({cursor: following} if following else {}))
            self.missing.update(missing_in(answer))
            yield from answer[rows]
            following = answer["next"]

    def get(self, path: str, **query: str | int) -> dict[str, Any]:
        """Return the answer to a request. `path` is below /api/v1."""
        target = f"{ROOT}{path}{'?' if query else ''}{urlencode(query)}"
        connection = self._connection()
        try:
            connection.request("GET", target, headers=self._headers)
            answer = connection.getresponse()
            status, body = answer.status, answer.read(LARGEST_ANSWER)
        except ssl.SSLCertVerificationError as error:
            raise AuthenticationFailed(f"{self.url}: its certificate is not accepted: {error.verify_message}") from None
        except (OSError, HTTPException) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise Unreachable(f"no answer from the records API at {self.url}: {reason}") from None
        finally:
            connection.close()
        return self._value(status, body)

    def _connection(self) -> HTTPConnection:
        if not self._https:
            return HTTPConnection(*self._address, timeout=self._timeout_s)
        from shareq.client.security.tls import tls_context

        context = ssl.create_default_context() if self._tls is None else tls_context(self._tls)
        return HTTPSConnection(*self._address, timeout=self._timeout_s, context=context)

    def _value(self, status: int, body: bytes) -> dict[str, Any]:
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            value = None
        if status == _OK and isinstance(value, dict):
            return value
        error = value.get("error") if isinstance(value, dict) else None
        if not isinstance(error, dict):
            raise ApiRefused(f"{self.url} is no records API of shareq: it answered with status {status}")
        message = str(error.get("message"))
        if status == _UNAUTHORIZED:
            raise AuthenticationFailed(f"the records API at {self.url} does not accept the token")
        if status == _NOT_FOUND:
            raise BrokerError(ErrorCode.RESOURCE_NOT_FOUND, "records API", message)
        raise ApiRefused(f"records API: {message}")


def missing_in(answer: dict[str, Any]) -> list[str]:
    """Return why rows of some nodes are missing in an answer over all nodes, a sentence for each node."""
    return [f"node {each['node_id']} at {each['address']}: {each['problem']}" for each in answer.get("missing", ())]


_FIELDS: Final = frozenset(RangeRow._fields)


def _known(row: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that are known here: a newer broker may send more."""
    return {name: value for name, value in row.items() if name in _FIELDS}


def _name(text: str) -> str:
    return quote(text, safe="")


def _records(group: str, topic: str, partition: int) -> str:
    return f"/share-groups/{_name(group)}/topics/{_name(topic)}/partitions/{partition}/records"
