"""The product's source, which also reports each step to the harness and waits there for permission to continue.

Option `killGate` is the harness's address. Option `plant` names a fault that the harness must find; all else is the
product's, except for the name:

* `accept-early`: records are acknowledged as soon as they are acquired.
* `forgetful`: a restarted query does not recognize the records that its earlier run gave to Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import InputPartition
from pyspark.sql.streaming.datasource import ReadLimit

from shareq.client.share.session import AckRange
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import AcknowledgeType
from shareq.spark.data_source import KafkaShareSource
from shareq.spark.offsets import SourceOffset
from shareq.spark.options import SourceOptions
from shareq.spark.query.driver import Driver
from shareq.spark.reader import ShareGroupStreamReader
from tests.spark.kills.gate import show

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql.types import StructType


class KillSource(KafkaShareSource):
    def __init__(self, options: Mapping[str, str]) -> None:
        given = {name.lower(): value for name, value in options.items()}
        self._gate, self._plant = given.pop("killgate"), given.pop("plant")
        super().__init__(given)

    @classmethod
    def name(cls) -> str:
        return "kafka-share-under-fire"

    def streamReader(self, schema: StructType) -> KillReader:
        reader = super().streamReader(schema)
        return KillReader(reader._options, reader._columns, self._gate, self._plant)


class KillReader(ShareGroupStreamReader):
    def __init__(self, options: SourceOptions, columns: Sequence[str], gate: str, plant: str) -> None:
        super().__init__(options, columns)
        self._gate, self._plant = gate, plant
        self._handed_out = 0
        self._committed = 0  # the last micro-batch that was reported as committed
        self._sessions: dict[Any, int] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_gate": self._gate, "_plant": self._plant}

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        before = SourceOffset.from_json(start)
        self._show_lost_sessions()
        if before.batch and before.seq > self._committed:  # Spark asks again and again while there is nothing
            self._committed = before.seq
            show(self._gate, "commits-written")
        if self._plant == "forgetful" and self._handed_out == 0:
            start = {**start, "b": {}, "u": {}}
        end = super().latestOffset(start, limit)
        if end != start:
            self._show_lost_sessions()
            acquired = SourceOffset.from_json(end)
            self._handed_out += 1
            if self._plant == "accept-early":
                driver = self._running()
                driver._accept(driver._books.log_written(acquired))
            show(self._gate, "acquired", ranges=_ranges(acquired))
        return end

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        if end != start:
            show(self._gate, "offsets-written")
        return super().partitions(start, end)

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        reported = False
        for batch in super().read(partition):
            yield batch
            if not reported:
                reported = True
                show(self._gate, "read")

    def _running(self) -> Driver:
        if self._driver is None:
            self._listen_to(super()._running())
        return super()._running()

    def _listen_to(self, driver: Driver) -> None:
        acknowledge = driver._consumer.acknowledge

        def reported(ranges: Sequence[AckRange], kind: AcknowledgeType) -> list[tuple[AckRange, ErrorCode]]:
            results = acknowledge(ranges, kind)
            if kind is AcknowledgeType.ACCEPT:
                good = [[one.partition, one.first, one.last] for one, error in results if error == ErrorCode.NONE]
                show(self._gate, "accepted" if len(good) == len(results) else "confirmed", ranges=good)
            return results

        driver._consumer.acknowledge = reported  # type: ignore[method-assign]

    def _show_lost_sessions(self) -> None:
        """Report lost sessions, because locks may be lost without any killed process."""
        if self._driver is not None:
            sessions = dict(self._driver._consumer.generation)
            lost = any(sessions.get(place) != number for place, number in self._sessions.items())
            self._sessions = sessions
            if lost:
                show(self._gate, "lost")


def _ranges(offset: SourceOffset) -> list[list[int]]:
    return [[key.partition, first, last] for key, found in offset.batch.items() for first, last, _ in found]
