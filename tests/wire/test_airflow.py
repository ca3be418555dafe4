"""shareq.airflow on a real broker, with stand-ins for Airflow: the guarantees of docs/airflow.md."""

from __future__ import annotations

import asyncio
import inspect
import re
import runpy
import shlex
from collections.abc import Iterator
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest

from shareq.aio import AcknowledgeType
from shareq.airflow import get_provider_info
from shareq.client.errors import ConfigError
from shareq.testing import Broker
from tests.support import airflow_stand_in
from tests.support.airflow_stand_in import AdvanceItem, AdvanceOutcome
from tests.support.clients.shareq_cli import Shell
from tests.support.each import for_each
from tests.support.waiting import comes_true

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = (ROOT / "docs" / "airflow.md").read_text()
ALL_STORED: Final = AdvanceOutcome(1, 0)
_numbers = count(1)


@pytest.fixture(scope="module")
def queues() -> Iterator[Any]:
    with airflow_stand_in.airflow():
        yield import_module("shareq.airflow.queues")


@pytest.fixture
def group() -> str:
    return f"airflow-{next(_numbers)}"


def stream(queues: Any, broker: Broker, topic: str, group: str) -> Any:
    trigger = queues.ShareGroupTrigger(bootstrap_servers=broker.bootstrap, topic=topic, group=group)
    _, arguments = trigger.serialize()
    return queues.ShareGroupTrigger.create_shared_stream_producer(arguments)


async def take(source: Any, number: int) -> list[Any]:
    async with asyncio.timeout(60):
        return [await anext(source) for _ in range(number)]


async def test_a_record_is_accepted_when_airflow_says_that_it_is_stored_and_not_before(
    queues: Any, broker: Broker, topic: str, group: str
) -> None:
    await asyncio.to_thread(broker.topic, topic)
    broker.produce(topic, b"1", b"2", b"3")
    producer = stream(queues, broker, topic, group)
    source = producer.open_stream()
    found = await take(source, 3)
    assert [payload["value"] for payload, _ in found] == ["1", "2", "3"]
    assert [payload["id"] for payload, _ in found] == [f"{topic}-0@{offset}" for offset in range(3)]
    assert broker.undone(group, topic) == 3
    last = found.pop()
    await producer.advance([AdvanceItem(last[1], ALL_STORED)])
    await comes_true(lambda: broker.group_counts(group, topic).accepted == 1)
    await producer.advance([AdvanceItem(record, ALL_STORED) for _, record in found])
    await comes_true(lambda: broker.undone(group, topic) == 0)
    await source.aclose()
    await producer.aclose()


async def test_a_group_has_the_deliveries_that_brokers_allow(
    queues: Any, broker: Broker, topic: str, group: str
) -> None:
    await asyncio.to_thread(broker.topic, topic)
    broker.produce(topic, b"1")
    producer = stream(queues, broker, topic, group)
    source = producer.open_stream()
    await take(source, 1)
    found = Shell(broker.bootstrap).ok("configs", "describe", "group", group)
    assert any("share.delivery.count.limit" in line and "10" in line for line in found)
    await source.aclose()
    await producer.aclose()


async def test_what_is_not_stored_when_a_triggerer_stops_comes_again(
    queues: Any, broker: Broker, topic: str, group: str
) -> None:
    await asyncio.to_thread(broker.topic, topic)
    broker.produce(topic, b"1")
    ids = []
    for delivery in (1, 2):
        producer = stream(queues, broker, topic, group)
        source = producer.open_stream()
        ((payload, record),) = await take(source, 1)
        assert payload["delivery_count"] == delivery
        ids.append(payload["id"])
        if delivery == 2:
            await producer.advance([AdvanceItem(record, AdvanceOutcome(1, 0))])
        await source.aclose()
        await producer.aclose()
    assert len(set(ids)) == 1
    assert broker.undone(group, topic) == 0


async def test_no_more_records_wait_than_a_trigger_has_room_for(
    queues: Any, broker: Broker, topic: str, group: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queues, "IN_HAND", 2)
    await asyncio.to_thread(broker.topic, topic)
    broker.produce(topic, b"1", b"2", b"3")
    producer = stream(queues, broker, topic, group)
    source = producer.open_stream()
    found = await take(source, 2)
    third = asyncio.ensure_future(anext(source))
    await asyncio.sleep(0)  # it waits for room
    assert broker.group_counts(group, topic).deliveries == 2
    await producer.advance([AdvanceItem(found[0][1], ALL_STORED)])
    payload, _ = await asyncio.wait_for(third, 60)
    assert payload["value"] == "3"
    await source.aclose()
    await producer.aclose()


@for_each(
    "row",
    [
        (1, 0, 0, AcknowledgeType.ACCEPT),
        (2, 1, 0, AcknowledgeType.RELEASE),
        (0, 1, 1, AcknowledgeType.RELEASE),
        (1, 0, 1, AcknowledgeType.ACCEPT),
        (0, 0, 1, AcknowledgeType.REJECT),
        (0, 0, 0, None),
    ],
)
def test_an_outcome_of_airflows_is_one_acknowledgement(
    queues: Any, row: tuple[int, int, int, AcknowledgeType | None]
) -> None:
    acked, failed, rejected, kind = row
    assert queues.kind_of(AdvanceOutcome(acked, failed, rejected)) == kind


async def test_bytes_that_are_no_text_are_in_a_payload_all_the_same(
    queues: Any, broker: Broker, topic: str, group: str
) -> None:
    await asyncio.to_thread(broker.topic, topic)
    broker.produce(topic, b"\xff", headers={"kind": "parcel"})
    producer = stream(queues, broker, topic, group)
    source = producer.open_stream()
    ((payload, _),) = await take(source, 1)
    assert (payload["value"], payload["value_base64"], payload["key"]) == (None, "/w==", None)
    assert payload["headers"] == {"kind": "parcel"}
    await source.aclose()
    await producer.aclose()


def test_a_queue_is_named_by_its_address(queues: Any) -> None:
    assert get_provider_info()["queues"] == [f"{queues.__name__}.ShareGroupProvider"]
    provider = queues.ShareGroupProvider()
    address = "kafka-share://one:9092,two:9092/orders?group=packers"
    assert provider.queue_matches(address)
    assert not provider.queue_matches("kafka://one:9092/orders")
    found = {"bootstrap_servers": "one:9092,two:9092", "topic": "orders", "group": "packers"}
    assert provider.trigger_kwargs(address) == found
    for refused in ("kafka-share://one:9092", "kafka-share:///orders", "kafka-share://one:9092/orders?limit=1"):
        with pytest.raises(ConfigError):
            provider.trigger_kwargs(refused)


def test_the_dags_of_the_example_have_equal_triggers(queues: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHAREQ_BROKER", "broker:9092")
    made = runpy.run_path(str(ROOT / "examples" / "airflow" / "orders.py"))
    (one,), (other,) = (made[name].watchers for name in ("to_pack", "to_bill"))
    assert one.trigger.serialize() == other.trigger.serialize()
    assert one.trigger.shared_stream_key() == other.trigger.shared_stream_key()
    path, arguments = one.trigger.serialize()
    assert path == "shareq.airflow.queues.ShareGroupTrigger"
    assert queues.ShareGroupTrigger(**arguments).serialize() == (path, arguments)


async def test_a_trigger_outside_of_a_shared_stream_is_refused(queues: Any) -> None:
    trigger = queues.ShareGroupTrigger(bootstrap_servers="broker:9092", topic="orders")
    with pytest.raises(RuntimeError, match=r"Airflow 3\.3"):
        await anext(trigger.run())


def test_the_page_shows_the_example_and_the_arguments_there_are(queues: Any) -> None:
    (shown,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert shown in (ROOT / "examples" / "airflow" / "orders.py").read_text()
    section = PAGE.split("## Arguments")[1]
    named = {
        name for row in re.findall(r"^\| (`[^|]*) \|", section, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    }
    assert named == set(inspect.signature(queues.ShareGroupTrigger).parameters)


def test_the_pages_command_makes_the_topic(broker: Broker) -> None:
    _, create = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)[0].splitlines()
    Shell(broker.bootstrap).ok(*shlex.split(create)[1:])
    broker.produce("orders", b"1")
