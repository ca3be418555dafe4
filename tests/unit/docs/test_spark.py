"""docs/spark.md: the contract word for word, the tests of each of its sentences, and all options."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from shareq.spark.columns import KINDS
from shareq.spark.options import KNOWN
from shareq.spark.query.progress import Counters
from shareq.spark.sink.columns import TAKEN
from shareq.spark.sink.options import KNOWN as SINK
from shareq.spark.sink.task import NAMES
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


_CONTRACT: Final = "tests/spark/test_source_contract.py"
_LOCKS: Final = "tests/spark/test_source_locks.py"
_MODEL: Final = "tests/unit/spark/query/test_books_model.py::test_nothing_is_lost_and_no_record_is_in_two_micro_batches"
SHOWN_BY: Final = {
    "A record is acknowledged only after Spark has committed": (
        f"{_CONTRACT}::test_a_record_is_acknowledged_only_after_spark_has_committed_its_micro_batch",
        _MODEL,
    ),
    "No record is lost while": (
        f"{_CONTRACT}::test_a_failing_sink_keeps_its_records_from_being_acknowledged_and_gets_them_again",
        f"{_CONTRACT}::test_records_are_replayed_even_when_the_group_is_done_with_them",
        _MODEL,
    ),
    "A micro-batch replayed from a checkpoint": (
        f"{_CONTRACT}::test_a_micro_batch_replayed_from_a_checkpoint_holds_exactly_the_same_records",
    ),
    "Within one checkpoint each record": (
        f"{_CONTRACT}::test_each_record_is_in_exactly_one_micro_batch_of_a_checkpoint",
        f"{_CONTRACT}::test_the_example_has_every_record_once",
    ),
    "Other members of the same share group may": (
        f"{_CONTRACT}::test_another_member_may_receive_what_this_query_lost_before_acknowledging",
        f"{_LOCKS}::test_renewing_ends_with_max_renew_ms",
        # And only then:
        f"{_CONTRACT}::test_a_competing_member_and_the_query_share_the_topic_without_overlap",
        f"{_LOCKS}::test_a_micro_batch_that_takes_longer_than_the_lock_keeps_its_records",
    ),
    "As above, but a record is acknowledged when": (
        f"{_CONTRACT}::test_ack_log_acknowledges_when_the_offset_log_has_the_range",
    ),
    "Other members then no longer see it": (
        f"{_CONTRACT}::test_ack_log_acknowledges_when_the_offset_log_has_the_range",
        _MODEL,
    ),
    "In exchange the share group": (
        f"{_CONTRACT}::test_ack_log_the_group_no_longer_protects_what_an_abandoned_checkpoint_had",
    ),
    "Neither holds if retention": (
        "tests/spark/test_source_options.py::test_records_that_are_gone_fail_the_query_or_are_left_out",
    ),
}
"""The tests for the sentences of the contract, in order, by the beginning of each sentence and of the next one."""


def table(heading: str) -> list[list[str]]:
    chapter = TEXT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [line.strip("| \n").split(" | ") for line in chapter.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def test_the_contract_stands_there_word_for_word() -> None:
    quoted = " ".join(line.lstrip("> ").strip() for line in TEXT.splitlines() if line.startswith(">"))
    assert " ".join(quoted.split()) == CONTRACT


def test_each_sentence_of_the_contract_has_its_tests() -> None:
    sentences = re.split(r"(?<=[.*]) (?=[A-Z])", re.sub(r"\*\*ack=\w+( \(default\))?\.\*\* ", "", CONTRACT))
    *promised, limit = SHOWN_BY
    for sentence, begin in zip(sentences, promised, strict=True):
        assert sentence.startswith(begin)
    assert TEXT.count(f"\n{limit}") == 1


@pytest.mark.parametrize("test", sorted({test for tests in SHOWN_BY.values() for test in tests}))
def test_every_test_of_the_contract_exists(test: str) -> None:
    file, _, name = test.partition("::")
    assert name in names_in(ROOT / file)


def test_every_test_that_the_page_names_exists() -> None:
    for file, name in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", TEXT):
        assert name in names_in(ROOT / file), f"{file} has no test {name}"


def test_nothing_is_promised_exactly_once() -> None:
    assert not re.search(r"exactly[ -]once", TEXT, re.IGNORECASE)


def test_all_options_are_in_the_table() -> None:
    reported = {name for row in table("Options") for name in re.findall(r"`(\w+)`", row[0])}
    assert reported | {"maxOffsetsPerTrigger"} == set(KNOWN)
    assert "`maxOffsetsPerTrigger`" in TEXT


def test_all_options_of_the_sink_are_in_its_table_and_all_columns_on_the_page() -> None:
    reported = {name for row in table("Writing") for name in re.findall(r"`(\w+)`", row[0])}
    assert set(SINK) - {"checkpointLocation"} <= reported
    chapter = TEXT.split("\n## Writing\n")[1].split("\n## ")[0]
    for name in TAKEN:
        assert f"`{name}`" in chapter, name
    assert NAMES in chapter


def test_columns_and_counters_are_reported() -> None:
    for name in (*KINDS, *Counters.__slots__, "lag", "locksHeld", "unconfirmed", "total"):
        assert f"`{name}`" in TEXT, name
