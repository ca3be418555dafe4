"""A transport for kombu, and thereby for Celery, over share groups: `kafka-share://host:port//`. See docs/celery.md.

import shareq.kombu

shareq.kombu.register()
app = Celery("tasks", broker="kafka-share://localhost:9092//")
"""

from shareq.kombu.names import SCHEME
from shareq.kombu.transport import Transport

__all__ = ["SCHEME", "Transport", "register"]


def register() -> None:
    """Register `kafka-share://` with kombu. A second call changes nothing."""
    from kombu.transport import TRANSPORT_ALIASES

    TRANSPORT_ALIASES[SCHEME] = "shareq.kombu.transport:Transport"
