"""The judge of the campaign finds what must not be."""

from __future__ import annotations

import pytest

from tests.campaign.cluster_kills.judge import gap_after, judged, read_journals

JOURNALS = ("D 1.0 0 0\nD 1.0 0 1\nA 1.1 0 0,1\nC 1.2 0 0,1\nE 1.3 poll _TRANSPORT\n", "D 2.0 1 0\nA 2.1 1 0\nC 2.")


def test_all_that_was_confirmed_and_finished_is_right() -> None:
    verdict = judged(read_journals(JOURNALS[:1]), [(0, 0), (0, 1)], [1.15], lambda _: True)
    assert (verdict.broken, verdict.twice, verdict.unknown) == ([], 0, 0)


def test_a_record_without_a_confirmation_is_lost_unless_its_state_has_it() -> None:
    seen = read_journals(JOURNALS)
    assert seen.errors == {"poll _TRANSPORT": 1}
    produced = [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert judged(seen, produced, [], lambda place: place != (1, 0)).lost == [(1, 0), (1, 1)]
    verdict = judged(seen, produced, [], lambda _: True)
    assert (verdict.lost, verdict.unknown) == ([(1, 1)], 1)


def test_what_comes_again_after_its_confirmation_is_found() -> None:
    verdict = judged(read_journals([*JOURNALS[:1], "D 1.9 0 1\n"]), [(0, 0), (0, 1)], [], lambda _: True)
    assert (verdict.again, verdict.twice) == ([(0, 1)], 1)
    assert judged(read_journals([*JOURNALS[:1], "D 1.1 0 1\n"]), [(0, 0), (0, 1)], [], lambda _: True).again == []


def test_a_state_that_does_not_know_of_a_confirmation_is_found() -> None:
    assert judged(read_journals(JOURNALS[:1]), [], [], lambda place: place == (0, 0)).unlike == [(0, 1)]


@pytest.mark.parametrize(("at", "gap"), [(1.0, 2.0), (0.5, 0.5), (5.0, float("inf"))])
def test_the_gap_is_from_the_fault_to_the_next_confirmation(at: float, gap: float) -> None:
    assert gap_after([0.4, 1.0, 3.0, 3.1], at) == pytest.approx(gap)
