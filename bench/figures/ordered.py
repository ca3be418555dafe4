"""Share consumption of records with 1,000 keys: without order by key, and with it if the broker has it.

Keys are in turn, in small and large batches, or random, so that records of a key are never adjacent. One client only
counts, another handles each record.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from bench.figure import Row, Sample, Scale
from bench.setup import order_by_key
from bench.stage import Stage

PARTITIONS = 4
KEYS = 1_000
JAVAS_BATCH_BYTES = 16_384
"""The bytes of a batch that the Java producer sends by default; librdkafka sends a megabyte."""
REPEATED = True
_SMALL: Final = {"batch_bytes": JAVAS_BATCH_BYTES}
_RANDOM: Final = {"random_keys": True}


class _Kind(NamedTuple):
    """A kind of records: its name, its production, its consumption, and its share of the records."""

    text: str
    produced: dict[str, Any]
    consumed: dict[str, Any]
    part: int


_EACH: Final = "record by record"
"""Each record is looked at and acknowledged by itself."""
_KINDS: Final[dict[str, _Kind]] = {
    "": _Kind("16 KB batches", _SMALL, {}, 5),
    "large_": _Kind("1 MB batches", {}, {}, 5),
    "random_": _Kind("random keys, 1 MB batches", _RANDOM, {}, 20),
    "random_small_": _Kind("random keys, 16 KB batches", _RANDOM | _SMALL, {}, 20),
    "each_": _Kind(f"1 MB batches, {_EACH}", {}, {"each": True}, 20),
    "random_each_": _Kind(f"random keys, 1 MB batches, {_EACH}", _RANDOM, {"each": True}, 20),
    "random_small_each_": _Kind(f"random keys, 16 KB batches, {_EACH}", _RANDOM | _SMALL, {"each": True}, 20),
}
"""The kinds by the start of the row's key."""
_ON_PAGE: Final = {"", "random_small_"}
"""The kinds of small batches that pages show; docs/order-by-key.md has those of large batches."""
_HOT: Final = 10_000
"""The records of one key that each partition has before all others, for the rows about fairness."""
_FAIR: Final = {"shareq.order.records.per.key": "4", "shareq.order.look.ahead": "1000000"}
_PLAIN_ROWS: Final = tuple(
    Row(key, label, form, on_page=start in _ON_PAGE)
    for start, (text, *_) in _KINDS.items()
    for key, label, form in (
        (f"{start}keyed_rate", f"share consume, 1,000 keys, {text}, records/s", "{:,.0f}"),
        (f"{start}ordered_rate", f"the same with order by key, {text}, records/s", "{:,.0f}"),
        (f"{start}keyed_cpu_us", f"broker CPU per record share-fetched and acked, 1,000 keys, {text}, µs", "{:.3f}"),
        (f"{start}ordered_cpu_us", f"the same with order by key, {text}, broker CPU, µs", "{:.3f}"),
    )
)
_FAIR_TEXT: Final = f"4 records of a key in hand, behind {_HOT:,} records of one key"
ROWS = (
    *_PLAIN_ROWS,
    Row("fair_rate", f"share consume, 1,000 keys, {_FAIR_TEXT}, records/s", "{:,.0f}", on_page=False),
    Row("fair_cpu_us", f"broker CPU per record, 1,000 keys, {_FAIR_TEXT}, µs", "{:.3f}", on_page=False),
)


def measure(stage: Stage, scale: Scale) -> Sample:
    """Measure one topic of each kind, read by two groups."""
    sample: Sample = {}
    for start, kind in _KINDS.items():
        topic, records = stage.topic(PARTITIONS), scale.records // kind.part
        stage.client("produce", topic=topic, partitions=PARTITIONS, records=records, keys=KEYS, **kind.produced)
        keyed = stage.client("share", topic=topic, group=stage.group(), records=records, **kind.consumed)
        sample |= {f"{start}keyed_rate": keyed["rate"], f"{start}keyed_cpu_us": keyed["cpu_us"]}
        if stage.kind == "shareq":
            group = stage.group()
            order_by_key(stage.broker.address, group)
            ordered = stage.client("share", topic=topic, group=group, records=records, **kind.consumed)
            sample |= {f"{start}ordered_rate": ordered["rate"], f"{start}ordered_cpu_us": ordered["cpu_us"]}
    return sample | (_behind_one_key(stage, scale.records // 5) if stage.kind == "shareq" else {})


def _behind_one_key(stage: Stage, records: int) -> Sample:
    topic, group = stage.topic(PARTITIONS), stage.group()
    stage.client("produce", topic=topic, partitions=PARTITIONS, records=_HOT * PARTITIONS, keys=1, **_SMALL)
    stage.client("produce", topic=topic, partitions=PARTITIONS, records=records, keys=KEYS, **_SMALL)
    order_by_key(stage.broker.address, group, _FAIR)
    others = stage.client("share", topic=topic, group=group, records=records * 9 // 10)
    return {"fair_rate": others["rate"], "fair_cpu_us": others["cpu_us"]}
