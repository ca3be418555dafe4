"""The judge of expiring records under kills, which must find every fault."""

from __future__ import annotations

from tests.campaign.ttl_kills.__main__ import ANSWER_S, Judge

EXPIRED = b"Record expired."


def judge_of(*values: bytes) -> Judge:
    """Return a judge that knows these records, which live until 100 s."""
    judge = Judge()
    judge.sent.update(values)
    judge.last.update(dict.fromkeys(values, 100.0))
    return judge


def test_a_record_that_is_handed_out_after_its_time_is_found() -> None:
    judge = judge_of(b"1")
    judge.came(b"1", 1, 100.0 + ANSWER_S)
    assert not judge.broken
    judge.came(b"1", 2, 102.0)
    assert judge.broken == ["b'1' came 2.000 s after its time, delivery 2"]


def test_a_letter_before_its_time_or_after_the_end_is_found() -> None:
    judge = judge_of(b"1", b"2")
    judge.letter(b"1", EXPIRED, 99.0)
    judge.ended[b"2"] = 100.5
    judge.letter(b"2", EXPIRED, 100.2)
    judge.letter(b"2", EXPIRED, 101.0)
    assert judge.broken == [
        "b'1' was rejected 1.000 s before its time",
        "b'2' has a letter, and its end was confirmed before",
    ]


def test_a_record_that_comes_again_after_its_end_is_found() -> None:
    judge = judge_of(b"1")
    judge.ended[b"1"] = 50.0
    judge.came(b"1", 2, 50.0)
    assert judge.broken == ["b'1' came again after its end, delivery 2"]


def test_what_has_neither_an_end_nor_a_letter_is_left() -> None:
    judge = judge_of(b"1", b"2", b"3", b"4")
    judge.letter(b"1", EXPIRED, 101.0)
    judge.may_have_ended |= {b"2", b"3"}
    judge.came(b"3", 2, 50.0)
    assert judge.left == {b"3", b"4"}
