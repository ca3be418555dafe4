"""Eight cells of the kill matrix, on shareq, or on Apache Kafka by `--broker`. All cells: `make spark-kill-matrix`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.interop.support.broker_under_test import Kind
from tests.spark.kills.campaign import Campaign
from tests.spark.kills.cells import CHOSEN, Ack, Cell, Step, Victim


@pytest.fixture(scope="module")
def campaign(broker_kind: Kind) -> Iterator[Campaign]:
    """Share one broker and one session among all cells, as long as they live."""
    with Campaign(broker_kind, seed=1) as campaign:
        yield campaign


@pytest.mark.crash
@pytest.mark.parametrize("cell", CHOSEN, ids=lambda cell: cell.name)
def test_nothing_lost_nothing_twice_replayed_the_same(campaign: Campaign, cell: Cell) -> None:
    outcome = campaign.play(cell)
    print(outcome.line())
    assert outcome.error is None, outcome.error
    assert outcome.verdict is not None
    assert outcome.verdict.faults == []
    assert outcome.verdict.in_spark > 0
    assert cell.competitor or outcome.verdict.in_competitor == 0


@pytest.mark.crash
@pytest.mark.parametrize(
    ("step", "plant", "found"),
    [(Step.ACQUIRED, "accept-early", "lost"), (Step.COMMITS_WRITTEN, "forgetful", "doubled")],
)
def test_a_planted_fault_is_found(campaign: Campaign, step: Step, plant: str, found: str) -> None:
    outcome = campaign.play(Cell(Victim.RUNNER, step, Ack.COMMIT, False), plant)
    assert outcome.verdict is not None, outcome.error
    assert getattr(outcome.verdict, found)
