"""A topic, a share group, a checkpoint, and streams that read the group through the source `kafka-share`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from devtools.clients.admin import configure_group, create_topic, produce, read_from_start
from shareq.client.admin import Admin
from shareq.client.config import ClientConfig
from shareq.client.network import Network
from shareq.protocol.generated.delete_records import DeleteRecordsResponse
from shareq.protocol.generated.share_group_describe import ShareGroupDescribeRequest, ShareGroupDescribeResponse
from tests.support.clients.administration import delete_records_request

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession
    from pyspark.sql.streaming import DataStreamReader, StreamingQuery

TIMEOUT_S = 90


class Batch(NamedTuple):
    number: int
    rows: list[Row]

    @property
    def places(self) -> list[tuple[int, int]]:
        return sorted((row["partition"], row["offset"]) for row in self.rows)


@dataclass
class ShareStream:
    """One topic with a share group that starts at its first record. `folder` holds checkpoints and sinks."""

    spark: SparkSession
    bootstrap: str
    topic: str
    group: str
    folder: Path
    partitions: int = 1
    options: dict[str, str] = field(default_factory=dict)

    def create(self, group_configs: dict[str, str] | None = None, **topic_configs: str) -> ShareStream:
        create_topic(self.bootstrap, self.topic, self.partitions, **topic_configs)
        read_from_start(self.bootstrap, self.group)
        if group_configs:
            configure_group(self.bootstrap, self.group, group_configs)
        return self

    def produce(self, count: int, *, start: int = 0, batch_records: int = 10) -> list[bytes]:
        """Produce `count` numbered values, dealt out over the partitions in small record batches."""
        values = [b"%d" % number for number in range(start, start + count)]
        produce(
            self.bootstrap,
            self.topic,
            [(number % self.partitions, value) for number, value in enumerate(values)],
            batch_records=batch_records,
        )
        return values

    def load(self, **options: object) -> DataFrame:
        """Return the stream; `options` are added to those that every stream needs."""
        return self._reader(options).load()

    def load_columns(self, schema: str) -> DataFrame:
        return self._reader({}).schema(schema).load()

    def _reader(self, options: Mapping[str, object]) -> DataStreamReader:
        reader = self.spark.readStream.format("kafka-share")
        chosen = {
            "kafka.bootstrap.servers": self.bootstrap,
            "kafka.group.id": self.group,
            "subscribe": self.topic,
            **self.options,
            **{name: str(value) for name, value in options.items()},
        }
        for name, value in chosen.items():
            reader = reader.option(name, value)
        return reader

    def start(
        self, rows: DataFrame, sink: Callable[[DataFrame, int], None], *, checkpoint: str = "checkpoint", **trigger: Any
    ) -> StreamingQuery:
        return (
            rows.writeStream.foreachBatch(sink)
            .option("checkpointLocation", str(self.folder / checkpoint))
            .trigger(**trigger or {"availableNow": True})
            .start()
        )

    def drain(self, rows: DataFrame | None = None, *, checkpoint: str = "checkpoint") -> list[Batch]:
        """Return the records that exist now, by micro-batch; empty micro-batches are left out."""
        taken: list[Batch] = []
        query = self.start(self.load() if rows is None else rows, collect_into(taken), checkpoint=checkpoint)
        assert query.awaitTermination(TIMEOUT_S), "the query does not end"
        return taken

    def logged(self, checkpoint: str = "checkpoint") -> dict[int, dict[str, Any]]:
        """Return the source's offset of each batch, from Spark's offset log."""
        return {number: json.loads(text.splitlines()[-1]) for number, text in self._log(checkpoint, "offsets").items()}

    def committed(self, checkpoint: str = "checkpoint") -> set[int]:
        return set(self._log(checkpoint, "commits"))

    def forget_commit(self, number: int, checkpoint: str = "checkpoint") -> None:
        """Remove a commit, as if Spark had been killed just before it noted the end of a batch."""
        folder = self.folder / checkpoint / "commits"
        (folder / str(number)).unlink()
        (folder / f".{number}.crc").unlink(missing_ok=True)

    def lag(self) -> int:
        """Return how many records the group is not done with; -1 while it has acknowledged nothing yet."""
        network = Network(ClientConfig.from_properties({"bootstrap.servers": self.bootstrap}))
        try:
            rows = Admin(network).share_groups.all_offsets(self.group)
        finally:
            network.close()
        known = [row.lag for row in rows.values() if row.lag is not None]
        return sum(known) if len(known) == self.partitions else -1

    def members(self) -> int:
        network = Network(ClientConfig.from_properties({"bootstrap.servers": self.bootstrap}))
        try:
            answer = network.request(network.coordinator(self.group), ShareGroupDescribeRequest([self.group]))
        finally:
            network.close()
        assert isinstance(answer, ShareGroupDescribeResponse)
        return len(answer.groups[0].members)

    def _log(self, checkpoint: str, name: str) -> dict[int, str]:
        folder = self.folder / checkpoint / name
        if not folder.exists():
            return {}
        return {int(one.name): one.read_text() for one in folder.iterdir() if one.name.isdecimal()}


def collect_into(taken: list[Batch]) -> Callable[[DataFrame, int], None]:
    """Return a sink for `foreachBatch` that keeps every micro-batch with rows."""

    def sink(rows: DataFrame, number: int) -> None:
        found = rows.collect()
        if found:
            taken.append(Batch(number, found))

    return sink


def delete_records(bootstrap: str, topic: str, before: int) -> None:
    network = Network(ClientConfig.from_properties({"bootstrap.servers": bootstrap}))
    try:
        leader = network.leader(network.topic_ids([topic])[topic], 0)
        answer = network.request(leader, delete_records_request(topic, {0: before}))
    finally:
        network.close()
    assert isinstance(answer, DeleteRecordsResponse)
    assert answer.topics[0].partitions[0].error_code == 0


def reported_by(query: StreamingQuery) -> list[dict[str, Any]]:
    """Return the source's reports in the progress events of micro-batches with rows."""
    events = [json.loads(event.json) for event in query.recentProgress]
    return [event["sources"][0]["latestOffset"] for event in events if event["numInputRows"]]


def until(done: Callable[[], bool], query: StreamingQuery | None = None, timeout_s: float = TIMEOUT_S) -> None:
    """Wait for something that a query brings about. AssertionError when it does not come; raises the query's error."""
    deadline = time.monotonic() + timeout_s
    while not done():
        if query is not None and not query.isActive:
            query.awaitTermination(1)
            raise AssertionError("the query ended")
        assert time.monotonic() < deadline, f"not within {timeout_s:g} s"
        time.sleep(0.02)
