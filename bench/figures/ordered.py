"""Share consume of records with 1,000 keys: without order by key, and with it where the broker has it.

With keys in turn, in small batches and in large ones; and with keys at random, where no two neighbours of a key's
records stand together.
"""

from __future__ import annotations

from typing import Any, Final

from bench.figure import Row, Sample, Scale
from bench.setup import order_by_key
from bench.stage import Stage

PARTITIONS = 4
KEYS = 1_000
JAVAS_BATCH_BYTES = 16_384
"""What the Java producer sends by default; librdkafka sends a megabyte."""
REPEATED = True
_KINDS: Final[dict[str, tuple[str, dict[str, Any], int]]] = {
    "": ("batches of 16 KB", {"batch_bytes": JAVAS_BATCH_BYTES}, 5),
    "large_": ("batches of 1 MB", {}, 5),
    "random_": ("batches of 1 MB, keys at random", {"random_keys": True}, 20),
    "random_small_": (
        "batches of 16 KB, keys at random",
        {"random_keys": True, "batch_bytes": JAVAS_BATCH_BYTES},
        20,
    ),
}
"""By the start of the row's key: what it is, how it is produced, and which part of the records it has."""
ROWS = tuple(
    row
    for start, (text, _, _) in _KINDS.items()
    for row in (
        Row(f"{start}keyed_rate", f"share consume, 1,000 keys, {text}, records/s", "{:,.0f}"),
        Row(f"{start}ordered_rate", f"the same with order by key, {text}, records/s", "{:,.0f}"),
        Row(f"{start}keyed_cpu_us", f"broker CPU per record share-fetched and acked, 1,000 keys, {text}, µs", "{:.3f}"),
        Row(f"{start}ordered_cpu_us", f"the same with order by key, {text}, broker CPU, µs", "{:.3f}"),
    )
)


def measure(stage: Stage, scale: Scale) -> Sample:
    """For each kind one topic, read by two groups."""
    sample: Sample = {}
    for start, (_, how, part) in _KINDS.items():
        topic, records = stage.topic(PARTITIONS), scale.records // part
        stage.client("produce", topic=topic, partitions=PARTITIONS, records=records, keys=KEYS, **how)
        keyed = stage.client("share", topic=topic, group=stage.group(), records=records)
        sample |= {f"{start}keyed_rate": keyed["rate"], f"{start}keyed_cpu_us": keyed["cpu_us"]}
        if stage.kind == "shareq":
            group = stage.group()
            order_by_key(stage.broker.address, group)
            ordered = stage.client("share", topic=topic, group=group, records=records)
            sample |= {f"{start}ordered_rate": ordered["rate"], f"{start}ordered_cpu_us": ordered["cpu_us"]}
    return sample
