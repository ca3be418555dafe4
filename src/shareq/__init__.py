"""shareq: a Kafka-wire-compatible broker for queues (KIP-932 share groups)."""

__version__ = "0.2.0"
