"""`shareq dlq redrive` on a broker process that is killed meanwhile."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from devtools.clients.requests import create_topic, fetch_request, produce
from devtools.clients.wire import WireClient
from shareq.protocol.generated.fetch import FetchResponse
from shareq.protocol.names import DLQ_GROUP_ENABLE
from shareq.protocol.records.batch import Record, RecordData, build_batch, decode_records, read_header
from shareq.testing import Broker
from tests.support.clients.sasl import PLAIN_MODULE
from tests.support.clients.shareq_cli import Shell
from tests.support.worlds.redrives import letter

LETTERS = 600
PASSWORD = "looking-glass"


def bury(client: WireClient, letters: int) -> None:
    create_topic(client, "orders", 2)
    create_topic(client, "dlq.orders", 1, configs={DLQ_GROUP_ENABLE: "true"})
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


def test_a_kill_in_the_middle_neither_loses_nor_repeats_a_letter() -> None:
    with Broker() as broker:
        client = WireClient(broker.address)
        bury(client, LETTERS)
        client.close()
        Shell(broker.bootstrap).ok("dlq", "redrive", "again", "dlq.orders", "--per-second", "300", "--yes")
        for _ in range(3):
            client = WireClient(broker.address)
            before = sum(len(records(client, partition)) for partition in range(2))
            while sum(len(records(client, partition)) for partition in range(2)) <= before < LETTERS:
                pass  # until it has gone on
            client.close()
            broker.kill()
            broker.start()
        shell = Shell(broker.bootstrap)
        refused = shell.run("dlq", "redrive", "again", "dlq.orders", "--yes")
        assert refused.code == 1
        assert "There was a redrive again before" in refused.err
        shell.ok("dlq", "redrive", "nothing", "dlq.orders", "--group", "other", "--yes", "--wait")
        while (shown := shell.json("dlq", "redrives", "again")[0])["state"] == "RUNNING":
            pass
        assert (shown["state"], shown["left"], shown["counts"]) == ("DONE", 0, {"REDRIVEN": LETTERS})
        client = WireClient(broker.address)
        found = Counter(record.value for partition in range(2) for record in records(client, partition))
        assert found == Counter(b"%d" % number for number in range(LETTERS))
        client.close()


def test_some_letters_and_what_is_refused() -> None:
    with Broker() as broker:
        client, shell = WireClient(broker.address), Shell(broker.bootstrap)
        bury(client, 100)
        one = ("dlq", "redrive", "some", "dlq.orders:0", "--offset", "42", "--offset", "90-94", "--offset", "44")
        planned = shell.json(*one, "--dry-run")
        assert [(row["redrive"], row["left"]) for row in planned] == [("some.1", 1), ("some.2", 1), ("some.3", 5)]
        assert records(client, 0) == []
        done = shell.json(*one, "--yes", "--wait")
        assert [(row["redrive"], row["state"], row["counts"]) for row in done] == [
            ("some.1", "DONE", {"REDRIVEN": 1}),
            ("some.2", "DONE", {"REDRIVEN": 1}),
            ("some.3", "DONE", {"REDRIVEN": 5}),
        ]
        assert {row["per_second"] for row in done} == {33}
        found = Counter(record.value for partition in range(2) for record in records(client, partition))
        assert found == Counter(b"%d" % number for number in (42, 44, 90, 91, 92, 93, 94))
        refused = shell.run("dlq", "redrive", "g", "dlq.orders", "--group", "g", "--to-group", "--yes")
        assert refused.code == 1
        assert "set its share.auto.offset.reset to earliest first" in refused.err
        assert shell.run("dlq", "cancel", "unknown", "--yes").code == 4
        assert [row["redrive"] for row in shell.json("dlq", "redrives")] == ["some.1", "some.2", "some.3"]
        assert shell.run("dlq", "redrives", "unknown").code == 4
        for dry_run in ((), ("--dry-run",)):
            refused = shell.run("dlq", "redrive", "a", "orders", "--yes", *dry_run)
            assert (refused.code, refused.err.count("\n")) == (2, 1)
            assert "orders: is no dead-letter queue" in refused.err
        client.close()


def test_a_dry_run_says_what_a_redrive_would_find() -> None:
    with Broker() as broker:
        client, shell = WireClient(broker.address), Shell(broker.bootstrap)
        bury(client, 100)
        other = bytes(build_batch([RecordData(b"k", b"no letter")], timestamp_ms=1))
        assert produce(client, "dlq.orders", other).error_code == 0
        words = ("dlq", "redrive", "odd", "dlq.orders", "--source-topic", "orders:1", "--source-offset", "0-20")
        (planned,) = shell.json(*words, "--dry-run")
        assert (planned["state"], planned["left"], records(client, 1)) == ("PLANNED", 101, [])
        (done,) = shell.json(*words, "--yes", "--wait")
        assert planned["counts"] == {"MATCHING": 10, "FILTERED": 90, "NOT_A_LETTER": 1}
        assert done["counts"] == {"REDRIVEN": 10, "FILTERED": 90, "NOT_A_LETTER": 1}
        (whole,) = shell.json("dlq", "redrive", "all", "dlq.orders:0", "--offset", "90-1000", "--dry-run")
        assert (whole["left"], whole["counts"]) == (11, {})
        slow = ("dlq", "redrive", "slow", "dlq.orders", "--per-second", "1", "--yes")
        shell.ok(*slow)
        (planned,) = shell.json("dlq", "cancel", "slow", "--dry-run")
        assert planned["state"] == "RUNNING"
        assert shell.json("dlq", "redrives", "slow")[0]["state"] == "RUNNING"
        assert shell.json("dlq", "cancel", "slow", "--yes")[0]["state"] == "CANCELLED"
        client.close()


def test_with_a_login(tmp_path: Path) -> None:
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
        shell = Shell(broker.bootstrap, SHAREQ_CLIENT_CONFIG=str(file))
        assert shell.json("dlq", "redrives") == []
        unknown = shell.run("dlq", "redrive", "a", "unknown", "--yes")
        assert unknown.code == 4
        assert "UNKNOWN_TOPIC_OR_PARTITION" in unknown.err
        assert Shell(broker.bootstrap, SHAREQ_CLIENT_CONFIG=str(tmp_path / "missing")).run("dlq", "redrives").code == 2
