from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.campaign.cluster_kills.journal import Journal, Journals
from tests.campaign.cluster_kills.judge import Seen, judged, longest_pause

FIRST = ("D 1.0 0 0", "D 1.0 0 1", "A 1.1 0 0,1", "C 1.2 0 0,1", "E 1.3 poll _TRANSPORT")
SECOND = ("D 2.0 1 0", "A 2.1 1 0")


def seen(*journals: Sequence[str]) -> Seen:
    made = Seen()
    for journal in journals:
        made.read(journal)
    return made


def test_all_that_was_confirmed_and_finished_is_right() -> None:
    verdict = judged(seen(FIRST), [(0, 0), (0, 1)], lambda _: True)
    assert (verdict.broken, verdict.twice, verdict.unknown) == ([], 0, 0)


def test_a_record_without_a_confirmation_is_lost_unless_its_state_has_it() -> None:
    found = seen(FIRST, SECOND)
    assert found.errors == {"poll _TRANSPORT": 1}
    produced = [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert judged(found, produced, lambda place: place != (1, 0)).lost == [(1, 0), (1, 1)]
    verdict = judged(found, produced, lambda _: True)
    assert (verdict.lost, verdict.unknown) == ([(1, 1)], 1)


def test_what_comes_again_after_its_confirmation_is_found() -> None:
    verdict = judged(seen(FIRST, ["D 1.9 0 1"]), [(0, 0), (0, 1)], lambda _: True)
    assert (verdict.again, verdict.twice) == ([(0, 1)], 1)
    assert judged(seen(FIRST, ["D 1.1 0 1"]), [(0, 0), (0, 1)], lambda _: True).again == []


def test_a_state_that_does_not_know_of_a_confirmation_is_found() -> None:
    assert judged(seen(FIRST), [], lambda place: place == (0, 0)).unlike == [(0, 1)]


def test_a_round_shows_what_is_new() -> None:
    first = judged(seen(FIRST, SECOND), [(0, 0), (0, 1), (1, 0)], lambda place: place == (0, 0))
    second = judged(seen(FIRST, SECOND), [(0, 0), (0, 1), (1, 0), (1, 1)], lambda _: False)
    new = second.since(first)
    assert (new.records, new.lost, new.unlike, new.again) == (1, [(1, 1)], [(0, 0)], [])
    assert second.since(second).broken == []


@pytest.mark.parametrize(
    ("confirmations", "pause"),
    [
        ([0.5, 1.1, 3.0, 4.1], 1.9),  # what was answered before the fault may be noted behind it
        ([1.5, 1.6, 4.5], 2.9),
        ([4.5], 3.5),
        ([1.1, 3.9], float("inf")),  # no work behind the end
        ([], float("inf")),
    ],
)
def test_the_longest_pause_begins_between_the_fault_and_the_end(confirmations: list[float], pause: float) -> None:
    assert longest_pause(reversed(confirmations), 1.0, 4.0) == pytest.approx(pause)


def test_journals_are_read_on_and_a_line_that_is_not_whole_waits(tmp_path: Path) -> None:
    journals = Journals(tmp_path)
    assert journals.seen().last == 0
    with Journal(str(tmp_path / "journal-0-1-one.txt")) as journal:
        journal.delivered(0, 7)
        journal.tried([(0, 7)])
        assert (list(journals.seen().delivered), journals.seen().tried) == ([(0, 7)], {(0, 7)})
        journal.confirmed([(0, 7), (0, 8)])
    with (tmp_path / "journal-1-2-two.txt").open("w") as other:
        other.write("C 5.0 1 0\nC 9.0 1 1")
    assert journals.seen().confirmed.keys() == {(0, 7), (0, 8), (1, 0)}
    assert len(journals.seen().delivered[0, 7]) == 1
    assert {client: len(times) for client, times in journals.seen().by_client.items()} == {"one": 1, "two": 1}
