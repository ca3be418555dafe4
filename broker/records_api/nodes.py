"""The answer of the records API about all nodes before a cluster: the one that is asked asks the others."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from shareq.broker.foundation.turn_budget import in_pieces
from shareq.broker.records_api.query import not_found
from shareq.broker.topics.nodes import NodeFigures

if TYPE_CHECKING:
    from shareq.broker.services import Services
    from shareq.broker.topics.nodes import SeenNode, SeenNodes, SeenSlot


async def nodes_of(services: Services) -> bytes:
    """Return all nodes with their figures, and all slots with their owners."""
    view = services.ground.nodes
    if view is None:
        raise not_found("this broker is no node before a cluster: it serves alone")
    arrived: asyncio.Future[SeenNodes] = asyncio.get_running_loop().create_future()
    view.look().on_complete(lambda seen: None if arrived.done() else arrived.set_result(seen))
    seen = await arrived
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
