"""The ways to move, and the cells of each: the rows of the table."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from tests.campaign.moving import consumer_groups, share_groups, transactions
from tests.campaign.moving.rows import Row
from tests.campaign.moving.scene import Round, Way
from tests.campaign.moving.sides import APACHE, MACHINE, NODES, NODES_BEFORE_OURS

WAYS: Final = {
    way.name: way
    for way in (
        Way(MACHINE, NODES),
        Way(NODES, MACHINE),
        Way(MACHINE, APACHE),
        Way(APACHE, MACHINE),
        Way(MACHINE, MACHINE),
        Way(MACHINE, NODES_BEFORE_OURS),
        Way(NODES_BEFORE_OURS, MACHINE),
    )
}
USUAL: Final = tuple(WAYS)[:4]
ALL: Final = 336_776
FEW: Final = 20_000
ALL_THREE: Final = ("command", "source broker", "target broker")


class Cell(NamedTuple):
    """One cell of a way. `victim`: the process to kill, by the name that `Scene.victim` takes."""

    name: str
    move: Callable[[Round], Row]
    records: int
    victim: str = ""

    def is_on(self, way: Way) -> bool:
        where, _, what = self.victim.partition(" ")
        side = way.old if where == "source" else way.new
        return what != "node" or side in (NODES, NODES_BEFORE_OURS)


def _kills(victim: str) -> Cell:
    return Cell(f"flights, {victim} killed", partial(share_groups.move, victim=victim), FEW, victim)


CELLS: Final = {
    cell.name: cell
    for cell in (
        Cell("flights", partial(share_groups.move, victim=None), ALL),
        *map(_kills, ("command", "source broker", "target broker", "source node", "target node")),
        Cell("consumer groups", consumer_groups.move, FEW),
        Cell("transactions", transactions.move, FEW // 4),
        Cell("consumer groups, all three killed", partial(consumer_groups.move, victims=ALL_THREE), FEW),
        Cell("transactions, all three killed", partial(transactions.move, victims=ALL_THREE), FEW // 4),
    )
}
