"""`scripts/redrive.py` with a broker in a process of its own, which is killed in the middle."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from devtools.clients.requests import create_topic, fetch_request, produce
from devtools.clients.wire import WireClient
from scripts.redrive import main
from shareq.protocol.generated.fetch import FetchResponse
from shareq.protocol.records.batch import Record, build_batch, decode_records, read_header
from shareq.testing import Broker
from tests.support.clients.sasl import PLAIN_MODULE
from tests.support.worlds.redrives import letter

LETTERS = 600
PASSWORD = "looking-glass"


def bury(client: WireClient, letters: int) -> None:
    create_topic(client, "orders", 2)
    create_topic(client, "dlq.orders", 1)
    for first in range(0, letters, 100):
        data = [
            letter(b"%d" % number, number, topic="orders", partition=number % 2) for number in range(first, first + 100)
        ]
        batch = bytes(build_batch(data, timestamp_ms=1))
        assert produce(client, "dlq.orders", batch).error_code == 0


def records(client: WireClient, partition: int) -> list[Record]:
    found: list[Record] = []
    while True:
        offset = found[-1].offset + 1 if found else 0
        request = fetch_request("orders", partition=partition, offset=offset)
        answer = client.call(request, 12, FetchResponse)
        data = bytes(answer.responses[0].partitions[0].records or b"")
        if not data:
            return found
        while data:
            size = read_header(data).size
            found += decode_records(data[:size])
            data = data[size:]


def test_a_kill_in_the_middle_neither_loses_nor_repeats_a_letter(capsys: pytest.CaptureFixture[str]) -> None:
    with Broker() as broker:
        client = WireClient(broker.address)
        bury(client, LETTERS)
        client.close()
        at = ["--bootstrap-server", broker.bootstrap]
        assert main([*at, "start", "again", "--queue", "dlq.orders", "--per-second", "300"]) == 0
        for _ in range(3):
            client = WireClient(broker.address)
            before = sum(len(records(client, partition)) for partition in range(2))
            while sum(len(records(client, partition)) for partition in range(2)) <= before < LETTERS:
                pass  # until it has gone on
            client.close()
            broker.kill()
            broker.start()
            at = ["--bootstrap-server", broker.bootstrap]
        assert main([*at, "start", "again", "--queue", "dlq.orders"]) == 1
        assert "There was a redrive again before" in capsys.readouterr().err
        assert main([*at, "start", "nothing", "--queue", "dlq.orders", "--group", "other", "--wait"]) == 0
        while True:
            assert main([*at, "describe", "again"]) == 0
            shown = capsys.readouterr().out.splitlines()[-1]
            if "RUNNING" not in shown:
                break
        assert shown == f"again: DONE, dlq.orders to their topics, 0 letters to look at; REDRIVEN {LETTERS}"
        client = WireClient(broker.address)
        found = Counter(record.value for partition in range(2) for record in records(client, partition))
        assert found == Counter(b"%d" % number for number in range(LETTERS))
        client.close()


def test_one_letter_and_what_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with Broker() as broker:
        client = WireClient(broker.address)
        bury(client, 100)
        at = ["--bootstrap-server", broker.bootstrap]
        one = ["--queue", "dlq.orders", "--queue-partition", "0", "--offset", "42", "--wait"]
        assert main([*at, "start", "one", *one]) == 0
        assert [record.value for record in records(client, 0)] == [b"42"]
        assert main([*at, "start", "g", "--queue", "dlq.orders", "--group", "g", "--to-group"]) == 1
        assert "set its share.auto.offset.reset to earliest first" in capsys.readouterr().err
        assert main([*at, "cancel", "unknown"]) == 1
        assert "RESOURCE_NOT_FOUND" in capsys.readouterr().err
        assert main([*at, "describe"]) == 0
        assert capsys.readouterr().out.startswith("one: DONE")
        assert main([*at, "describe", "unknown"]) == 1
        assert main(["--bootstrap-server", "nowhere", "describe"]) == 2
        client.close()


def test_with_a_login(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jaas = f'{PLAIN_MODULE} required username="carol" password="{PASSWORD}" user_carol="{PASSWORD}";'
    properties = {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": jaas,
    }
    file = tmp_path / "admin.properties"
    file.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        f'sasl.jaas.config={PLAIN_MODULE} required username="carol" password="{PASSWORD}";\n'
    )
    with Broker(config=properties) as broker:
        at = ["--bootstrap-server", broker.bootstrap]
        assert main([*at, "--command-config", str(file), "describe"]) == 0
        assert main([*at, "--command-config", str(file), "start", "a", "--queue", "unknown"]) == 1
        assert "UNKNOWN_TOPIC_OR_PARTITION" in capsys.readouterr().err
        assert main([*at, "--command-config", str(tmp_path / "missing"), "describe"]) == 2
