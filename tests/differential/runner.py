"""Sequences in lockstep at two brokers: each step at both, then a comparison of the answers."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from tests.differential.answers import Answer
from tests.differential.compare import Difference, differences
from tests.differential.generate import Sequence
from tests.differential.justified import Situation, explained
from tests.differential.player import Plays
from tests.differential.steps import STEPS, Drop, Restart, Step

SETTLE_S = 0.015
"""The seconds to wait after an answer of Apache Kafka, which answers before all of its own writes are done."""
SETTLE_AFTER_DROP_S = 0.05
TRIES = 4
"""The number of times that a sequence is played until both brokers agree. A mismatch counts only if Apache Kafka's
answers repeat.
"""
BROKEN = Answer(-1000)
"""The errors of a connection that broke, or of an answer that did not come in time."""


@dataclass(frozen=True, slots=True)
class Played:
    step: Step
    ours: Answer
    theirs: Answer


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run of a sequence. `found` holds the differences at its last step, none if all steps agreed."""

    seed: int
    played: list[Played]
    found: tuple[Difference, ...]
    justified: Counter[str]
    aside: Counter[str] = field(default_factory=Counter)
    """The number of occurrences of each field that is not compared."""
    aside_differed: Counter[str] = field(default_factory=Counter)

    def look_aside(self, ours: Answer, theirs: Answer) -> None:
        for key in ours.aside.keys() | theirs.aside.keys():
            self.aside[key[1]] += 1
            self.aside_differed[key[1]] += ours.aside.get(key) != theirs.aside.get(key)


@dataclass(slots=True)
class RestartGate:
    """A gate where parallel sequences wait, so that one restart of the brokers serves them all."""

    restart: Callable[[], Awaitable[None]]
    parties: int
    _waiting: int = 0
    _passed: asyncio.Event = field(default_factory=asyncio.Event)

    async def pass_through(self) -> None:
        self._waiting += 1
        await self._look()
        await self._passed.wait()

    async def leave(self) -> None:
        """End a sequence, so that the others do not wait for it. After the restart this has no effect."""
        if not self._passed.is_set():
            self.parties -= 1
            await self._look()

    async def _look(self) -> None:
        if self._waiting and self._waiting == self.parties and not self._passed.is_set():
            await self.restart()
            self._passed.set()


Make = Callable[[Literal["ours", "theirs"], str], Plays]
"""A function that returns a player of one sequence at one of the brokers, given a unique name."""


@dataclass(slots=True)
class Duel:
    """One sequence played at both brokers."""

    make: Make
    seed: int
    name: str
    gate: RestartGate | None = None
    delete_records: bool = False
    dead_letters: bool = False
    steps: int = STEPS
    _ours: Plays = field(init=False)
    _theirs: Plays = field(init=False)

    async def play(self) -> Attempt:
        sequence = Sequence(self.seed, delete_records=self.delete_records, dead_letters=self.dead_letters)
        attempt = Attempt(self.seed, [], (), Counter())
        await self._begin(sequence, 0)
        try:
            for number in range(self.steps):
                step = sequence.next()
                if isinstance(step, Restart) and self.gate is not None:
                    await self.gate.pass_through()
                ours, theirs = await asyncio.gather(_answer(self._ours, step), _answer(self._theirs, step))
                attempt.played.append(Played(step, ours, theirs))
                attempt.look_aside(ours, theirs)
                found = differences(ours, theirs)
                if found:
                    hits, rest = explained(Situation(step, ours, theirs, sequence.view, found))
                    attempt.justified.update(hit.name for hit in hits)
                    if rest:
                        return replace(attempt, found=tuple(rest))
                    if any(hit.diverges for hit in hits):
                        await self._end()
                        sequence.begin_again()
                        await self._begin(sequence, number + 1)
                        continue
                sequence.note(step, ours)
                await asyncio.sleep(SETTLE_AFTER_DROP_S if isinstance(step, Drop) else SETTLE_S)
                settled = await asyncio.gather(_settled(self._ours), _settled(self._theirs))
                if not all(settled):
                    return replace(attempt, found=(Difference(None, "the dead are done with", *settled),))
            return attempt
        finally:
            await self._end()
            if self.gate is not None:
                await self.gate.leave()

    async def _begin(self, sequence: Sequence, number: int) -> None:
        name = f"{self.name}-{number}"
        self._ours, self._theirs = self.make("ours", name), self.make("theirs", name)
        await asyncio.gather(self._ours.begin(sequence.setup), self._theirs.begin(sequence.setup))

    async def _end(self) -> None:
        await asyncio.gather(self._ours.end(), self._theirs.end(), return_exceptions=True)


async def _settled(player: Plays) -> bool:
    try:
        await player.settle()
    except (OSError, EOFError, TimeoutError):
        return False
    return True


async def _answer(player: Plays, step: Step) -> Answer:
    try:
        return await player.play(step)
    except (OSError, EOFError, TimeoutError):
        return BROKEN


Verdict = Literal["agreed", "mismatch", "undecided", "ours wavers"]


def verdict(attempts: list[Attempt]) -> Verdict:
    """Return the verdict on the attempts at one seed.

    `mismatch`: Apache Kafka gave the same answers each time, and shareq others. `undecided`: no attempt agreed, and the
    differences varied. `ours wavers`: the last attempt agreed because shareq's answer changed, not Apache Kafka's.
    """
    *failed, last = attempts
    if not last.found:
        return "ours wavers" if any(_we_changed(one, last) for one in failed) else "agreed"
    same = all(len(one.played) == len(last.played) and one.played[-1] == last.played[-1] for one in failed)
    return "mismatch" if same else "undecided"


def _we_changed(failed: Attempt, agreed: Attempt) -> bool:
    at = len(failed.played) - 1
    before, after = failed.played[at], agreed.played[at]
    return before.step == after.step and before.theirs == after.theirs and before.ours != after.ours
