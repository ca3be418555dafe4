"""docs/spark.md: the contract word for word, each of its sentences with tests that exist, and all options."""

from __future__ import annotations

import re
from pathlib import Path

from shareq.spark.columns import KINDS
from shareq.spark.options import KNOWN
from shareq.spark.query.progress import Counters
from tests.unit.docs.test_promises import names_in

ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "docs" / "spark.md").read_text()

CONTRACT = """\
**ack=commit (default).** A record is acknowledged only after Spark has committed the micro-batch that held it. \
No record is lost while it is still in the Kafka log. \
A micro-batch replayed from a checkpoint holds exactly the same records. \
Within one checkpoint each record is in exactly one micro-batch, so with a sink that is idempotent by batchId \
(or transactional) the result is effectively once **for this query**. \
Other members of the same share group may also receive records whose locks this query lost (driver end, connection \
loss, missed renewals) before acknowledging: across the group it is at-least-once. \
**ack=log.** As above, but a record is acknowledged when Spark's offset log holds its range. \
Other members then no longer see it, apart from the milliseconds between log write and ACCEPT. \
In exchange the share group no longer protects these records: if the checkpoint is deleted or the query abandoned, the \
last unfinished batch is lost to the group, and delivery-count handling of poison records ends for them."""


def table(heading: str) -> list[list[str]]:
    chapter = TEXT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [line.strip("| \n").split(" | ") for line in chapter.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def test_the_contract_stands_there_word_for_word() -> None:
    quoted = " ".join(line.lstrip("> ").strip() for line in TEXT.splitlines() if line.startswith(">"))
    assert " ".join(quoted.split()) == CONTRACT


def test_each_sentence_of_the_contract_has_its_tests() -> None:
    sentences = re.split(r"(?<=[.*]) (?=[A-Z])", re.sub(r"\*\*ack=\w+( \(default\))?\.\*\* ", "", CONTRACT))
    rows = table("The contract")
    assert [row[0] for row in rows[:-1]] == sentences
    for sentence, shown_by in rows:
        tests = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", shown_by)
        assert tests, sentence
        for file, name in tests:
            assert name in names_in(ROOT / file), f"{file} has no test {name}"


def test_every_test_that_is_named_exists() -> None:
    for file, name in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", TEXT):
        assert name in names_in(ROOT / file), f"{file} has no test {name}"


def test_nothing_is_promised_exactly_once() -> None:
    assert not re.search(r"exactly[ -]once", TEXT, re.IGNORECASE)


def test_all_options_are_in_the_table() -> None:
    reported = {name for row in table("Options") for name in re.findall(r"`(\w+)`", row[0])}
    assert reported | {"maxOffsetsPerTrigger"} == set(KNOWN)
    assert "`maxOffsetsPerTrigger`" in TEXT


def test_columns_and_counters_are_reported() -> None:
    for name in (*KINDS, *Counters.__slots__, "lag", "locksHeld", "unconfirmed", "total"):
        assert f"`{name}`" in TEXT, name
