"""Running worlds: one in this process, or many over several; each outcome is a value."""

from __future__ import annotations

import resource
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from tests.fuzz.memory_world import FRAMES, MemoryWorld
from tests.fuzz.oracle import Defect, Outcome, log_of_broker

LARGEST_FRAME_SHOWN: Final = 4_000  # bytes, as hex


@dataclass(frozen=True)
class Result:
    """The result of a world. `failure` is empty if nothing was wrong. `rss_kb`: the process's largest so far."""

    seed: int
    taken: int = 0
    failure: str = ""
    last: tuple[str, ...] = ()  # the newest frames, the one that failed last
    counts: Counter[tuple[str, bool, Outcome]] = field(default_factory=Counter)
    longest_ns: int = 0
    largest_peak: int = 0
    rss_kb: int = 0

    def reported(self) -> str:
        again = f"replay: .venv/bin/python -m tests.fuzz --world {self.seed}"
        return "\n".join((f"world {self.seed}, after {self.taken} frames: {self.failure}", *self.last, again))


def run_world(seed: int, frames: int = FRAMES) -> Result:
    """Run one world. A stall counts only if it repeats: other load affects even CPU time."""
    result = _run_world(seed, frames)
    if "held for" in result.failure:
        result = _run_world(seed, frames)
    return result


def _run_world(seed: int, frames: int) -> Result:
    with log_of_broker() as log:
        world: MemoryWorld | None = None
        failure = ""
        try:
            world = MemoryWorld(seed, log, frames)
            world.run()
        except Defect as defect:
            failure = str(defect) or "a defect"
        except Exception as error:
            failure = f"{type(error).__name__} came out of the broker: {error}\n" + "".join(
                traceback.format_exception(error)
            )
        if world is None:
            return Result(seed, 0, failure)
        last = (
            ()
            if not failure
            else tuple(f"  {frame}\n    {frame.data.hex()[: 2 * LARGEST_FRAME_SHOWN]}" for frame in world.sent)
        )
        rss_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return Result(seed, world.taken, failure, last, world.counts, world.longest_ns, world.largest_peak, rss_kb)


def run_worlds(seeds: Iterable[int], jobs: int) -> Iterator[Result]:
    if jobs == 1:
        yield from map(run_world, seeds)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(run_world, seeds, chunksize=4)
