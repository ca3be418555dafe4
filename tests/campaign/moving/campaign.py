"""Rounds of cells on one way, in one scene, each judged at its end."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Final

from devtools.provenance import last_change
from examples.flights_demo import flights
from tests.campaign.command import show
from tests.campaign.moving.cells import Cell
from tests.campaign.moving.rows import Row
from tests.campaign.moving.scene import Round, Scene, Way

CODE: Final = ("ops", "broker", "coordinator", "cluster", "client")


def rounds(way: Way, seed: int, wanted: Sequence[tuple[Cell, int]], records: int | None) -> Iterator[Row]:
    """Yield a row for each wanted cell and number, in one scene. `records` is an upper limit.

    A round with a breach is the last. Its journals and logs are kept, and their place is printed; SHAREQ_KEEP_DATA
    keeps those of all rounds.
    """
    folder = Path(tempfile.mkdtemp(prefix="shareq-moving-"))
    scene = Scene(folder, way)
    is_well = False
    try:
        flights.download()
        scene.start()
        is_well = True
        for at, (cell, number) in enumerate(wanted):
            row = _round(scene, at, cell, Random(f"{seed} {way.name} {cell.name} {number}"), records)
            is_well = not row.broken
            yield replace(row, way=way.name, cell=cell.name, seed=seed, number=number)
            if not is_well:
                return
    finally:
        scene.end()
        if is_well and not os.environ.get("SHAREQ_KEEP_DATA"):
            shutil.rmtree(folder, ignore_errors=True)
        else:
            show(f"{way.name}: journals and logs are kept in {folder}")


def _round(scene: Scene, at: int, cell: Cell, rng: Random, records: int | None) -> Row:
    folder = scene.folder / f"round-{at}"
    folder.mkdir()
    try:
        row = cell.move(Round(scene, at, rng, folder, min(cell.records, records or cell.records)))
    except Exception as error:
        row = Row(broken=[f"{type(error).__name__}: {error}".partition("\n")[0].replace(sys.executable, "python")])
    at_s, load = datetime.now(UTC).isoformat(timespec="seconds"), round(os.getloadavg()[0], 1)
    return replace(row, at=at_s, load=load, code=last_change(*CODE))
