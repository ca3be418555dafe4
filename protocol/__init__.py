"""The encoding and decoding of Kafka's messages, headers, errors and record batches. Pure."""
