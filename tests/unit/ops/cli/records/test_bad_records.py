"""Malformed records in every command that prints records: each is printed, and none ends the command."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator

import pytest

from devtools.clients.requests import produce
from devtools.clients.wire import WireClient
from shareq.protocol.records.batch import build_batch
from shareq.protocol.records.record_codec import RecordData
from shareq.testing import Broker
from tests.support.clients.shareq_cli import Shell

LETTER = "__dlq.errors."
BAD = b"\xff\xfe\x00\xed\xa0\x80\x1b[2J\n\t"
NAME = BAD.decode("utf-8", "surrogateescape")
TIMES = (0, -(1 << 40), 253_402_300_799_999, 253_402_300_800_000, (1 << 63) - 1)
RECORDS = [
    RecordData(BAD, BAD, ((NAME, BAD), ("", None), (NAME, b""))),
    RecordData(None, None, tuple((f"h{number}", b"x") for number in range(1_000))),
    RecordData(b"", b"", ((f"{LETTER}offset", BAD), (f"{LETTER}timestamp", b"9" * 40), (f"{LETTER}topic", b"\xff"))),
    RecordData(b"k", b"{" * 5_000, (("__redrive.queue.topic", BAD), ("__redrive.queue.partition", b"\xb2"))),
]
SHOWN = [
    ("consume", "orders"),
    ("tail", "orders", "-n", "100"),
    ("dlq", "show", "orders"),
    ("share", "peek", "workers", "-n", "100"),
    ("share", "consume", "workers", "--topic", "orders", "--then", "release", "-n", str(len(RECORDS) * len(TIMES))),
    *(
        ("share", "records", "workers", "--topic", "orders", "--show", "key,value,headers", "--decode", form)
        for form in ("auto", "json", "text", "hex")
    ),
]


@pytest.fixture(scope="module")
def shell() -> Iterator[Shell]:
    config = {"log.message.timestamp.after.max.ms": str((1 << 63) - 1), "message.max.bytes": "4000000"}
    with Broker(mode="thread", config=config) as broker:
        shell = Shell(broker.bootstrap)
        shell.ok("topics", "create", "orders")
        shell.ok("configs", "alter", "topic", "orders", "--set", "errors.deadletterqueue.group.enable=true")
        shell.ok("configs", "alter", "group", "workers", "--set", "share.auto.offset.reset=earliest")
        with WireClient(broker.address) as client:
            for time_ms in TIMES:
                for record in RECORDS:
                    answer = produce(client, "orders", bytes(build_batch([record], timestamp_ms=time_ms)))
                    assert answer.error_code == 0, (record, time_ms, answer)
        shell.run("share", "consume", "workers", "--topic", "orders", "--then", "release", "-n", "1")
        yield shell


@pytest.mark.parametrize("words", SHOWN, ids=" ".join)
def test_each_record_is_a_line_of_text_and_of_json(shell: Shell, words: tuple[str, ...]) -> None:
    everything = len(RECORDS) * len(TIMES)
    lines = shell.ok(*words)
    assert len(lines) >= everything
    assert all(line.isprintable() for line in (part for line in lines for part in line.split("\t")))
    assert len(shell.json(*words)) >= everything


def test_an_output_that_cannot_hold_a_character_gets_it_escaped(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """The output is a terminal with Latin-1."""
    from shareq.ops.cli.main import main

    shell.ok("topics", "create", "snow")
    shell.ok("produce", "snow", "--value", "\N{SNOWMAN} \N{LATIN SMALL LETTER E WITH ACUTE}")
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="latin-1"))
    bootstrap = shell.environment["SHAREQ_BOOTSTRAP_SERVERS"]
    for words in (["consume", "snow"], ["consume", "snow", "--json"], ["topics", "list", "snow"]):
        main([*words, "-b", str(bootstrap)], standalone_mode=False)
    sys.stdout.flush()
    assert out.getvalue().count(b"\\u2603 \xe9") == 2
