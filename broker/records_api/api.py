"""GET /api/v1/...: the state of each record in share groups. It is for operators, who have its token, and changes
nothing.

    /api/v1                                                       the broker's id and cluster
    /api/v1/nodes                                                 all nodes before a cluster, and their slots
    /api/v1/share-groups                                          ?after= &limit=
    /api/v1/share-groups/GROUP                                    members
    /api/v1/share-groups/GROUP/partitions                         ?after= &limit=
    /api/v1/share-groups/GROUP/topics/TOPIC/partitions/N/records  ?from= &limit= &state= &member=

Answers are made one at a time, with pauses for other work on the loop; docs/records-api.md describes their content.
"""

from __future__ import annotations

import asyncio
import json
from hashlib import sha256
from hmac import compare_digest
from typing import Any, Final

from shareq import __version__
from shareq.broker.http.server import Answer, Request
from shareq.broker.records_api import views
from shareq.broker.records_api.here import answer_here
from shareq.broker.records_api.limits import MOST_WAITING
from shareq.broker.records_api.nodes import answer_over_nodes, nodes_of
from shareq.broker.records_api.query import Refused, parameters_of, segments_of
from shareq.broker.services import Services

JSON: Final = "application/json"
SHORTEST_TOKEN: Final = 16
_HEADERS: Final = ("Cache-Control: no-store", "X-Content-Type-Options: nosniff")
_SCHEME: Final = "bearer "


def refuse(status: str, text: str, code: str | None = None) -> Answer:
    """Return a refusal as a JSON object; `error` has a code for programs, and a sentence."""
    code = code or status.partition(" ")[2].lower().replace(" ", "_")
    body = json.dumps({"error": {"code": code, "message": text}}, ensure_ascii=False) + "\n"
    return Answer(status, body.encode("utf-8", "backslashreplace"), JSON, _HEADERS)


class RecordsApi:
    """The API: it answers requests that carry `token`. Owned by the server, on the loop's thread."""

    def __init__(self, services: Services, token: str) -> None:
        self._services = services
        self.times = views.TimeOfDay(services.env.clock)
        self._token = _digest(token.encode())
        self._one_at_a_time = asyncio.Lock()
        self._waiting = 0

    async def handle(self, request: Request) -> Answer:
        """Return the answer to a request; errors are answers, too."""
        if not self._is_allowed(request):
            refusal = refuse(
                "401 Unauthorized",
                "the request needs the header Authorization: Bearer TOKEN, with the operator's token",
            )
            return refusal._replace(headers=(*refusal.headers, 'WWW-Authenticate: Bearer realm="shareq"'))
        if self._waiting >= MOST_WAITING:
            refusal = refuse("503 Service Unavailable", f"{MOST_WAITING} other requests wait; ask again")
            return refusal._replace(headers=(*refusal.headers, "Retry-After: 1"))
        self._waiting += 1
        try:
            async with self._one_at_a_time:
                return Answer("200 OK", await self._view(request), JSON, _HEADERS)
        except Refused as refused:
            return refuse(refused.status, str(refused), refused.code)
        finally:
            self._waiting -= 1

    def _is_allowed(self, request: Request) -> bool:
        """Return True if the request has the token. The time of this check does not depend on the token's content."""
        given = request.headers.get("authorization", "")
        is_bearer = given[: len(_SCHEME)].lower() == _SCHEME
        return compare_digest(_digest(given[len(_SCHEME) :].strip().encode("latin-1")), self._token) and is_bearer

    async def _view(self, request: Request) -> bytes:
        services, times, query = self._services, self.times, request.query
        match segments_of(request.path):
            case []:
                parameters_of(query, ())
                return _about(services)
            case ["nodes"]:
                parameters_of(query, ())
                return await nodes_of(services)
            case segments:
                if services.ground.nodes is None:
                    return await answer_here(services, times, segments, query)
                return await answer_over_nodes(services, times, request.path, query)


def _about(services: Services) -> bytes:
    about: dict[str, Any] = {
        "at_ms": services.env.clock.wall_ms(),
        "shareq": __version__,
        "cluster_id": services.metadata.cluster_id,
        "node_id": services.started_with.node_id,
    }
    return json.dumps(about).encode() + b"\n"


def _digest(text: bytes) -> bytes:
    return sha256(text).digest()
