from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.campaign import results
from tests.campaign.cluster_kills.report import markdown
from tests.campaign.cluster_kills.rows import Row, of

ROUND = Row(
    cell="owner", cluster="ours", seed=1, number=1, at="", records=1_000, pause_s=2.0, within_s=3.0, load=1.0, twice=3
)


def test_rounds_come_back_as_they_were_and_are_kept_apart(tmp_path: Path) -> None:
    path = tmp_path / "results" / "rounds.jsonl"
    assert results.read(path, Row) == []
    other = replace(ROUND, cluster="4.3.1", broken=["lost"], errors={"poll": 2})
    results.append(path, ROUND)
    results.append(path, other)
    assert results.read(path, Row) == [ROUND, other]
    assert of(results.read(path, Row), "owner", "4.3.1") == [other]


def test_the_table_has_a_row_for_each_cell_and_a_column_for_each_cluster_that_was_tried() -> None:
    more = [ROUND, replace(ROUND, pause_s=2.5), replace(ROUND, cluster="3.9.1"), replace(ROUND, cluster="4.3.1")]
    more.append(replace(ROUND, cell="both"))
    table = [line for line in markdown(more, ["none", "owner", "both"]) if line.startswith("| ")]
    assert [table[0], *table[2:]] == [
        "| fault | allowed s | ours | 4.3.1 | 3.9.1 |",
        "| owner | 3 | 2: 0/0/0, 2.2/2.5 | 1: 0/0/0, 2.0/2.0 | 1: 0/0/0, 2.0/2.0 |",
        "| both | 3 | 1: 0/0/0, 2.0/2.0 |  |  |",
    ]


def test_what_is_late_or_broken_is_shown() -> None:
    late, never = replace(ROUND, pause_s=3.1, load=9.0), replace(ROUND, pause_s=None, load=1.0)
    assert (ROUND.is_late, late.is_late, never.is_late) == (False, True, True)
    wrong = replace(ROUND, number=4, lost=2, again=1, broken=["partition 0 offset 1: never confirmed"])
    text = "\n".join(markdown([ROUND, late, never, wrong], ["owner"]))
    assert "| 4: 2/1/0, 2.5/inf; 2 late, at load 9, 1 |" in text
    assert "* owner, ours, round 4: partition 0 offset 1: never confirmed" in text


def test_a_round_that_was_not_carried_out_is_shown_and_not_counted() -> None:
    void = replace(ROUND, number=2, records=0, pause_s=None, broken=["RuntimeError: shareq did not start:"])
    text = "\n".join(markdown([ROUND, void], ["owner"]))
    assert "| owner | 3 | 1: 0/0/0, 2.0/2.0 |" in text
    assert "1 rounds, 1,000 records" in text
    assert "* owner, ours, round 2: RuntimeError: shareq did not start:" in text


def test_without_a_round_there_is_a_table_all_the_same() -> None:
    assert "0 rounds, 0 records" in "\n".join(markdown([], ["owner"]))


def test_notes_are_counted() -> None:
    text = markdown([replace(ROUND, note="was taking over")] * 2 + [replace(ROUND, note="had taken over")], ["owner"])
    assert text[-1].endswith("Nodes when they were killed: 1 had taken over, 2 was taking over.")
