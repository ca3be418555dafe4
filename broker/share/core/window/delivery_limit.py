"""What `group.share.delivery.count.limit` does to a record that keeps failing (KIP-932, Apache Kafka 4.3.1).

From about half the limit on it is handed out in ever smaller company, and when it is given back at the limit, it is
archived: nobody gets it again.
"""

from __future__ import annotations

from shareq.broker.share.core.window.delivery_status import DeliveryStatus
from shareq.broker.share.core.window.record_state import RecordState


def after_release(status: DeliveryStatus, delivery_count_limit: int) -> RecordState:
    """Where a record goes that is given back: archived at the delivery count limit, which makes it unprocessable."""
    return RecordState.ARCHIVED if status.delivery_count >= delivery_count_limit else RecordState.AVAILABLE


def throttled_from(delivery_count_limit: int) -> int:
    """The delivery count from which on a record is handed out in ever smaller company."""
    return max(2, (delivery_count_limit + 1) // 2)
