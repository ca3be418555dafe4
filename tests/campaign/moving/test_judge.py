"""The judgement of journals: each fault is found, and nothing else."""

from __future__ import annotations

import json
from typing import Any

from tests.campaign.moving.judge import NEW, OLD, Seen, Verdict, judged, pause_parts_s, pause_s

ACCEPT, RELEASE, REJECT = 1, 2, 3
MOVED_S = 50.0


def line(at_s: float, **entry: Any) -> str:
    return json.dumps({"t": int(at_s * 1e9), **entry})


def journal(at_s: float, row: int, *, count: int = 1, verdict: int = ACCEPT, error: str | None = None) -> list[str]:
    """Return the entries of a record that is delivered, acknowledged after one second, and answered after two."""
    return [
        line(at_s, got=[[0, row, row, count, verdict]]),
        line(at_s + 1, sent=[[0, row]]),
        line(at_s + 2, acked=[[0, row]], error=error),
    ]


def seen(*journals: tuple[str, list[str]]) -> Seen:
    found = Seen()
    for number, (side, lines) in enumerate(journals):
        found.read(side, str(number), lines)
    return found


def test_what_each_side_confirms_once_is_all_right() -> None:
    found = seen((OLD, journal(1, 0)), (NEW, journal(60, 1, verdict=REJECT)))
    verdict = judged(found, 2, MOVED_S)
    assert verdict == Verdict([], [], [], 0, 0)
    assert verdict.broken == []
    assert pause_s(found) == 59


def test_a_record_that_nobody_confirmed_is_lost() -> None:
    refused = journal(1, 0, error="NOT_LEADER_OR_FOLLOWER")
    handed_out = [line(1, got=[[0, 1, 1, 1, ACCEPT]])]
    released = journal(1, 2, verdict=RELEASE)
    verdict = judged(seen((OLD, refused), (OLD, handed_out), (OLD, released)), 4, MOVED_S)
    assert verdict.lost == [0, 1, 2, 3]
    assert verdict.broken[0] == "row 0: never confirmed"


def test_a_record_whose_answer_was_lost_may_have_been_confirmed_before_the_move_and_not_behind_it() -> None:
    never_answered = journal(1, 1)[:2]
    verdict = judged(seen((OLD, journal(1, 0, error="_TRANSPORT")), (OLD, never_answered)), 2, MOVED_S)
    assert (verdict.lost, verdict.unknown) == ([], 2)
    behind = judged(seen((OLD, journal(50, 0, error="_TRANSPORT")), (OLD, journal(50, 1)[:2])), 2, MOVED_S)
    assert (behind.lost, behind.unknown) == ([0, 1], 0)
    at_the_new_side = judged(seen((NEW, journal(60, 0, error="_TIMED_OUT"))), 1, MOVED_S)
    assert (at_the_new_side.lost, at_the_new_side.unknown) == ([], 1)


def test_a_record_that_comes_after_its_confirmation_comes_again() -> None:
    found = seen((OLD, journal(1, 0)), (NEW, journal(60, 0)), (OLD, journal(1, 1, error="_TRANSPORT")))
    verdict = judged(found, 2, MOVED_S)
    assert (verdict.again, verdict.twice, verdict.lost, verdict.unknown) == ([0], 1, [], 1)


def test_a_failed_attempt_that_is_forgotten_is_unlike() -> None:
    released = journal(1, 0, verdict=RELEASE)
    assert judged(seen((OLD, released), (NEW, journal(60, 0, count=2))), 1, MOVED_S).unlike == []
    assert judged(seen((OLD, released), (NEW, journal(60, 0, count=1))), 1, MOVED_S).unlike == [0]


def test_errors_are_counted_by_side_and_name() -> None:
    found = seen((OLD, journal(1, 0, error="_TRANSPORT")), (NEW, [line(60, failed="poll _FAIL")]))
    assert found.errors == {"old: acknowledgement _TRANSPORT": 1, "new: poll _FAIL": 1}


def test_a_pause_has_four_parts() -> None:
    found = seen((OLD, journal(1, 0)), (NEW, journal(60, 1)))  # confirmed at 3, and at 62
    assert pause_parts_s(found, [(1, 2), (2, 4), (5, 6), (9, 11)], 10, 20) == [3, 4, 10, 42]
    assert pause_parts_s(found, [], 2, 20) == [0, 0, 17, 42]  # the run began while the old side still confirmed
    assert pause_parts_s(seen((OLD, journal(1, 0))), [], 10, 20) == []
