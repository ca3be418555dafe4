"""Our client on our broker on virtual time, with cuts: fixed seeds, and planted faults that they must notice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Final

import pytest

from shareq.client.core.connection import Exchange
from shareq.client.errors import ClientError, Disconnected
from shareq.client.produce.batches import Batch, Lane
from shareq.client.produce.delivery import Delivery
from shareq.client.share.core import ShareCore
from shareq.client.share.leaders import Leader, ShareLeaders
from shareq.client.share.session import AckOutcome
from shareq.protocol.errors import ErrorCode
from tests.simulation.client.scene import Scene
from tests.simulation.ledger import InvariantBroken

SEEDS: Final = range(1, 5)
AT_LEAST: Final = {
    "acquired": 6_000,
    "ACCEPT": 4_000,
    "RELEASE": 800,
    "written": 4_000,
    "failed": 15,
    "retries": 15,
    "acknowledgements that failed": 1_000,
    "cuts": 120,
    "crashes": 5,
    "restarts": 5,
    "refusals": 10,
    "silences": 10,
}


def play_all(seeds: Iterable[int] = SEEDS) -> list[Counter[str]]:
    return [Scene(seed).run() for seed in seeds]


def test_fixed_seeds_bring_enough_about_and_the_same_each_time() -> None:
    played = play_all()
    counts = sum(played, Counter[str]())
    assert {name: counts[name] for name, least in AT_LEAST.items() if counts[name] < least} == {}
    assert Scene(SEEDS[0]).run() == played[0]


def sequences_are_used_again(patch: pytest.MonkeyPatch) -> None:
    def end(self: Delivery, lane: Lane, batch: Batch, error: ClientError) -> None:
        lane.batches.popleft()
        lane._next_sequence = batch.sequence
        batch.failed(error)

    patch.setattr(Delivery, "_end", end)


def a_batch_gets_other_numbers_when_it_is_sent_again(patch: pytest.MonkeyPatch) -> None:
    encode = Lane.encode

    def again(self: Lane, batch: Batch, *more: Any, **named: Any) -> bytes:
        batch.encoded = None
        return encode(self, batch, *more, **named)

    patch.setattr(Lane, "encode", again)


def an_acknowledgement_whose_answer_is_lost_passes_for_done(patch: pytest.MonkeyPatch) -> None:
    outcome = ShareCore.ack_outcome

    async def done(self: ShareCore, leader: Leader, sent: Exchange | ClientError) -> AckOutcome | ClientError:
        found = await outcome(self, leader, sent)
        return AckOutcome(ErrorCode.NONE) if isinstance(found, Disconnected) else found

    patch.setattr(ShareCore, "ack_outcome", done)


def a_session_outlives_its_connection(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ShareLeaders, "session_lost", lambda self, leader: None)


@pytest.mark.parametrize(
    ("plant", "known"),
    [
        (sequences_are_used_again, 4),
        (a_batch_gets_other_numbers_when_it_is_sent_again, 2),
        (an_acknowledgement_whose_answer_is_lost_passes_for_done, 1),
        (a_session_outlives_its_connection, 2),
    ],
)
def test_a_planted_fault_is_noticed(
    plant: Callable[[pytest.MonkeyPatch], None], known: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The known seed is tried first; after a change of the client another seed may notice it instead."""
    plant(monkeypatch)
    with pytest.raises(InvariantBroken):
        play_all(dict.fromkeys((known, *SEEDS)))
