"""The answers of the records API over all nodes before a cluster: the node that is asked asks the others.

Each node has the groups that it coordinates, and the share partitions of the topics that it leads. An answer names the
nodes whose part is `missing`, with the reason.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import quote

from shareq.broker.foundation.turn_budget import LOOK, in_pieces
from shareq.broker.records_api.here import answer_here
from shareq.broker.records_api.limits import MOST_NAMES, NAMES, PARTITIONS
from shareq.broker.records_api.query import ROOT, Refused, not_found, number, parameters_of, segments_of
from shareq.broker.records_api.views import END_OF_ROWS, members_of
from shareq.broker.topics.nodes import NodeFigures

if TYPE_CHECKING:
    from shareq.broker.foundation.pending import Pending
    from shareq.broker.records_api.views import TimeOfDay
    from shareq.broker.services import Services
    from shareq.broker.topics.nodes import NodeReply, SeenNode, SeenSlot

T = TypeVar("T")
_OK: Final = 200
_NOT_FOUND: Final = 404
_REFUSALS: Final = {_NOT_FOUND: ("404 Not Found", "not_found"), 400: ("400 Bad Request", "bad_request")}
_SUMS: Final = ("loaded", "in_flight", "held", "lag", "deliveries", "redeliveries", "accepted")


async def nodes_of(services: Services) -> bytes:
    """Return all nodes with their figures, and all slots with their owners."""
    view = services.ground.nodes
    if view is None:
        raise not_found("this broker is no node before a cluster: it serves alone")
    seen = await _arrived(view.look())
    head = {"at_ms": services.env.clock.wall_ms(), "generation": seen.generation}
    parts = [json.dumps(head)[:-1], ', "nodes": ', json.dumps([_node(each) for each in seen.nodes])]
    rows: list[str] = []
    for some in in_pieces(seen.slots):
        rows += (json.dumps(_slot(each)) for each in some)
        await services.env.budget.breathe(len(some))
    return "".join([*parts, ', "slots": [', ", ".join(rows), "]}\n"]).encode()


def _node(seen: SeenNode) -> dict[str, Any]:
    known = seen.figures
    figures = {} if known is None else known._asdict()
    return {
        "node_id": seen.node_id,
        "address": seen.address,
        "version": seen.version,
        "zone": seen.zone,
        "problem": seen.problem,
        **{name: figures.get(name) for name in NodeFigures._fields},
    }


def _slot(seen: SeenSlot) -> dict[str, Any]:
    return seen._asdict()


async def _arrived(pending: Pending[T]) -> T:
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    pending.on_complete(lambda value: None if future.done() else future.set_result(value))
    return await future


# -- share groups


async def answer_over_nodes(services: Services, times: TimeOfDay, path: str, query: str) -> bytes:
    """Return the answer to a question about share groups, over all nodes. Raises Refused."""
    asked = _Asked(services, times, path, query)
    match asked.segments:
        case ["share-groups"]:
            return await _groups(asked)
        case ["share-groups", group]:
            view = services.ground.nodes
            owner = None if view is None else view.owner_of_group(group)
            return await asked.here() if owner is None else (await asked.at(owner)).encode()
        case ["share-groups", group, "partitions"]:
            return await _partitions(asked, group)
        case ["share-groups", group, "topics", topic, "partitions", _, "records"]:
            return await _records(asked, group, topic)
    return await asked.here()


class _Asked:
    """A question to the node that answers it: to itself, and to others."""

    def __init__(self, services: Services, times: TimeOfDay, path: str, query: str) -> None:
        assert services.ground.nodes is not None, "there are nodes"
        self.services = services
        self.view = services.ground.nodes
        self.query = query
        self.segments = segments_of(path)
        self._times = times
        self._question = f"{path}?{query}"

    async def here(self, *, is_part: bool = False) -> bytes:
        """Return this node's own answer. Raises Refused."""
        return await answer_here(self.services, self._times, self.segments, self.query, is_part=is_part)

    async def at(self, node_id: int | None) -> str:
        """Return another node's answer; None: that of the one that has any. Raises Refused."""
        replies = await _arrived(self.view.ask(self._question, node_id))
        for reply in replies:
            if reply.status == _OK:
                return reply.text
        if missing := [_missing(reply) for reply in replies if reply.status not in _REFUSALS]:
            raise _silent(missing)
        for reply in replies:
            raise Refused(*_REFUSALS[reply.status], reply.text)
        return (await self.here()).decode()

    async def parts(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Return the parts of all nodes that have one, this one's first, and the nodes whose part is missing. Raises
        Refused if no node has a part.
        """
        others = self.view.ask(self._question)
        found, missing, why = [], [], None
        try:
            found.append(json.loads(await self.here(is_part=True)))
        except Refused as refused:
            if not refused.status.startswith(str(_NOT_FOUND)):
                raise
            why = refused
        for reply in await _arrived(others):
            if reply.status == _OK:
                found.append(json.loads(reply.text))
                await self.services.env.budget.breathe(LOOK)
            elif reply.status not in _REFUSALS:
                missing.append(_missing(reply))
        if not found:
            raise _silent(missing) if missing or why is None else why
        return found, missing


def _missing(reply: NodeReply) -> dict[str, Any]:
    return {"node_id": reply.node_id, "address": reply.address, "problem": reply.text}


def _silent(missing: list[dict[str, Any]]) -> Refused:
    names = "; ".join(f"node {each['node_id']} at {each['address']}: {each['problem']}" for each in missing)
    return Refused("503 Service Unavailable", "service_unavailable", f"no answer of the node that knows it: {names}")


async def _groups(asked: _Asked) -> bytes:
    parts, missing = await asked.parts()
    limit = number(parameters_of(asked.query, ("after", "limit")), "limit", NAMES, 1, MOST_NAMES)
    upto = min((part["next"] for part in parts if part["next"] is not None), default=None)
    groups: dict[str, dict[str, Any]] = {}
    for part in parts:
        for row in part["groups"]:
            name = row["group"]
            if upto is None or name <= upto:
                groups[name] = _added(groups[name], row) if name in groups else row
        await asked.services.env.budget.breathe(len(part["groups"]))
    names = sorted(groups)
    if len(names) > limit:
        names = names[:limit]
        upto = names[-1]
    rows = [groups[name] for name in names if groups[name]["state"] is not None]  # else its coordinator is missing
    return _joined({"at_ms": parts[0]["at_ms"], "groups": rows, "next": upto, "missing": missing})


def _added(row: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return the sums of two nodes over their share partitions of a group, with what its coordinator knows."""
    known, part = (row, other) if row["state"] is not None else (other, row)
    sums = {name: None if None in (row[name], other[name]) else row[name] + other[name] for name in _SUMS}
    oldest = [each["oldest_in_flight_ms"] for each in (row, other) if each["oldest_in_flight_ms"] is not None]
    return {**part, **known, **sums, "oldest_in_flight_ms": min(oldest, default=None)}


async def _partitions(asked: _Asked, group: str) -> bytes:
    parts, missing = await asked.parts()
    limit = number(parameters_of(asked.query, ("after", "limit")), "limit", PARTITIONS, 1, MOST_NAMES)
    upto = min((_place_of(part["next"]) for part in parts if part["next"] is not None), default=None)
    found = [((row["topic"], row["partition"]), row) for part in parts for row in part["partitions"]]
    kept = sorted((each for each in found if upto is None or each[0] <= upto), key=lambda each: each[0])
    await asked.services.env.budget.breathe(len(found))
    if len(kept) > limit:
        kept = kept[:limit]
        upto = kept[-1][0]
    rows = [row for _, row in kept]
    members = await _clients(asked, group, {member for row in rows for member in row["held"]})
    following = None if upto is None else f"{upto[0]}:{upto[1]}"
    head = {"at_ms": parts[0]["at_ms"], "group": group, "partitions": rows, "members": members}
    return _joined({**head, "next": following, "missing": missing})


def _place_of(following: str) -> tuple[str, int]:
    topic, _, partition = following.rpartition(":")
    return topic, int(partition)


async def _records(asked: _Asked, group: str, topic: str) -> bytes:
    image = asked.services.metadata.topic(topic)
    owner = None if image is None else asked.view.owner_of_topic(image.topic_id)
    if image is not None and owner is None:
        body = await asked.here()
    else:
        body = (await asked.at(owner)).encode()
    rows, end, tail = body.rpartition(END_OF_ROWS)
    fields = json.loads(b"{" + tail)
    fields["members"] = await _clients(asked, group, set(fields["members"]))
    return rows + end + json.dumps(fields, ensure_ascii=False)[1:].encode() + b"\n"


async def _clients(asked: _Asked, group: str, ids: set[str]) -> dict[str, Any]:
    """Return the clients of a group's members, as its coordinator knows them; None if it does not answer."""
    owner = asked.view.owner_of_group(group) if ids else None
    known: dict[str, Any] = {}
    if owner is not None:
        (*replies,) = await _arrived(asked.view.ask(f"{ROOT}/share-groups/{quote(group, safe='')}", owner))
        known = {
            row["member"]: {"client_id": row["client_id"], "host": row["host"]}
            for reply in replies
            if reply.status == _OK
            for row in json.loads(reply.text)["members"]
            if row["member"] in ids
        }
    return members_of(asked.services, group, ids) | known


def _joined(answer: dict[str, Any]) -> bytes:
    return json.dumps(answer, ensure_ascii=False).encode() + b"\n"
