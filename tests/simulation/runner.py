"""Running seeds: one at a time in this process, or many over several; each outcome is a value."""

from __future__ import annotations

import logging
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice

from devtools.in_memory.mem_fs import SimulatedCrash
from tests.simulation.world import STEPS, World

TAIL = 40  # lines of a failed seed's transcript
CHUNK = 25  # seeds that a process takes at a time


@dataclass(frozen=True)
class Outcome:
    """The result of a seed. `failure` is empty if all invariants held; `tail` is the end of its transcript."""

    seed: int
    failure: str = ""
    tail: tuple[str, ...] = ()
    seen: Counter[str] = field(default_factory=Counter)

    def reported(self) -> str:
        return "\n".join((f"seed {self.seed}: {self.failure}", *self.tail))


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the broker's log: thousands of planned faults make it long."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


def run_seed(seed: int, steps: int = STEPS) -> Outcome:
    world: World | None = None
    with quiet():
        try:
            world = World(seed, steps)
            world.run()
        except (Exception, SimulatedCrash) as error:
            transcript = world.transcript if world is not None else []
            where = traceback.extract_tb(error.__traceback__)[-1]
            failure = f"{type(error).__name__}: {error} ({where.name}, line {where.lineno})"
            return Outcome(seed, failure, tuple(transcript[:1] + transcript[1:][-TAIL:]))
    return Outcome(seed, seen=world.seen)


def shortest(seed: int) -> Outcome:
    """Return the failing outcome with the fewest steps before its drain, if fewer steps also fail."""
    for steps in range(1, STEPS + 1):
        outcome = run_seed(seed, steps)
        if outcome.failure:
            return outcome
    return Outcome(seed)


def run_seeds(seeds: Iterable[int], jobs: int) -> Iterator[Outcome]:
    rest = iter(seeds)
    chunks = iter(lambda: list(islice(rest, CHUNK)), [])
    with ProcessPoolExecutor(jobs) as pool:
        for outcomes in pool.map(_run_chunk, chunks):
            yield from outcomes


def _run_chunk(seeds: list[int]) -> list[Outcome]:
    return [run_seed(seed) for seed in seeds]
