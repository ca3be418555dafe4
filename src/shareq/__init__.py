"""shareq: a Kafka-wire-compatible broker for queues (KIP-932 share groups)."""

from shareq.compiled import prefer_compiled
from shareq.protocol.compiled import wants_pure

__version__ = "0.1.0"

if not wants_pure():
    prefer_compiled()
