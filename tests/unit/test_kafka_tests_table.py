"""`docs/evidence/kafka-tests.md` matches both files of expected verdicts, and no test fails here alone."""

from __future__ import annotations

from tests.interop.kafka_tests.suite import CLASSES, INSIDE_ONLY, Suite, name_of
from tests.interop.kafka_tests.table import (
    BEGIN,
    BEGIN_NODES,
    DOCUMENT,
    END,
    LEFT_OUT,
    expected,
    expected_by_node,
    in_words,
    lines,
    lines_by_node,
    of_suite,
)
from tests.interop.kafka_tests.worker import Result


def test_the_table_is_made_of_the_file() -> None:
    text = DOCUMENT.read_text()
    assert text[text.index(BEGIN) : text.index(END)] == "\n".join([BEGIN, *lines(expected()), ""])


def test_every_class_has_tests_and_apache_kafka_was_asked_no_others() -> None:
    both = expected()
    assert set(both["apache"]) <= set(both["ours"])
    for one in [*CLASSES, *INSIDE_ONLY]:
        assert of_suite(both["ours"], one)


def test_nothing_fails_here_that_apache_kafka_passes() -> None:
    both = expected()
    failed = {name for name, verdict in both["ours"].items() if verdict == "failed"}
    assert {both["apache"][name] for name in failed} <= {"failed"}


def test_a_failure_is_named_and_what_is_left_out_is_counted_by_its_reason() -> None:
    words = in_words({"A.x": Result("failed", "why"), "A.y": Result("left out", "no room"), "A.z": Result("passed")})
    assert words == {"A.x": "failed", "A.y": f"{LEFT_OUT}no room", "A.z": "passed"}
    made = lines({"ours": words, "apache": {**words, "A.x": "passed"}})
    figures = "shareq: 1 passed, 1 failed, 1 left out. Apache Kafka 4.4.0: 2 passed, 0 failed, 1 left out."
    assert f"1 classes. {figures}" in made
    assert "Failed here alone: `A.x`; at Apache Kafka alone: none; at both: none." in made
    assert "* no room (1, at both): `A` (1)" in made


def test_a_class_that_is_left_out_as_a_whole_is_named_without_its_tests() -> None:
    verdicts = {"A.x": f"{LEFT_OUT}no room", "A.y": f"{LEFT_OUT}no room", "B.z": "passed"}
    assert "* no room (2, at both): `A` (all)" in lines({"ours": verdicts, "apache": verdicts})


def test_what_was_not_asked_is_counted() -> None:
    asked = {"A.x": "passed", "A.y": "passed"}
    made = lines({"ours": asked, "apache": {"A.x": "passed"}})
    assert "Not asked of Apache Kafka 4.4.0 so far: 1 tests of 1 classes." in made
    assert not [line for line in lines({"ours": asked, "apache": asked}) if "Not asked" in line]


def test_a_suite_has_the_tests_of_its_class_by_name() -> None:
    assert Suite("p.A", "1", "share").has("A.testOfShares#2")
    assert not Suite("p.A", "1", "share").has("A.testOther")
    assert not Suite("p.A", "1").has("AB.test")
    assert not Suite("p.A", "1", but="testb").has("A.testBe")
    assert name_of("p.A#testB(int)") == "A.testB"


# by way of a node


def test_the_table_of_nodes_is_made_of_its_file() -> None:
    made = lines_by_node(expected_by_node(), expected()["ours"])
    text = DOCUMENT.read_text().partition(BEGIN_NODES)[2]
    assert text[: text.index(END)] == "\n".join(["", *made, ""])


def test_nothing_fails_by_way_of_a_node() -> None:
    verdicts = [verdict for of in expected_by_node().values() for verdict in of.values()]
    assert "failed" not in verdicts


def test_what_ends_otherwise_by_way_of_a_node_is_named() -> None:
    at_a_broker = {"A.x": "passed", "A.y": "passed", "B.z": f"{LEFT_OUT}no room"}
    everywhere = {**at_a_broker, "A.x": f"{LEFT_OUT}refused"}
    made = lines_by_node(
        {"ours": everywhere, "3.9.1": everywhere, "4.3.1": {**everywhere, "A.y": "failed"}}, at_a_broker
    )
    assert made[1].endswith("Before Apache Kafka 4.3.1: 0 passed, 1 failed, 2 left out.")
    assert "* left out: refused (1, before all): `A` (1)" in made
    assert "* failed (1, before Apache Kafka 4.3.1): `A.y`" in made
    assert not [line for line in made if "no room" in line]
