from __future__ import annotations

from collections import Counter

import pytest

from tests.spark.kills.cells import CHOSEN, ORDER, Ack, Cell, Step, Victim, all_cells, select


def test_every_victim_at_every_step_with_both_acks_alone_or_not() -> None:
    cells = all_cells()
    assert len(cells) == len(set(cells)) == len(Victim) * len(Step) * len(Ack) * 2
    assert len({cell.name for cell in cells}) == len(cells)


def test_the_accept_comes_last_or_as_soon_as_the_offset_log_has_the_ranges() -> None:
    assert ORDER[Ack.COMMIT][-1] is Step.ACCEPTED
    assert ORDER[Ack.LOG].index(Step.ACCEPTED) == ORDER[Ack.LOG].index(Step.OFFSETS_WRITTEN) + 1
    assert set(ORDER[Ack.LOG]) == set(ORDER[Ack.COMMIT]) == set(Step)


def test_each_victim_has_steps_of_its_own_and_a_remark_at_the_others() -> None:
    own = Counter(cell.victim for cell in all_cells() if cell.remark is None)
    assert set(own) == set(Victim)
    assert Cell(Victim.WORKER, Step.READ, Ack.COMMIT, False).remark is None
    assert "idle" in str(Cell(Victim.WORKER, Step.ACCEPTED, Ack.COMMIT, False).remark)


def test_the_chosen_cells_leave_no_victim_and_no_step_out() -> None:
    assert len(set(CHOSEN)) == 8
    assert set(CHOSEN) <= set(all_cells())
    assert {cell.victim for cell in CHOSEN} == set(Victim)
    assert {cell.step for cell in CHOSEN} == set(Step)
    assert {cell.ack for cell in CHOSEN} == set(Ack)
    assert {cell.competitor for cell in CHOSEN} == {True, False}


def test_cells_are_chosen_by_patterns() -> None:
    assert select(["runner@acquired/commit/alone"], all_cells()) == [
        Cell(Victim.RUNNER, Step.ACQUIRED, Ack.COMMIT, False)
    ]
    assert len(select(["runner@*", "*/log/member"], all_cells())) == 24 + 24 - 6
    with pytest.raises(ValueError, match="'driver@"):
        select(["driver@*"], all_cells())
