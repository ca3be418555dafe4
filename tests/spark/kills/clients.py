"""The other clients of the topic: the producer, and the other member of the share group. Both are librdkafka's."""

from __future__ import annotations

import threading
from collections.abc import Callable

from confluent_kafka import AcknowledgeType, Producer

from devtools.clients.admin import QUIET
from tests.interop.support.share_ledger import Ledger, members
from tests.spark.kills.ledger import Place


class Feeder:
    """A producer of numbers in small batches over all partitions, so that members can share them."""

    def __init__(self, bootstrap: str, topic: str, partitions: int, batch_records: int) -> None:
        self.produced: dict[Place, int] = {}
        """The numbers that the broker has confirmed, each by where it is."""
        self._topic, self._partitions = topic, partitions
        self._number = 0
        self._failures: list[object] = []
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 5,
                "batch.num.messages": batch_records,
                "reconnect.backoff.max.ms": 250,
                **QUIET,
            }
        )

    def feed(self, records: int) -> None:
        """Produce so many records. Return when all are confirmed; raise AssertionError after a minute."""
        for number in range(self._number, self._number + records):
            partition = number % self._partitions
            self._producer.produce(
                self._topic, str(number), partition=partition, on_delivery=self._delivered(partition, number)
            )
        self._number += records
        left = self._producer.flush(60)
        assert not left, f"{left} records were not confirmed within 60 s"
        assert not self._failures, self._failures[:3]

    def _delivered(self, partition: int, number: int) -> Callable[..., None]:
        def delivered(error: object, message: object) -> None:
            if error:
                self._failures.append(error)
            else:
                self.produced[partition, message.offset()] = number  # type: ignore[attr-defined]

        return delivered


class Competitor:
    """A plain share consumer in its own thread, which accepts its records one by one and keeps a journal."""

    def __init__(self, bootstrap: str, group: str, topic: str) -> None:
        self.ledger = Ledger()
        self.failure: BaseException | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, args=(bootstrap, group, topic), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Close the consumer, which releases its acquired records.

        Raise the exception with which the consumer failed.
        """
        self._over.set()
        self._thread.join(90)
        assert not self._thread.is_alive(), "the other member does not end"
        if self.failure is not None:
            raise self.failure

    @property
    def accepted(self) -> dict[Place, int]:
        return {
            place: int(self.ledger.values[place])
            for place, kind in self.ledger.finished.items()
            if kind is AcknowledgeType.ACCEPT
        }

    @property
    def unknown(self) -> dict[Place, int]:
        """Return the records whose ACCEPT got no answer, and that were not delivered again."""
        return {
            place: int(self.ledger.values[place]) for place in self.ledger.unknown if place not in self.ledger.finished
        }

    def _work(self, bootstrap: str, group: str, topic: str) -> None:
        try:
            with members(bootstrap, group, topic, self.ledger, poll_records=20) as joined:
                while not self._over.is_set():
                    joined[0].step(0.1)
                    self._over.wait(0.02)  # slower than Spark, which shall get its part
        except BaseException as error:
            self.failure = error
