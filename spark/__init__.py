"""A PySpark data source that reads Kafka share groups in Structured Streaming."""
