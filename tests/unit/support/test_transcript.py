"""Transcripts of command-line tools: the recorded part of an output, and differences between two."""

from __future__ import annotations

import pytest

from tests.interop.support.transcript import HEADER, Names, Step, parse, render, tidy, unlike

SHOWN = Step("kafka-groups.sh --list", ("GROUP   TYPE", "packers Share"))
NOTHING = Step("kafka-groups.sh --list --consumer", ())


def test_a_file_gives_the_steps_back() -> None:
    assert parse(render([SHOWN, NOTHING, SHOWN])) == [SHOWN, NOTHING, SHOWN]


def test_a_file_of_another_version_is_refused() -> None:
    with pytest.raises(ValueError, match="not a transcript"):
        parse(render([SHOWN]).replace("4.3.1", "4.2.0"))


def test_what_stays_of_an_output() -> None:
    err = "java.lang.RuntimeException: no\n\tat Tool.main(Tool.java:1)\nCaused by: java.io.IOException\n\t... 11 more\n"
    assert tidy("\nGROUP   \n\n", err, 1) == [
        "GROUP",
        "! java.lang.RuntimeException: no",
        "! Caused by: java.io.IOException",
        "exit code 1",
    ]
    assert tidy("", "wrong\nOption     Description\n------\n--list\n", 1) == [
        "! wrong",
        "! (the options)",
        "exit code 1",
    ]


def test_ids_times_and_addresses_have_names() -> None:
    names = Names({"127.0.0.1:9092": "BROKER", "Coj1bC1LQF6djxdHvlf_EQ": "<id of orders>"})
    text = (
        "127.0.0.1:9092 Coj1bC1LQF6djxdHvlf_EQ JvfZ1pyARPSJFExaSVIxeA 1795267401542 1234 errors.GroupNotEmptyException"
    )
    assert names.replace(text) == "BROKER <id of orders> <id> <time> 1234 errors.GroupNotEmptyException"


def test_the_same_is_not_unlike() -> None:
    assert unlike([SHOWN, NOTHING], [SHOWN, NOTHING]) == []


def test_another_line_is_reported() -> None:
    (problem,) = unlike([SHOWN], [Step(SHOWN.command, ("GROUP   TYPE", "packers Classic"))])
    assert "-packers Classic" in problem
    assert "+packers Share" in problem


def test_other_commands_than_those_recorded_are_reported() -> None:
    assert unlike([SHOWN, NOTHING], [SHOWN])


def test_a_known_difference_is_let_pass_and_reported_when_it_is_gone() -> None:
    ours = Step("kafka-configs.sh", ("  share.isolation.level=x",), "no streams groups")
    theirs = ("  share.isolation.level=x", "  streams.session.timeout.ms=1")
    assert unlike([ours], [Step(ours.command, theirs)]) == []
    assert unlike([ours], [Step(ours.command, ("  share.isolation.level=y", *theirs[1:]))])
    assert "no difference any more" in unlike([ours], [Step(ours.command, ours.lines)])[0]


def test_the_header_names_the_version_and_the_way_it_was_made() -> None:
    assert "Apache Kafka 4.3.1" in HEADER
    assert "--update-transcripts" in HEADER
