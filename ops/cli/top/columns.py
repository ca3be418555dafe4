"""The columns of `shareq top`: groups, topics, and the group that is open."""

from __future__ import annotations

from typing import Any, Final

from shareq.ops.cli.output.printing import Column, column, duration, printable
from shareq.ops.cli.top.data import TopGroupRow, TopRow


def plain(value: Any) -> str:
    """Return the text of a name or a whole number."""
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else printable(str(value))


def rate(value: float | None) -> str:
    """Return the text of a number of records per second."""
    return "-" if value is None else f"{value:,.1f}" if abs(value) < 100 else f"{value:,.0f}"


def lag_of(row: TopGroupRow) -> str:
    """Return the text of a group's lag, with a plus if partitions with unknown lag are left out."""
    return plain(row.lag) + ("+" if row.unknown and row.lag is not None else "")


def left_out(row: TopRow) -> str:
    """Return a text with the number of groups that are not shown."""
    return f"{row.left_out:,} groups left out: --group chooses"


def nodes(row: TopRow) -> str:
    """Return a text with the number of nodes, and of those that do not answer or do not serve all their slots."""
    words = [f"{len(row.nodes):,} node{'' if len(row.nodes) == 1 else 's'}"]
    if silent := sum(each.problem is not None for each in row.nodes):
        words.append(f"{silent:,} without an answer")
    if awaited := sum(each.awaited or 0 for each in row.nodes):
        words.append(f"{awaited:,} slots awaited")
    return ", ".join(words)


def _plain(**titles: str) -> tuple[Column, ...]:
    """Return columns of names and whole numbers: fields of a row, and their titles."""
    return tuple(column(field, title, plain) for field, title in titles.items())


_IN_FLIGHT: Final = _plain(in_flight="IN FLIGHT", held="HELD")
_OLDEST: Final = column("oldest_ms", "OLDEST", duration)

GROUPS: Final = (
    *_plain(group="GROUP", state="STATE", members="MEMBERS", partitions="PARTS"),
    Column("lag", "LAG", lag_of),
    column("lag_per_s", "LAG/S", rate),
    *_IN_FLIGHT,
    column("acquired_per_s", "ACQ/S", rate),
    column("acknowledged_per_s", "ACK/S", rate),
    column("redeliveries_per_s", "AGAIN/S", rate),
    _OLDEST,
)
TOPICS: Final = (*_plain(topic="TOPIC", end="END"), column("records_per_s", "RECORDS/S", rate))
PARTITIONS: Final = (
    *_plain(topic="TOPIC", partition="PARTITION", start="START", end="END", lag="LAG"),
    *_IN_FLIGHT,
    _OLDEST,
    *_plain(states="STATES"),
)
NODES: Final = _plain(
    node="NODE",
    address="ADDRESS",
    slots="SLOTS",
    awaited="AWAITED",
    take_overs="TAKE-OVERS",
    share_partitions="PARTS",
    in_flight="IN FLIGHT",
    problem="PROBLEM",
)
MEMBERS: Final = _plain(member="MEMBER", client="CLIENT", host="HOST", partitions="PARTITIONS", held="HELD")
