"""The writers: they translate Spark's calls. Spark pickles them to executors, and makes new ones for the commit."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from shareq.client.errors import ClientError
from shareq.spark.sink import task
from shareq.spark.sink.options import SinkOptions
from shareq.spark.sink.task import Part, Version

if TYPE_CHECKING:
    import pyarrow

QUERY_ID: Final = "sql.streaming.queryId"
BATCH_ID: Final = "streaming.sql.batchId"
"""Properties that Spark's MicroBatchExecution sets for the tasks of a micro-batch."""


class Written(WriterCommitMessage):
    """The part of one task, and the identity of its batch."""

    def __init__(self, version: Version, part: Part) -> None:
        self.version = version
        self.part = part


class BatchWriter(DataSourceArrowWriter):
    """A writer of a DataFrame: each task has a transaction; the driver commits all when every task has succeeded."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options
        self._version = Version(options.app_id or f"batch-{uuid.uuid4()}", options.version)

    def write(self, iterator: Iterator[pyarrow.RecordBatch]) -> WriterCommitMessage:
        part = task.write(iterator, self._options, self._version, _context().partitionId())
        return Written(self._version, part)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        _commit(self._options, messages)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        _abort(self._options, self._version, messages)


class StreamWriter(DataSourceStreamArrowWriter):
    """A writer of a query's micro-batches, each once."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pyarrow.RecordBatch]) -> WriterCommitMessage:
        context = _context()
        query, batch = context.getLocalProperty(QUERY_ID), context.getLocalProperty(BATCH_ID)
        if query is None or batch is None:
            raise ClientError(f"kafka-share: Spark does not say which micro-batch this is ({QUERY_ID}, {BATCH_ID})")
        version = Version(query, int(batch))
        return Written(version, task.write(iterator, self._options, version, context.partitionId()))

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        _commit(self._options, messages)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        written = _written(messages)
        if written:  # else the query's id is unknown here, and its next attempt aborts what is open
            _abort(self._options, written[0].version, messages)


def _context() -> TaskContext:
    context = TaskContext.get()
    assert context is not None
    return context


def _commit(options: SinkOptions, messages: Sequence[WriterCommitMessage | None]) -> None:
    written = _written(messages)
    if written:
        task.commit(options, written[0].version, [each.part for each in written])


def _abort(options: SinkOptions, version: Version, messages: Sequence[WriterCommitMessage | None]) -> None:
    task.abort(options, version, [each.part if isinstance(each, Written) else None for each in messages])


def _written(messages: Sequence[WriterCommitMessage | None]) -> list[Written]:
    return [each for each in messages if isinstance(each, Written)]
