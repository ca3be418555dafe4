"""Bytes to values and back: Kafka's messages, headers, errors and record batches. Pure."""
