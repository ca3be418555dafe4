"""The judge of breakers under kills, which must find every fault."""

from __future__ import annotations

import pytest

from tests.campaign.breaker_kills.__main__ import Judge


def judge_of(*values: bytes) -> Judge:
    judge = Judge()
    judge.sent.update(values)
    return judge


@pytest.mark.parametrize(("paused", "expected"), [(False, True), (True, False)])
def test_a_start_that_finds_another_state_than_was_known_is_found(paused: bool, expected: bool) -> None:
    judge = judge_of()
    judge.started(paused=paused, expected=None)
    judge.started(paused=paused, expected=paused)
    assert not judge.broken
    judge.started(paused=paused, expected=expected)
    assert len(judge.broken) == 1


def test_a_delivery_during_a_pause_is_found() -> None:
    judge = judge_of(b"good1", b"good2")
    judge.came(b"good1")
    judge.paused_for_sure = True
    judge.watched()
    assert not judge.broken
    judge.came(b"good2")
    judge.watched()
    assert judge.broken == ["1 records came during a pause"]


def test_a_record_that_comes_again_after_its_end_is_found() -> None:
    judge = judge_of(b"good1")
    judge.ended.add(b"good1")
    judge.came(b"good1")
    assert judge.broken == ["b'good1' came again after its end"]


def test_a_letter_of_an_accepted_record_is_found() -> None:
    judge = judge_of(b"good1", b"bad2")
    judge.letter(b"bad2")
    judge.letter(b"good1")
    assert judge.broken == ["b'good1' has a letter, and was never rejected"]


def test_what_has_no_end_or_no_letter_is_left() -> None:
    judge = judge_of(b"good1", b"good2", b"bad3", b"bad4")
    judge.may_have_ended |= {b"good1", b"bad3", b"bad4"}
    judge.letter(b"bad4")
    assert judge.left == {b"good2", b"bad3"}
