"""A PySpark data source that reads Kafka share groups in Structured Streaming: docs/spark.md.

    import shareq.spark                    # registers with the active session; Spark also finds the source by itself
    spark.readStream.format("kafka-share").option("kafka.bootstrap.servers", ...).option("kafka.group.id", ...)

Importing this needs no PySpark; `register` and the source do, and say so in one line.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from shareq.spark.data_source import KafkaShareSource

__all__ = ["KafkaShareSource", "batches", "register"]


def register(spark: SparkSession | None = None) -> None:
    """Register the format `kafka-share` with a session, classic or Connect; without one, with the active session.

    Needed before several queries start at once in one session: their tasks may fail otherwise (docs/spark.md). Raises
    PySparkNeeded (an ImportError) without PySpark 4.2 or newer, RuntimeError if no session is active.
    """
    from shareq.spark.versions import check_pyspark

    check_pyspark()
    from shareq.spark import registration

    session = _active() if spark is None else spark
    if session is None:
        raise RuntimeError("no Spark session is active: start one first, or call shareq.spark.register(spark)")
    registration.register(session)


def batches(spark: SparkSession, options: Mapping[str, object]) -> Iterator[DataFrame]:
    """Yield the records that a share group has now, in DataFrames, without a streaming query and its checkpoint.

    The records of a DataFrame stay locked while the caller works with it, are accepted when the next one is asked for,
    and released if the loop ends before that. `options` are those of the source. Raises PySparkNeeded, OptionsError,
    ClientError.
    """
    from shareq.spark.versions import check_pyspark

    check_pyspark()
    from shareq.spark.batch_reading import batches

    return batches(spark, options)


def __getattr__(name: str) -> Any:
    if name != "KafkaShareSource":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from shareq.spark.versions import check_pyspark

    check_pyspark()
    from shareq.spark.data_source import KafkaShareSource

    return KafkaShareSource


def _active() -> SparkSession | None:
    """Return the active session of this process. Looking costs nothing where pyspark has not been imported yet."""
    if "pyspark" not in sys.modules:
        return None
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        return None
    return SparkSession.getActiveSession()


if _active() is not None:
    register()
