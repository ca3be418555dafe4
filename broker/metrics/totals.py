"""Metrics without the names of topics, groups, users and clients: one sample for each.

Counters and gauges are added up, except that offsets and limits are left out, and of ages the greatest is used.
"""

from __future__ import annotations

from typing import Final

from shareq.broker.foundation.turn_budget import Breathe
from shareq.broker.metrics.family import GAUGE, Distribution, Family, Rows, Value, zero

NAMES: Final = frozenset(("topic", "group", "user", "client_id"))


def has_names(family: Family) -> bool:
    """Return True if the metric's labels name topics, groups, users or clients."""
    return not NAMES.isdisjoint(family.labels)


async def total_of(family: Family, rows: Rows, breathe: Breathe) -> Value | None:
    """Return the sum of all samples, or the greatest age; None for a metric that has no meaningful total."""
    if family.kind is GAUGE and family.name.endswith(("_offset", "_limit")):
        return None
    add = max if family.kind is GAUGE and family.name.endswith("_age_seconds") else _sum
    total = zero(family.kind)
    for _, value in family.samples(rows):
        total = add(total, value)
        await breathe()
    return total


def _sum(one: Value, other: Value) -> Value:
    if isinstance(one, Distribution) and isinstance(other, Distribution):
        buckets = tuple(map(sum, zip(one.buckets, other.buckets, strict=True)))
        return Distribution(one.total + other.total, one.number + other.number, buckets)
    if isinstance(one, Distribution) or isinstance(other, Distribution):
        raise TypeError("all samples of a metric are of one kind")
    return one + other
