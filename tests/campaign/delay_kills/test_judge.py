"""The judge of delayed records under kills, which must find every fault."""

from __future__ import annotations

import time

from tests.campaign.delay_kills.__main__ import Judge


def judge_of(*values: bytes, due: float = 0.0) -> Judge:
    judge = Judge()
    judge.sent.update(values)
    judge.due.update(dict.fromkeys(values, due))
    return judge


def test_a_record_that_comes_before_its_time_is_found() -> None:
    judge = judge_of(b"1", due=time.time() + 60)
    judge.came(b"1", 1)
    judge.came(b"1", 2)
    assert [line.partition(" its time, ")[2] for line in judge.broken] == ["delivery 1", "delivery 2"]


def test_a_record_that_comes_again_after_its_end_is_found() -> None:
    judge = judge_of(b"1")
    judge.came(b"1", 1)
    judge.ended.add(b"1")
    judge.came(b"1", 2)
    assert judge.broken == ["b'1' came again after its end, delivery 2"]


def test_what_never_came_is_left_and_so_is_what_came_again_and_has_no_end() -> None:
    judge = judge_of(b"1", b"2", b"3")
    for value in (b"2", b"3"):
        judge.came(value, 1)
        judge.may_have_ended.add(value)
    judge.came(b"3", 2)
    assert judge.left == {b"1", b"3"}
