"""Reading a share group in a program that runs no streaming query: batch by batch, each acknowledged when it is done.

Spark notifies a batch source of nothing when its job has succeeded. So the member of the group is in the program that
has the session, and its DataFrames read ranges of offsets, as often as they are evaluated.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import DataSourceReader, InputPartition

from shareq.spark import executor
from shareq.spark.offsets import INITIAL, SourceOffset
from shareq.spark.options import OptionsError, SourceOptions
from shareq.spark.planning import plan
from shareq.spark.reader import ShareInputPartition

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

RANGES: Final = "shareq.ranges"
"""The option by which a DataFrame of `batches` gets its ranges, as the JSON of a SourceOffset."""


def batches(spark: SparkSession, options: Mapping[str, object]) -> Iterator[DataFrame]:
    """Yield the records that the group has now, in batches; a batch is accepted when the next one is asked for.

    Raises OptionsError, and ClientError as the streaming source does.
    """
    given = {name: str(value) for name, value in options.items()}
    parsed = SourceOptions.parse(given)
    if parsed.ack != "commit":
        raise OptionsError("kafka-share: ack is for streaming queries: here a batch is acknowledged when it is done")
    from shareq.spark.query.driver import Driver

    driver = Driver(parsed)
    try:
        driver.prepare_available_now()
        start = INITIAL
        while (end := driver.latest(start, parsed.max_records_per_trigger)) is not None:
            text = json.dumps(end.to_json())
            yield spark.read.format("kafka-share").options(**given).option(RANGES, text).load()
            start = end
    finally:
        driver.close()  # gives back a batch that was not done


class RangesReader(DataSourceReader):
    """Reads the ranges of one batch. It needs no locks: each evaluation of a DataFrame gets the same records."""

    def __init__(self, options: SourceOptions, columns: tuple[str, ...], ranges: str) -> None:
        self._options = options
        self._columns = columns
        self._offset = SourceOffset.from_json(json.loads(ranges))

    def partitions(self) -> list[InputPartition]:
        options = self._options
        tasks = plan(
            self._offset.batch,
            min_partitions=options.min_partitions,
            max_records_per_partition=options.max_records_per_partition,
        )
        return [ShareInputPartition(task) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        assert isinstance(partition, ShareInputPartition)
        options = self._options
        return executor.read(partition.task, options.client, self._columns, fail_on_data_loss=options.fail_on_data_loss)
