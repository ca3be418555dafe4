from __future__ import annotations

import os
import time

import dramatiq
from dramatiq import Consumer, MessageProxy

from shareq.dramatiq import ShareqBroker
from tests.campaign.celery_kills.journal import note


class Noting(Consumer):
    """A consumer that notes its worker's tasks when they arrive; a thread begins them later."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self.ack, self.nack, self.requeue = consumer.ack, consumer.nack, consumer.requeue  # type: ignore[method-assign]
        self.close = consumer.close  # type: ignore[method-assign]

    def __next__(self) -> MessageProxy | None:
        message = next(self._consumer)
        if message is not None:
            note("got", message.args[0])
        return message


class NotingBroker(ShareqBroker):
    def consume(self, queue_name: str, prefetch: int = 1, timeout: int = 30_000) -> Consumer:
        return Noting(super().consume(queue_name, prefetch, timeout))


broker = NotingBroker(os.environ["CELERY_KILLS_BROKER"], group_config={"share.delivery.count.limit": "10"})
dramatiq.set_broker(broker)


@dramatiq.actor(broker=broker)
def work(number: int, seconds: float) -> None:
    note("begin", number)
    time.sleep(seconds)
    note("end", number)


def send(number: int, seconds: float) -> None:
    work.send(number, seconds)
