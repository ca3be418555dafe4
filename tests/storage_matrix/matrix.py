"""All cells, on all cores, or the few that `make test` has time for."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Final

from tests.storage_matrix.cell import Outcome, Verdict, baseline, run
from tests.storage_matrix.damages import Damage, damages
from tests.storage_matrix.judge import Waiver
from tests.storage_matrix.kinds import Target, targets
from tests.storage_matrix.life import Stop, Templates
from tests.storage_matrix.observe import Facts

MEMORY: Final = "/dev/shm"  # thousands of syncs, none of which shows anything here
DAMAGES: Final = ("bit flip", "cut", "zeroed", "missing", "older copy")


@dataclass(frozen=True)
class Row:
    """One file of one template. One process tries all its damages in turn."""

    template: str
    stop: Stop
    target: Target


@dataclass(frozen=True)
class Result:
    """An outcome without references to other objects, so that processes can exchange it."""

    kind: str
    damage: str
    stop: str
    verdict: Verdict
    reported: str
    text: str
    waived: frozenset[Waiver]


def rows(templates: Templates) -> list[Row]:
    found = [Row(folder, stop, target) for stop, folder in templates.ended.items() for target in targets(folder)]
    for folder in templates.moments.values():
        found += [Row(folder, Stop.KILL, target) for target in targets(folder) if target.is_transient]
    return found


def run_row(row: Row, templates: Templates, work: str, sound: Facts, *, few: int = 0) -> list[Result]:
    """Try all damages of one file. With `few`, try one of every `few`, starting elsewhere for each file."""
    done = damages(row.target, row.template, templates.older)
    if few:
        done = _every(done, few, sum(row.target.path.encode()) + len(row.stop.value))
    outcomes = (run(row.template, work, row.target, damage, row.stop, sound) for damage in done)
    return [_result(outcome) for outcome in outcomes if outcome is not None]


def _every(done: Sequence[Damage], few: int, first: int) -> list[Damage]:
    return list(done[first % few :: few])


def _result(outcome: Outcome) -> Result:
    return Result(
        outcome.target.kind,
        outcome.damage.name,
        outcome.stop.value,
        outcome.verdict,
        outcome.reported,
        outcome.text,
        outcome.waived,
    )


def run_all(templates: Templates, jobs: int, only: str = "", few: int = 0) -> Iterator[list[Result]]:
    folder = os.path.dirname(templates.older[0])
    chosen = [row for row in rows(templates) if only in f"{row.target.kind} {row.target.path} {row.stop.value}"]
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(_run_row, chosen, [templates] * len(chosen), [folder] * len(chosen), [few] * len(chosen))


_sound: dict[tuple[str, Stop], Facts] = {}


def _run_row(row: Row, templates: Templates, folder: str, few: int) -> list[Result]:
    work = f"{folder}/work-{os.getpid()}"
    try:
        return run_row(row, templates, work, sound_facts(row, work), few=few)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def sound_facts(row: Row, work: str) -> Facts:
    key = row.template, row.stop
    if key not in _sound:
        _sound[key] = baseline(row.template, row.stop, work)
    return _sound[key]


def worst(results: Iterable[Result]) -> Result:
    return max(results, key=lambda result: result.verdict)
