"""A streaming query in PySpark, with all columns, that collects what it is handed."""

from __future__ import annotations

from collections.abc import Iterator

from tests.bad_records.raw_reader import raw_records
from tests.bad_records.scene import RawRecord, Scene
from tests.bad_records.surfaces.verdict import Verdict

PATIENCE_S = 600


def run(scene: Scene, bad: Iterator[RawRecord]) -> Verdict:
    """Return the verdict on a query that has to emit each record once, with its key and value."""
    import shareq.spark  # noqa: F401  # registers with the session
    from devtools.clients.wire import WireClient
    from tests.spark.support.session import open_session

    topic = scene.topic("streamed")
    scene.group("streamers")
    good = scene.fill(topic, bad, lambda number: scene.write(topic, [RawRecord(b"good", b"%d" % number)]))
    end = scene.end(topic)
    found: list[tuple[int, bytes | None, bytes | None, int]] = []
    spark = open_session(scene.folder / "spark")
    try:
        rows = (
            spark.readStream.format("kafka-share")
            .option("kafka.bootstrap.servers", scene.broker.bootstrap)
            .option("kafka.group.id", "streamers")
            .option("subscribe", topic)
            .option("includeHeaders", "true")
            .load()
        )

        def collect(batch, number) -> None:  # type: ignore[no-untyped-def]
            chosen = batch.selectExpr("offset", "key", "value", "coalesce(size(headers), 0) as headers").collect()
            found.extend((row.offset, _bytes(row.key), _bytes(row.value), max(row.headers, 0)) for row in chosen)

        query = (
            rows.writeStream.foreachBatch(collect)
            .option("checkpointLocation", str(scene.folder / "spark" / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(PATIENCE_S), "the query stands still"
    finally:
        spark.stop()
    with WireClient(scene.broker.address, timeout_s=60) as client:
        written = [
            (offset, each.key, each.value, len(each.headers))
            for offset, each in enumerate(raw_records(client, topic, end))
        ]
    differing = [pair for pair in zip(written, sorted(found), strict=True) if pair[0] != pair[1]]
    assert not differing, f"{len(differing)} rows differ: {str(differing[0])[:500]}"
    scene.until_done("streamers", topic, lambda: None)
    return Verdict(end, len(good), end)


def _bytes(value: bytearray | bytes | None) -> bytes | None:
    return None if value is None else bytes(value)
