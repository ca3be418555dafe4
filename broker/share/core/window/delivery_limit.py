"""The effect of `group.share.delivery.count.limit` on a record that keeps failing (KIP-932, Apache Kafka 4.3.1).

From about half the limit on, it is delivered with fewer and fewer other records. When it is released at the limit, it
is archived: no member gets it again. In a group with a dead-letter queue it is archiving until its dead letter is
written.
"""

from __future__ import annotations

from shareq.broker.share.core.window.delivery_status import DeliveryStatus
from shareq.coordinator.ports import ShareGroupSettings
from shareq.protocol.share import RecordState


def given_up_state(settings: ShareGroupSettings) -> RecordState:
    """Return the state of an unprocessable record."""
    return RecordState.ARCHIVING if settings.dead_letters else RecordState.ARCHIVED


def after_release(status: DeliveryStatus, settings: ShareGroupSettings) -> RecordState:
    """Return the state of a record that is released: if it is at the delivery count limit, that of an unprocessable
    record.
    """
    if status.delivery_count < settings.delivery_count_limit:
        return RecordState.AVAILABLE
    return given_up_state(settings)


def throttled_from(delivery_count_limit: int) -> int:
    """Return the delivery count from which on a record is handed out together with ever fewer others."""
    return max(2, (delivery_count_limit + 1) // 2)


def travels_alone(delivery_count: int, delivery_count_limit: int) -> bool:
    """Return True if the next delivery of a record that was delivered `delivery_count` times is its last.

    No other record is handed out with it then, so that it cannot make others fail. Always False with a limit of two
    deliveries.
    """
    return delivery_count == delivery_count_limit - 1 and delivery_count_limit > 2


def largest_company(delivery_count: int, delivery_count_limit: int, batch_size: int) -> int:
    """Return how many records of a batch may be delivered together with a record that was delivered `delivery_count`
    times.

    That is half of the batch at `throttled_from`, and half of that for each further delivery, but at least one.
    """
    return max(1, batch_size >> (delivery_count - throttled_from(delivery_count_limit) + 1))
