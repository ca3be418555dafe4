"""Every life of a breaker in a few steps, beside an observer that keeps all letters and knows the promise alone."""

from __future__ import annotations

from itertools import product
from typing import Final

from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.share.core.effects import Cause, DeadLetter
from shareq.broker.share.dlq.breakers import Breakers
from shareq.broker.share.leader_counters import ShareCounters
from shareq.coordinator.ports import LetterBreaker, ShareGroupSettings
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode

LETTERS: Final = 3
WINDOW_MS: Final = 10_000
STEPS: Final = ("one dies", "two die", "half a window", "an operator pauses", "resume", "storing fails", "a start")
DEPTH: Final = 5


class Life:
    """One group with a breaker. `known`: the times of its letters since the breaker last began to count from 0."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.paused_by = "false"
        self.fails = False
        self.known: list[int] = []
        self.pauses = 0
        self.start()

    def start(self) -> None:
        """Begin with a new broker, which has counted nothing; the group's properties stay."""
        self.counters = ShareCounters()
        self.breakers = Breakers(self.clock, self, self.pause, self.counters)

    def share_group(self, _group_id: str) -> ShareGroupSettings:
        return ShareGroupSettings(breaker=LetterBreaker(LETTERS, WINDOW_MS), paused_by=self.paused_by)

    def pause(self, group_id: str) -> Pending[ApiError]:
        if self.fails:
            self.fails = False
            return completed(ApiError(ErrorCode.UNKNOWN_SERVER_ERROR))
        self.pauses += 1
        self.set("breaker")
        assert group_id == "g"
        return completed(NO_ERROR)

    def set(self, paused_by: str) -> None:
        self.paused_by = paused_by
        self.breakers.config_changed("g")

    def take(self, step: str) -> None:
        match step:
            case "one dies" | "two die":
                self.die(1 if step == "one dies" else 2)
            case "half a window":
                self.clock.advance(WINDOW_MS // 2 + WINDOW_MS // 50)
            case "an operator pauses" | "resume":
                if (self.paused_by, step) != ("false", "resume"):
                    self.known.clear()
                self.set("true" if step == "an operator pauses" else "false")
            case "storing fails":
                self.fails = True
            case _:
                self.start()
                self.known.clear()

    def die(self, number: int) -> None:
        was_paused, pauses, fails = self.paused_by != "false", self.pauses, self.fails
        self.breakers.count("g", [DeadLetter(0, number - 1, 1, Cause.CLIENT_REJECT)])
        self.clock.run_until_idle()
        if was_paused:
            assert self.pauses == pauses
            return
        now_ms = self.clock.now_ms()
        self.known += [now_ms] * number
        too_many = sum(at > now_ms - WINDOW_MS for at in self.known) >= LETTERS
        assert self.pauses - pauses == (too_many and not fails), self.known
        assert self.fails == (fails and not too_many)
        if self.pauses > pauses:
            self.known.clear()


def test_a_group_is_paused_exactly_when_its_letters_are_too_many() -> None:
    """The breaker counts from 0 after a pause of either kind, and in a new broker; a pause that is not stored is tried
    again.
    """
    paused = 0
    for steps in product(STEPS, repeat=DEPTH):
        life = Life()
        for step in steps:
            life.take(step)
        assert life.counters.breakers.get("g", 0) <= life.pauses, steps
        paused += life.pauses > 0
    assert paused > 1_000
