"""The module by which Spark finds the source `kafka-share`: it looks into top-level modules named pyspark_*."""

from shareq.spark.data_source import KafkaShareSource as DefaultSource

__all__ = ["DefaultSource"]
