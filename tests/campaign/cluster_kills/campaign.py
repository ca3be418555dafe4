"""Rounds of a cell in one scene, each judged at its end."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Final

from tests.campaign.cluster_kills.cells import Cell, Fault
from tests.campaign.cluster_kills.judge import Verdict, judged, longest_pause
from tests.campaign.cluster_kills.rows import Row
from tests.campaign.cluster_kills.scene import GROUP, TOPIC, Scene
from tests.campaign.cluster_kills.states import read_states
from tests.campaign.command import show

QUIET_S: Final = 35.0
"""The seconds without a confirmation after which no more are expected: longer than a lock and a client that hangs. A
record counts as lost only if the consumers that replace hanging ones do not get it either.
"""
LOOKS_S: Final = 2.0
"""The seconds without a confirmation after which the states are checked, in case a client never got the last answer."""
TOGETHER_S: Final = 60.0
GOES_ON_S: Final = 0.3
"""The seconds for which records are still sent after the fault is over, to show that work goes on."""


class Rounds:
    """The rounds of one cell with one cluster. Each row has what changed since the previous round."""

    def __init__(self, cell: Cell, cluster: str, seed: int) -> None:
        self._cell = cell
        self._cluster = cluster
        self._seed = seed

    def run(self, first: int, goes_on: Callable[[int], bool]) -> Iterator[Row]:
        """Yield a row for each round in one scene, from number `first` on, while `goes_on(number)`.

        It ends with a round that breaks something or in which consumers hang; its journals and logs are kept, and their
        path is printed; SHAREQ_KEEP_DATA keeps those of all rounds.
        """
        folder = Path(tempfile.mkdtemp(prefix="shareq-cluster-kills-"))
        cell = self._cell
        scene = Scene(
            folder,
            self._cluster,
            cell.nodes,
            by_proxies=cell.by_proxies,
            guarded=cell.guarded,
            divided=cell.divided,
        )
        number, before, is_well = first, Verdict(0, [], [], [], 0, 0), False
        try:
            scene.start()
            is_well = True
            while is_well and goes_on(number):
                row, before = self._round(scene, number, before)
                is_well = not row.broken and not row.replaced
                yield row
                number += 1
        finally:
            scene.end()
            if is_well and not os.environ.get("SHAREQ_KEEP_DATA"):
                shutil.rmtree(folder, ignore_errors=True)
            else:
                show(f"{cell.name}: journals and logs are kept in {folder}")

    def _round(self, scene: Scene, number: int, before: Verdict) -> tuple[Row, Verdict]:
        seen, hung, replaced = scene.journals.seen(), scene.hung, scene.replaced
        errors = seen.errors.copy()
        fault = Fault(Random(f"{self._seed} {self._cell.name} {number}"))
        after, pause_s, failed, pauses = before, float("inf"), list[str](), dict[str, float]()
        try:
            until = self._disturb(scene, fault)
            after = _verdict(scene)
            pause_s = longest_pause(seen.confirmed.values(), fault.at, until)
            pauses = {client: longest_pause(times, fault.at, until) for client, times in seen.by_client.items()}
        except Exception as error:
            failed.append(f"{type(error).__name__}: {error}".partition("\n")[0])
        new = after.since(before)
        row = Row(
            cell=self._cell.name,
            cluster=self._cluster,
            seed=self._seed,
            number=number,
            at=datetime.now(UTC).isoformat(timespec="seconds"),
            records=new.records,
            lost=len(new.lost),
            again=len(new.again),
            unlike=len(new.unlike),
            twice=new.twice,
            unknown=new.unknown,
            hung=scene.hung - hung,
            replaced=scene.replaced - replaced,
            pause_s=_rounded(pause_s),
            within_s=self._cell.within_s,
            load=round(os.getloadavg()[0], 1),
            note=fault.note,
            broken=[*failed, *new.broken[:20]],
            pauses_s={client: _rounded(each) for client, each in pauses.items()},
            errors=dict(scene.journals.seen().errors - errors),
        )
        return row, after

    def _disturb(self, scene: Scene, fault: Fault) -> float:
        scene.produce_again()
        time.sleep(fault.rng.uniform(0.5, 1.5))
        self._cell.disturb(scene, fault)
        scene.wait_for(scene.are_together, "one generation of all nodes", TOGETHER_S)
        until = time.monotonic()
        time.sleep(GOES_ON_S)
        scene.stop_producing()
        return until


def _rounded(pause_s: float) -> float | None:
    return None if pause_s == float("inf") else round(pause_s, 2)


def _verdict(scene: Scene) -> Verdict:
    verdict = _when_done(scene)
    if verdict.lost:
        scene.replace_consumers()
        verdict = _when_done(scene)
    return verdict


def _when_done(scene: Scene) -> Verdict:
    """Return the verdict once it shows no loss, or no more records are confirmed."""
    produced, journals, began = scene.produced(), scene.journals, time.monotonic()

    def quiet_s() -> float:
        return time.monotonic() - max(journals.seen().last, began)

    while True:
        scene.wait_for(
            lambda: len(journals.seen().confirmed) >= len(produced) or quiet_s() > LOOKS_S, "the end of records", 180
        )
        seen = journals.seen()  # before the states: these have all that is confirmed by now
        states = read_states(scene.cluster.bootstrap, GROUP, TOPIC)
        verdict = judged(seen, produced, states.is_finished)
        if not verdict.lost or quiet_s() > QUIET_S:
            return verdict
        time.sleep(LOOKS_S)
