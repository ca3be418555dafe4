"""The moment at which a round is judged, while consumers may still work."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import cast

import pytest

from tests.campaign.cluster_kills import campaign
from tests.campaign.cluster_kills.judge import Place, Seen
from tests.campaign.cluster_kills.scene import Scene


class Working:
    """A scene with two records, the second of which is confirmed while the states are read for the first time."""

    def __init__(self) -> None:
        self.lines = ["D 1.0 0 0", "D 1.0 0 1", "A 1.1 0 0", "C 1.2 0 0"]
        self.finished: set[Place] = {(0, 0)}
        self.cluster = SimpleNamespace(bootstrap="")
        self.journals = self

    def seen(self) -> Seen:
        found = Seen()
        found.read(self.lines)
        return found

    def produced(self) -> set[Place]:
        return {(0, 0), (0, 1)}

    def wait_for(self, _condition: Callable[[], bool], _what: str, _within_s: float) -> None:
        """Return at once, as if nothing had been confirmed for a while."""

    def states(self, *_: str) -> SimpleNamespace:
        found = set(self.finished)
        self.finished.add((0, 1))
        self.lines += ["A 1.3 0 1", "C 1.4 0 1"]
        return SimpleNamespace(is_finished=found.__contains__)


def test_what_is_confirmed_while_the_states_are_read_is_judged_by_the_next_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """States that are older than a confirmation do not contradict it."""
    scene = Working()
    monkeypatch.setattr(campaign, "read_states", scene.states)
    monkeypatch.setattr(campaign, "LOOKS_S", 0.0)
    verdict = campaign._when_done(cast(Scene, scene))
    assert (verdict.records, verdict.broken, verdict.unknown) == (2, [], 0)
