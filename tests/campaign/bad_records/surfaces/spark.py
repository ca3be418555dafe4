"""A PySpark streaming query with all columns that collects its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import md5
from typing import TYPE_CHECKING, NamedTuple

from devtools.clients.wire import WireClient
from tests.campaign.bad_records.raw_reader import raw_records
from tests.campaign.bad_records.scene import RawRecord, Scene
from tests.campaign.bad_records.surfaces.verdict import Verdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE_S = 600
# Spark joins the headers itself: as rows of Python, 5,000 for a record, they would take most of the time.
COLUMNS = (
    *("offset", "unix_millis(timestamp) AS timestamp", "key", "value", "coalesce(size(headers), 0) AS count"),
    "md5(concat_ws(',', transform(headers, each -> concat(hex(each.key), ':', coalesce(hex(each.value), '-')))))"
    " AS headers",
)


class Seen(NamedTuple):
    """A record as a query receives it; `headers` is their MD5 in hexadecimal digits."""

    offset: int
    timestamp_ms: int | None
    key: bytes | None
    value: bytes | None
    header_count: int
    headers: str


def run(scene: Scene, bad: Iterator[RawRecord]) -> Verdict:
    from tests.spark.support.session import open_session

    spark = open_session(scene.folder / "spark")
    try:
        return verdict(spark, scene, bad)
    finally:
        spark.stop()


def verdict(spark: SparkSession, scene: Scene, bad: Iterator[RawRecord]) -> Verdict:
    """Return the verdict on a query that must emit each record once, unchanged."""
    import shareq.spark  # noqa: F401  # registers with the session

    topic = scene.topic("streamed")
    scene.group("streamers")
    good = scene.fill(topic, bad, lambda number: scene.write(topic, [RawRecord(b"good", b"%d" % number)]))
    end = scene.end(topic)
    found: list[Seen] = []
    rows = (
        spark.readStream.format("kafka-share")
        .option("kafka.bootstrap.servers", scene.broker.bootstrap)
        .option("kafka.group.id", "streamers")
        .option("subscribe", topic)
        .option("includeHeaders", "true")
        .load()
    )

    def collect(batch, number) -> None:  # type: ignore[no-untyped-def]
        for row in batch.selectExpr(*COLUMNS).collect():
            content = _bytes(row.key), _bytes(row.value), max(row["count"], 0), row.headers
            found.append(Seen(row.offset, row.timestamp, *content))

    query = (
        rows.writeStream.foreachBatch(collect)
        .option("checkpointLocation", str(scene.folder / "spark" / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    try:
        assert query.awaitTermination(PATIENCE_S), "the query stands still"
    finally:
        query.stop()
    with WireClient(scene.broker.address, timeout_s=60) as client:
        written = [_seen(offset, each) for offset, each in enumerate(raw_records(client, topic, end))]
    assert len(found) == end, f"{len(found)} rows for {end} records"
    differing = [pair for pair in zip(written, sorted(found), strict=True) if pair[0] != pair[1]]
    assert not differing, f"{len(differing)} rows differ: {str(differing[0])[:500]}"
    scene.until_done("streamers", topic, lambda: None)
    counts = scene.broker.group_counts("streamers", topic)
    assert counts.accepted == end, f"{end} written, {counts}"
    return Verdict(end, len(good), counts.accepted)


def _seen(offset: int, record: RawRecord) -> Seen:
    headers = _digest(record.headers)
    return Seen(offset, record.timestamp_ms, record.key, record.value, len(record.headers), headers)


def _digest(headers: Sequence[tuple[bytes, bytes | None]]) -> str:
    """Return the MD5 as `COLUMNS` computes it: invalid UTF-8 in names becomes U+FFFD."""
    texts = (
        name.decode("utf-8", "replace").encode().hex().upper() + ":" + ("-" if value is None else value.hex().upper())
        for name, value in headers
    )
    return md5(",".join(texts).encode(), usedforsecurity=False).hexdigest()


def _bytes(value: bytearray | bytes | None) -> bytes | None:
    return None if value is None else bytes(value)
