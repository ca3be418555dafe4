"""Where Spark finds the source `kafka-share` by itself: it looks into top-level modules named pyspark_*."""

from shareq.spark.data_source import KafkaShareSource as DefaultSource

__all__ = ["DefaultSource"]
