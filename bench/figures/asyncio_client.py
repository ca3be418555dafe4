"""The CPU per 100-byte record in a client of `shareq.aio`: consumed singly, in batches, and produced."""

from __future__ import annotations

from bench.figure import Row, Sample, Scale, Target
from bench.stage import Stage

PARTITIONS = 4
REPEATED = True
ROWS = (
    Row("aio_each_us", "client CPU per record, shareq.aio, async for, µs", "{:.2f}", Target("value", "<=", 3.0)),
    Row("aio_batch_us", "client CPU per record, shareq.aio, in batches, µs", "{:.2f}", Target("value", "<=", 1.5)),
    Row("aio_produce_us", "client CPU per record produced, shareq.aio, one by one, µs", "{:.2f}"),
    Row("aio_produce_batch_us", "client CPU per record produced, shareq.aio, in batches, µs", "{:.2f}"),
)


def measure(stage: Stage, scale: Scale) -> Sample:
    topic = stage.topic(PARTITIONS)
    records = scale.records // 4
    sizes = {"topic": topic, "records": records // 10_000 * 10_000}
    stage.client("produce", partitions=PARTITIONS, **sizes)
    each = stage.client("aio_share", group=stage.group(), **sizes)
    batch = stage.client("aio_share", group=stage.group(), batches=True, **sizes)
    sent = stage.client("aio_produce", partitions=PARTITIONS, **sizes | {"topic": stage.topic(PARTITIONS)})
    sent_batch = stage.client(
        "aio_produce", partitions=PARTITIONS, batches=True, **sizes | {"topic": stage.topic(PARTITIONS)}
    )
    return {
        "aio_each_us": each["client_us"],
        "aio_batch_us": batch["client_us"],
        "aio_produce_us": sent["client_us"],
        "aio_produce_batch_us": sent_batch["client_us"],
    }
