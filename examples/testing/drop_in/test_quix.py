"""A suite of an application with Quix Streams."""

import json
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

pytest.importorskip("quixstreams", reason="Quix Streams is not installed: pip install quixstreams")

from quixstreams import Application, State


def totals(app: Application) -> None:
    """Sum each customer's payments so far: the code under test. Its state is in a topic, too."""
    payments = app.topic("payments", value_deserializer="json", key_deserializer="str")
    sums = app.topic("totals", value_serializer="json", key_serializer="str")

    def add(amount: int, state: State) -> dict[str, int]:
        total = state.get("total", 0) + amount
        state.set("total", total)
        return {"total": total}

    app.dataframe(payments).apply(add, stateful=True).to_topic(sums)


def application(bootstrap: str, folder: Path) -> Application:
    return Application(bootstrap, consumer_group="accounts", auto_offset_reset="earliest", state_dir=folder)


def pay(bootstrap: str, *payments: tuple[str, int]) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for customer, amount in payments:
        producer.produce("payments", str(amount), customer)
    assert producer.flush(20) == 0


def totals_written(bootstrap: str, count: int) -> list[tuple[bytes, int]]:
    config = {"bootstrap.servers": bootstrap, "group.id": "judge", "auto.offset.reset": "earliest"}
    consumer = Consumer(config)
    consumer.subscribe(["totals"])
    messages = consumer.consume(count, timeout=20)
    consumer.close()
    return [(message.key() or b"", json.loads(message.value() or b"{}")["total"]) for message in messages]


def test_totals_go_on_where_the_state_folder_is_lost(bootstrap: str, tmp_path: Path) -> None:
    for run, payments in enumerate([[("ada", 5), ("bob", 1), ("ada", 2)], [("ada", 10)]]):
        app = application(bootstrap, tmp_path / str(run))
        totals(app)
        pay(bootstrap, *payments)
        app.run(count=len(payments), timeout=30)
    assert sorted(totals_written(bootstrap, 4)) == [(b"ada", 5), (b"ada", 7), (b"ada", 17), (b"bob", 1)]
