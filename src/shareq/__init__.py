"""shareq: a Kafka-wire-compatible broker for queues (KIP-932 share groups)."""

from shareq.compiled import prefer_compiled

__version__ = "0.1.0"

prefer_compiled()
