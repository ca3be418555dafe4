"""The verdict on a run: the records sent, and the events that Airflow stored. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import NamedTuple


class Stored(NamedTuple):
    """An event in Airflow's database: its asset, the record's value, and the delivery it was made from."""

    asset: str
    value: str
    delivery: int


class Verdict(NamedTuple):
    """`broken`: inexcusable faults; `again`: events stored a second time."""

    broken: list[str]
    again: int


def judge(sent: Iterable[str], assets: Collection[str], stored: Iterable[Stored]) -> Verdict:
    """Return the lost records, and those stored again although no earlier delivery can have failed."""
    deliveries: dict[tuple[str, str], list[int]] = {}
    for event in stored:
        deliveries.setdefault((event.asset, event.value), []).append(event.delivery)
    broken = [
        f"{value} is not stored for {asset}" for value in sent for asset in assets if (asset, value) not in deliveries
    ]
    again = 0
    for (asset, value), counts in deliveries.items():
        again += len(counts) - 1
        twice = [count for count, times in Counter(counts).items() if times > 1]
        broken += [f"{value} is stored twice for {asset} from delivery {count}" for count in sorted(twice)]
    return Verdict(broken, again)
