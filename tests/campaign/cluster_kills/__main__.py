"""`make cluster-kills`: nodes before a cluster, killed, ended, stopped and continued under consumers at work. Exit code
1 when a record was lost, came again after its confirmation, or is open by the state topic though it was confirmed; or
when the next confirmation came too late.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from devtools.documents import add_write_option, show_and_write
from devtools.provenance import machine
from tests.campaign.cluster_kills.judge import Verdict, judged, read_journals
from tests.campaign.cluster_kills.scene import Scene, stop
from tests.campaign.cluster_kills.states import read_states
from tests.campaign.command import show

BEGIN, END = "<!-- cluster kills: begin -->", "<!-- cluster kills: end -->"
SILENT_S: Final = 30.0
STOPPED_S: Final = 14.0
RATE: Final = 1000


class Cell(NamedTuple):
    """One way to disturb, which returns when all processes run again. The next confirmation comes `within_s`."""

    name: str
    disturb: Callable[[Scene, Callable[[], None]], None]
    within_s: float


def _ends(number: int, *, owner: bool) -> Callable[[Scene, Callable[[], None]], None]:
    """Return what ends the owner, or the other node, by a signal, and starts it again."""

    def disturb(scene: Scene, now: Callable[[], None]) -> None:
        leads = scene.owner
        node = next(each for each in scene.nodes if (each is leads) is owner)
        assert node.process is not None
        now()
        node.process.send_signal(number)
        node.process.wait(30)
        _settle(scene)
        node.start(60)

    return disturb


def _owner_stops(scene: Scene, now: Callable[[], None]) -> None:
    """It is a zombie when it goes on."""
    node = scene.owner
    assert node is not None
    now()
    stop(node.process)
    time.sleep(STOPPED_S)
    assert node.process is not None
    node.process.send_signal(signal.SIGCONT)
    _settle(scene)


def _cluster_is_silent(scene: Scene, now: Callable[[], None]) -> None:
    process = scene.cluster.process
    assert process is not None
    stop(process)
    time.sleep(SILENT_S)
    process.send_signal(signal.SIGCONT)
    now()
    _settle(scene)


def _cluster_is_killed(scene: Scene, now: Callable[[], None]) -> None:
    scene.cluster.kill()
    scene.cluster.start()
    now()
    _settle(scene)


def _settle(scene: Scene) -> None:
    """Wait until records are confirmed again."""
    before = scene.confirmed
    scene.wait_for(lambda: scene.confirmed > before, "a confirmation", 90)


CELLS: Final = {
    cell.name: cell
    for cell in (
        Cell("owner, SIGKILL", _ends(signal.SIGKILL, owner=True), 3.0),
        Cell("owner, SIGTERM", _ends(signal.SIGTERM, owner=True), 1.5),
        Cell("owner, SIGSTOP", _owner_stops, 9.0),
        Cell("waiting node, SIGKILL", _ends(signal.SIGKILL, owner=False), 3.0),
        Cell("waiting node, SIGTERM", _ends(signal.SIGTERM, owner=False), 1.5),
        Cell("cluster silent for 30 s, from its return", _cluster_is_silent, 5.0),
        Cell("cluster killed, from its start", _cluster_is_killed, 30.0),
    )
}


@dataclass
class Result:
    """A cell's rounds."""

    cell: Cell
    verdict: Verdict
    hung: int
    errors: Counter[str] = field(default_factory=Counter)

    @property
    def broken(self) -> list[str]:
        """Return what must not be."""
        late = [each for each in self.verdict.gaps_s if each > self.cell.within_s]
        words = [f"the next confirmation came after {each:.1f} s" for each in late]
        return [f"{self.cell.name}: {each}" for each in [*self.verdict.broken, *words]]


def run(cell: Cell, rounds: int, kind: str, seed: int) -> Result:
    """Disturb so many times, then judge all of it."""
    folder = Path(tempfile.mkdtemp(prefix="shareq-cluster-kills-"))
    scene, faults, rng = Scene(folder, kind, "campaign", RATE), list[float](), random.Random(seed)
    kept = False
    try:
        scene.start()
        for _ in range(rounds):
            time.sleep(rng.uniform(2, 4))
            cell.disturb(scene, lambda: faults.append(time.monotonic()))
        scene.stop_producing()
        produced = scene.produced()
        scene.wait_for(lambda: _all_done(scene, len(produced)), "the end of all records", 120)
        address = f"127.0.0.1:{scene.cluster.port}"
        states, seen = read_states(address, scene.group, "work"), read_journals(scene.journals())
        verdict = judged(seen, produced, faults, states.is_finished)
        result = Result(cell, verdict, scene.hung, seen.errors)
        kept = bool(result.broken)
        return result
    except BaseException:
        kept = True
        raise
    finally:
        scene.end()
        if kept:
            show(f"journals and logs are kept in {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _all_done(scene: Scene, produced: int) -> bool:
    """Return whether all are confirmed, or nothing more is."""
    seen = read_journals(scene.journals())
    if len(seen.confirmed) >= produced:
        return True
    last = max(seen.confirmed.values(), default=0.0)
    return time.monotonic() - last > QUIET_S


QUIET_S: Final = 45.0
"""Longer than a lock and a client that hangs: what is confirmed then is all there will be."""


def markdown(results: Sequence[Result], rounds: int, kind: str) -> list[str]:
    """Return the table as it stands in the document."""
    name = "shareq itself" if kind == "ours" else f"Apache Kafka {kind}"
    lines = [
        f"{rounds} rounds a cell before {name}, {machine()}. Seconds until the next confirmation, beside what is "
        "allowed.",
        "",
        "| | records | lost | again after a confirmation | unlike the state | delivered twice | answer unknown "
        "| median s | longest s | allowed s | clients that hung |",
        "| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |",
    ]
    for result in results:
        it = result.verdict
        lines.append(
            f"| {result.cell.name} | {it.records:,} | {len(it.lost)} | {len(it.again)} | {len(it.unlike)} | {it.twice} "
            f"| {it.unknown} | {median(it.gaps_s):.1f} | {max(it.gaps_s):.1f} | {result.cell.within_s:g} | "
            f"{result.hung} |"
        )
    return lines


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign.cluster_kills", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="of each cell (default 20)")
    parser.add_argument("--cell", action="append", choices=CELLS, help="only this one; may be given again")
    parser.add_argument("--cluster", default="ours", help="Apache Kafka of this version, or ours (default)")
    parser.add_argument("--seed", type=int, default=1, help="of the moments (default 1)")
    add_write_option(parser, BEGIN, END)
    options = parser.parse_args(arguments)
    results: list[Result] = []
    for name in options.cell or CELLS:
        result = run(CELLS[name], options.rounds, options.cluster, options.seed)
        results.append(result)
        show(markdown([result], options.rounds, options.cluster)[-1])
        for line in result.broken[:20]:
            show(f"BROKEN {line}")
        for error, times in result.errors.most_common(8):
            show(f"  clients got {error}: {times}")
    show_and_write(markdown(results, options.rounds, options.cluster), options.write, BEGIN, END)
    return 1 if any(result.broken for result in results) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
