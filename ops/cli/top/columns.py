"""The tables of `shareq top`: columns of groups and topics, and of the group that is looked into."""

from __future__ import annotations

from typing import Any, Final

from shareq.ops.cli.output.printing import Column, column, duration, printable
from shareq.ops.cli.top.data import TopGroupRow, TopRow


def plain(value: Any) -> str:
    """Write a name, or a whole number."""
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else printable(str(value))


def rate(value: float | None) -> str:
    """Write a number of records per second."""
    return "-" if value is None else f"{value:,.1f}" if abs(value) < 100 else f"{value:,.0f}"


def lag_of(row: TopGroupRow) -> str:
    """Write the lag of a group, with a plus where it lacks partitions whose lag is unknown."""
    return plain(row.lag) + ("+" if row.unknown and row.lag is not None else "")


def left_out(row: TopRow) -> str:
    """Say how many groups are not shown."""
    return f"{row.left_out:,} groups left out: --group chooses"


GROUPS: Final = (
    column("group", "GROUP", plain),
    column("state", "STATE", plain),
    column("members", "MEMBERS", plain),
    column("partitions", "PARTS", plain),
    Column("lag", "LAG", lag_of),
    column("lag_per_s", "LAG/S", rate),
    column("in_flight", "IN FLIGHT", plain),
    column("held", "HELD", plain),
    column("acquired_per_s", "ACQ/S", rate),
    column("acknowledged_per_s", "ACK/S", rate),
    column("redeliveries_per_s", "AGAIN/S", rate),
    column("oldest_ms", "OLDEST", duration),
)
TOPICS: Final = (
    column("topic", "TOPIC", plain),
    column("end", "END", plain),
    column("records_per_s", "RECORDS/S", rate),
)
PARTITIONS: Final = (
    column("topic", "TOPIC", plain),
    column("partition", "PARTITION", plain),
    column("start", "START", plain),
    column("end", "END", plain),
    column("lag", "LAG", plain),
    column("in_flight", "IN FLIGHT", plain),
    column("held", "HELD", plain),
    column("oldest_ms", "OLDEST", duration),
    column("states", "STATES", plain),
)
MEMBERS: Final = (
    column("member", "MEMBER", plain),
    column("client", "CLIENT", plain),
    column("host", "HOST", plain),
    column("partitions", "PARTITIONS", plain),
    column("held", "HELD", plain),
)
