"""The format `kafka-share`: the class that Spark finds, pickles and asks for schema, reader and writer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

from shareq.spark import columns
from shareq.spark.options import OptionsError, SourceOptions

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from shareq.spark.batch_reading import RangesReader
    from shareq.spark.reader import ShareGroupStreamReader
    from shareq.spark.sink.options import SinkOptions
    from shareq.spark.sink.writer import BatchWriter, StreamWriter

FORMAT = "kafka-share"


class NoBatchReader(NotImplementedError):
    """The error of `spark.read`. The message gives the reason, and names the alternative."""


class KafkaShareSource(DataSource):
    """Kafka share groups as a stream. Options and contract: docs/spark.md."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        """Return the schema for the options. Raises OptionsError, which the user's load() shows."""
        return columns.ddl(SourceOptions.parse(_without_ranges(self.options)).columns)

    def streamReader(self, schema: StructType) -> ShareGroupStreamReader:
        """Return the reader of the options.

        Raises OptionsError; SchemaError for a user's schema that is no choice of the columns.
        """
        from shareq.spark.versions import check_pyspark

        check_pyspark()
        from shareq.spark.reader import ShareGroupStreamReader

        options = SourceOptions.parse(self.options)
        wanted = [(field.name, field.dataType.simpleString(), field.nullable) for field in schema.fields]
        return ShareGroupStreamReader(options, columns.chosen(wanted, options.columns))

    def reader(self, schema: StructType) -> RangesReader:
        """Return the reader of a DataFrame that `shareq.spark.batches` made. Raises NoBatchReader for any other."""
        from shareq.spark.batch_reading import RANGES, RangesReader

        ranges = self.options.get(RANGES)
        if ranges is None:
            raise NoBatchReader(
                "kafka-share: there is no spark.read of a share group: Spark notifies a batch source of nothing after "
                "its job succeeded, so it could only acknowledge too early or never. Use spark.readStream with "
                ".trigger(availableNow=True), which reads what is there now and ends, or shareq.spark.batches(spark, "
                "options), which does so without a checkpoint"
            )
        options = SourceOptions.parse(_without_ranges(self.options))
        wanted = [(field.name, field.dataType.simpleString(), field.nullable) for field in schema.fields]
        return RangesReader(options, columns.chosen(wanted, options.columns), ranges)

    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        """Return the writer of a DataFrame.

        Raises OptionsError; SchemaError for columns that cannot be written as records.
        """
        from shareq.spark.sink.writer import BatchWriter

        if overwrite:
            raise OptionsError("kafka-share: save mode overwrite is not allowed for Kafka. Use .mode('append')")
        return BatchWriter(self._sink_options(schema, streaming=False))

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:
        """Return the writer of a streaming query, whatever its output mode: rows are records. Raises as `writer`."""
        from shareq.spark.sink.writer import StreamWriter

        return StreamWriter(self._sink_options(schema, streaming=True))

    def _sink_options(self, schema: StructType, *, streaming: bool) -> SinkOptions:
        from shareq.spark.sink import columns as taken
        from shareq.spark.sink.options import SinkOptions
        from shareq.spark.versions import check_pyspark

        check_pyspark()
        options = SinkOptions.parse(self.options, streaming=streaming)
        given = [(field.name, field.dataType.simpleString()) for field in schema.fields]
        taken.check(given, topic=options.topic)
        return options


def _without_ranges(options: Mapping[str, str]) -> dict[str, str]:
    from shareq.spark.batch_reading import RANGES

    return {name: value for name, value in options.items() if name.lower() != RANGES}
