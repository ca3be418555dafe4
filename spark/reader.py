"""The stream reader: translates Spark's calls. It is made in several processes, and opens nothing before it must.

Runner (one per query run): initialOffset, latestOffset, partitions, stop. Executors: read, on a pickled copy.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from shareq.client.errors import ClientError
from shareq.spark import executor
from shareq.spark.offsets import INITIAL, SourceOffset
from shareq.spark.options import SourceOptions
from shareq.spark.planning import TaskRanges, plan

if TYPE_CHECKING:
    from types import TracebackType

    import pyarrow

    from shareq.spark.query.driver import Driver


GRACE_S: Final = 10.0


class ShareInputPartition(InputPartition):
    """The partition that one task reads."""

    def __init__(self, task: TaskRanges) -> None:
        super().__init__(task)
        self.task = task


class ShareGroupStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A stream reader of a share group under the contract of docs/spark.md."""

    def __init__(self, options: SourceOptions, columns: Sequence[str]) -> None:
        self._options = options
        self._columns = tuple(columns)
        self._driver: Driver | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_options": self._options, "_columns": self._columns, "_driver": None}

    # -- in the runner

    def initialOffset(self) -> dict[str, Any]:
        return INITIAL.to_json()

    def getDefaultReadLimit(self) -> ReadLimit:
        most = self._options.max_records_per_trigger
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def prepareForTriggerAvailableNow(self) -> None:
        with _BriefTrace():
            self._running().prepare_available_now()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        with _BriefTrace():
            end = self._running().latest(SourceOffset.from_json(start), most)
        return start if end is None else end.to_json()

    def reportLatestOffset(self) -> dict[str, Any] | None:
        return None if self._driver is None else self._driver.report()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        if start == end:
            return []
        offset = SourceOffset.from_json(end)
        if self._driver is not None:  # otherwise this is a replay, and its locks are gone
            with _BriefTrace():
                self._driver.logged(offset)
        return [
            ShareInputPartition(task)
            for task in plan(
                offset.batch,
                min_partitions=self._options.min_partitions,
                max_records_per_partition=self._options.max_records_per_partition,
            )
        ]

    def stop(self) -> None:
        if self._driver is not None:
            self._driver.close()
            self._driver = None

    def _running(self) -> Driver:
        if self._driver is None:
            from shareq.spark.query.driver import Driver

            _end_on_sigterm()
            self._driver = Driver(self._options)
        return self._driver

    # -- in an executor

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        assert isinstance(partition, ShareInputPartition)
        return executor.read(
            partition.task, self._options.client, self._columns, fail_on_data_loss=self._options.fail_on_data_loss
        )


class _BriefTrace:
    """A guard that drops the trace of a ClientError, whose message says enough. Spark prints traces twice."""

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, ClientError):
            raise error.with_traceback(None) from None


def _end_on_sigterm() -> None:
    """End the runner in order, with `stop`, at Spark's first SIGTERM: Spark sends two, and waits for neither.

    The process ends after GRACE_S at the latest. Do nothing if the signal has another handler, or outside of the main
    thread.
    """

    def end(signum: int, frame: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        last = threading.Timer(GRACE_S, os._exit, (128 + signum,))
        last.daemon = True
        last.start()
        raise SystemExit(128 + signum)

    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, end)
