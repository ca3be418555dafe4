"""The other clients of the topic: the producer, and the other member of the share group. Both are librdkafka's."""

from __future__ import annotations

import threading
from collections.abc import Callable

from confluent_kafka import AcknowledgeType, Producer

from devtools.clients.admin import QUIET
from tests.interop.support.share_ledger import Ledger, members
from tests.spark.kills.ledger import Place


class Feeder:
    """Produces numbers, dealt out over the partitions, in small record batches, so that members can share them."""

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
        """Returns when all are confirmed. AssertionError when one is not within a minute."""
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
    """A plain share consumer that accepts, one by one, what it gets, and keeps a journal; in a thread of its own."""

    def __init__(self, bootstrap: str, group: str, topic: str) -> None:
        self.ledger = Ledger()
        self.failure: BaseException | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, args=(bootstrap, group, topic), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Close it: what it holds goes back to the group. Raises what it failed with."""
        self._over.set()
        self._thread.join(90)
        assert not self._thread.is_alive(), "the other member does not end"
        if self.failure is not None:
            raise self.failure

    @property
    def accepted(self) -> dict[Place, int]:
        """Records whose ACCEPT the broker confirmed."""
        return {
            place: int(self.ledger.values[place])
            for place, kind in self.ledger.finished.items()
            if kind is AcknowledgeType.ACCEPT
        }

    @property
    def unknown(self) -> dict[Place, int]:
        """Records whose ACCEPT was cut off, and that never came again."""
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
