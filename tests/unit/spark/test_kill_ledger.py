"""The faults that the kill matrix's ledger reports, and what it accepts."""

from __future__ import annotations

from dataclasses import replace

from tests.spark.kills.ledger import (
    Acquired,
    Attempt,
    Checkpoint,
    Confirmed,
    Ended,
    Event,
    Range,
    Row,
    Witnesses,
    content_hash,
    judge,
)

FIRST = [Range(0, 0, 4)]
SECOND = [Range(0, 5, 9), Range(1, 0, 1)]


def rows(ranges: list[Range]) -> list[Row]:
    return [Row(*place, value_of(place)) for one in ranges for place in one.places()]


def value_of(place: tuple[int, int]) -> int:
    return place[0] * 1000 + place[1]


def values(*ranges: Range) -> dict[tuple[int, int], int]:
    return {place: value_of(place) for one in ranges for place in one.places()}


KILLED_AFTER_THE_LOG = Witnesses(
    produced=values(*FIRST, *SECOND),
    attempts=[Attempt(0, rows(FIRST)), Attempt(1, rows(SECOND))],
    at_kill=Checkpoint({0: FIRST, 1: SECOND}, [0]),
    at_starts=[Checkpoint({0: FIRST, 1: SECOND}, [0])],
    at_end=Checkpoint({0: FIRST, 1: SECOND}, [0, 1]),
    events=[Acquired("a", FIRST), Confirmed(FIRST), Acquired("a", SECOND), Ended("a"), Confirmed(SECOND)],
)
"""A run whose runner is killed once the second batch is in the offset log; the batch reaches the sink later."""


def test_a_batch_replayed_after_a_kill_breaks_nothing() -> None:
    verdict = judge(KILLED_AFTER_THE_LOG)
    assert verdict.faults == []
    assert verdict.replayed == [1]
    assert verdict.compared == []
    assert (verdict.records, verdict.in_spark, verdict.in_competitor) == (12, 12, 0)


def test_a_record_that_nobody_got_is_lost() -> None:
    produced = values(*FIRST, *SECOND, Range(1, 2, 2))
    verdict = judge(replace(KILLED_AFTER_THE_LOG, produced=produced))
    assert verdict.lost == [(1, 2)]
    assert verdict.faults == ["1 lost: (1, 2)"]


def test_a_record_whose_acknowledgement_was_cut_off_is_not_lost() -> None:
    cut_off = values(Range(1, 2, 2))
    produced = values(*FIRST, *SECOND) | cut_off
    verdict = judge(replace(KILLED_AFTER_THE_LOG, produced=produced, unknown=cut_off))
    assert verdict.faults == []
    assert verdict.cut_off == 1


def test_a_batch_that_comes_twice_with_the_same_rows_is_compared() -> None:
    twice = [*KILLED_AFTER_THE_LOG.attempts, Attempt(1, rows(SECOND)[::-1])]
    verdict = judge(replace(KILLED_AFTER_THE_LOG, attempts=twice))
    assert verdict.faults == []
    assert verdict.compared == [1]


def test_a_batch_that_comes_again_with_other_rows_has_changed() -> None:
    for other in (rows(SECOND)[:-1], rows([*SECOND, Range(1, 2, 2)])):
        attempts = [Attempt(0, rows(FIRST)), Attempt(1, other), Attempt(1, rows(SECOND))]
        assert judge(replace(KILLED_AFTER_THE_LOG, attempts=attempts)).changed == [1]


def test_a_batch_that_is_not_what_the_offset_log_says_has_changed() -> None:
    attempts = [Attempt(0, rows(FIRST)), Attempt(1, rows(SECOND)[:-1])]
    assert judge(replace(KILLED_AFTER_THE_LOG, attempts=attempts)).changed == [1]


def test_an_offset_log_rewritten_after_the_kill_is_a_change() -> None:
    at_kill = Checkpoint({0: FIRST, 1: SECOND[:1]}, [0])
    assert judge(replace(KILLED_AFTER_THE_LOG, at_kill=at_kill)).changed == [1]
    assert judge(replace(KILLED_AFTER_THE_LOG, at_starts=[at_kill])).changed == [1]


def test_a_batch_that_the_query_finished_without_a_start_was_not_replayed() -> None:
    assert judge(replace(KILLED_AFTER_THE_LOG, at_starts=[])).replayed == []
    assert judge(replace(KILLED_AFTER_THE_LOG, at_starts=[KILLED_AFTER_THE_LOG.at_end])).replayed == []


def test_a_logged_batch_that_never_reached_the_sink_is_a_change() -> None:
    verdict = judge(replace(KILLED_AFTER_THE_LOG, attempts=[Attempt(0, rows(FIRST))]))
    assert verdict.changed == [1]
    assert verdict.lost == sorted(values(*SECOND))


def test_a_record_in_two_batches_or_twice_in_one_is_doubled() -> None:
    two = [Attempt(0, rows(FIRST)), Attempt(1, rows(SECOND)), Attempt(2, rows([Range(0, 4, 4)]))]
    assert judge(replace(KILLED_AFTER_THE_LOG, attempts=two)).doubled == [(0, 4)]
    one = [Attempt(0, rows(FIRST)), Attempt(1, [*rows(SECOND), *rows(SECOND)[:1]])]
    assert judge(replace(KILLED_AFTER_THE_LOG, attempts=one)).doubled == [(0, 5)]


def test_the_other_member_may_get_what_a_killed_runner_had_not_acknowledged() -> None:
    verdict = judge(replace(KILLED_AFTER_THE_LOG, competitor=values(Range(1, 0, 1))))
    assert verdict.shared == [(1, 0), (1, 1)]
    assert verdict.faults == []


def test_the_other_member_may_not_get_what_was_acknowledged_before_the_kill() -> None:
    verdict = judge(replace(KILLED_AFTER_THE_LOG, competitor=values(Range(0, 3, 5))))
    assert verdict.shared == [(0, 5)]
    assert verdict.stolen == [(0, 3), (0, 4)]
    assert len(verdict.faults) == 1


def test_the_other_member_may_not_get_what_another_session_holds() -> None:
    def stolen(*events: Event) -> int:
        taken = replace(KILLED_AFTER_THE_LOG, events=list(events), competitor=values(*SECOND))
        return len(judge(taken).stolen)

    acquired, confirmed = Acquired("b", SECOND), Confirmed(SECOND)
    assert stolen(acquired, Ended("a"), confirmed) == 7
    assert stolen(acquired, confirmed, Ended("b")) == 7
    assert stolen(Ended("b"), acquired, confirmed) == 7
    assert stolen(acquired, Ended(), confirmed) == 0


def test_a_value_that_was_not_produced_there_is_altered() -> None:
    wrong = [Attempt(0, [*rows(FIRST)[:-1], Row(0, 4, 77)]), Attempt(1, rows(SECOND))]
    assert judge(replace(KILLED_AFTER_THE_LOG, attempts=wrong)).altered == [(0, 4)]


def test_the_hash_knows_rows_and_not_their_order() -> None:
    assert content_hash(rows(SECOND)) == content_hash(reversed(rows(SECOND)))
    assert content_hash(rows(SECOND)) != content_hash(rows(SECOND)[1:])
