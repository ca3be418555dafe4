"""Kills of a broker under the mixed load, at random and at aimed moments; then a drain and a judgement."""

from __future__ import annotations

import pickle
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Final

from tests.campaign.history.anomalies import Anomaly
from tests.campaign.history.checker import check
from tests.campaign.history.operations import Killed
from tests.campaign.node import Node, StartRefused
from tests.campaign.storage.drain import Drain
from tests.campaign.storage.repair import repair
from tests.campaign.storage.scene import LOCK_MS, SETTINGS, Scene
from tests.campaign.storage.workload import Workload

AIM_FOR_S: Final = 1.5
START_S: Final = 0.5
LAST_LIFE_S: Final = (0.75 * LOCK_MS / 1000, 1.25 * LOCK_MS / 1000)
"""The least and the most seconds of the broker's last life: shorter or longer than a lock. Kills end all other lives
earlier.
"""


class Aim(Enum):
    ANY = "any moment"
    START = "while it starts"
    CLEANING = "while a compacted log's segments are swapped"
    DELETING = "while files wait for their removal"
    ROLLING = "just after a segment was rolled"


@dataclass(slots=True)
class RoundResult:
    """The kills of one data folder. `met`: how many came at the moment they aimed at; the others came at random."""

    seed: int
    kills: int = 0
    met: dict[Aim, int] = field(default_factory=dict)
    operations: int = 0
    records: int = 0
    deliveries: int = 0
    starts_s: list[float] = field(default_factory=list)
    refused: int = 0
    unrepaired: int = 0
    anomalies: list[Anomaly] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    took_s: float = 0.0

    @property
    def sound(self) -> bool:
        return not self.anomalies and not self.failures and not self.unrepaired


class Round:
    """One workload on one data folder, during `kills` kills."""

    def __init__(
        self,
        seed: int,
        kills: int,
        *,
        show: Callable[[str], None] = lambda _line: None,
        settings: Mapping[str, str] | None = None,
        module: str = "shareq",
        environment: Mapping[str, str] | None = None,
        keep: Path | None = None,
    ) -> None:
        self._rng = random.Random(f"kills {seed}")
        self._kills = kills
        self._show = show
        self._keep = keep
        self._folder = Path(tempfile.mkdtemp(prefix="shareq-kills-"))
        self.node = Node(
            self._folder / "data", {**SETTINGS, **(settings or {})}, module=module, environment=environment or {}
        )
        self.scene = Scene(lambda: self.node.address, seed)
        self.result = RoundResult(seed)

    def run(self) -> RoundResult:
        """Play the round. An error of the broker is part of the result, never raised."""
        began = time.monotonic()
        try:
            self._work()
            history = self.scene.history()
            self.result.operations = len(history.operations)
            self.result.anomalies = check(history)
        except StartRefused as refused:
            self.result.unrepaired += 1
            self.result.failures.append(str(refused))
        finally:
            self.scene.stop.set()
            self.node.kill()
            self.result.failures += self.scene.failures
            self.result.took_s = time.monotonic() - began
            if self._keep is not None and not self.result.sound:
                target = self._keep / f"seed-{self.result.seed}"
                shutil.copytree(self._folder, target, dirs_exist_ok=True)
                (target / "history.pickle").write_bytes(pickle.dumps(self.scene.history()))
            shutil.rmtree(self._folder, ignore_errors=True)
        return self.result

    def _work(self) -> None:
        self.result.starts_s.append(self.node.start())
        workload = Workload(self.scene)
        workload.start()
        aims = list(Aim)
        for number in range(self._kills):
            self._kill_at(aims[number % len(aims)])
            if self.scene.stop.is_set():
                return
            self._start()
        time.sleep(self._rng.uniform(*LAST_LIFE_S))
        workload.stop()
        Drain(self.scene, settled=False).all()

    def _kill_at(self, aim: Aim) -> None:
        time.sleep(self._rng.uniform(0.05, 0.6))
        if aim is Aim.START:
            self._killed(aim)
            self.node.spawn()
            time.sleep(self._rng.uniform(0, START_S))
            self._killed(aim)
            return
        deadline = time.monotonic() + AIM_FOR_S
        seen = _Files(self.node.data_dir)
        while aim is not Aim.ANY and not seen.shows(aim):
            if time.monotonic() > deadline or self.scene.stop.is_set():
                aim = Aim.ANY
            time.sleep(0.001)
        time.sleep(self._rng.choice((0, 0, self._rng.uniform(0, 0.02))))
        self._killed(aim)

    def _killed(self, aim: Aim) -> None:
        invoked = self.scene.recorder.now()
        self.node.kill()
        self.scene.recorder.ok("nemesis", invoked, Killed())
        self.result.kills += 1
        self.result.met[aim] = self.result.met.get(aim, 0) + 1

    def _start(self) -> None:
        try:
            self.result.starts_s.append(self.node.start())
        except StartRefused as refused:
            self.result.refused += 1
            self._show(f"  refused to start: {refused}")
            if not repair(self.node.data_dir):
                raise
            self.result.starts_s.append(self.node.start())


class _Files:
    """The files in a data folder that show work in progress, compared from one look to the next."""

    _SUFFIXES: Final[Mapping[Aim, Sequence[str]]] = {
        Aim.CLEANING: (".cleaned", ".swap"),
        Aim.DELETING: (".deleted", "-delete"),
        Aim.ROLLING: (),
    }

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: set[str] | None = None

    def shows(self, aim: Aim) -> bool:
        names = set(self._names())
        known, self._known = self._known, names
        if aim is Aim.ROLLING:
            return known is not None and any(name.endswith(".log") for name in names - known)
        return any(name.endswith(tuple(self._SUFFIXES[aim])) for name in names)

    def _names(self) -> list[str]:
        found = []
        for folder in self._folder.iterdir():
            found.append(folder.name)
            if folder.is_dir():
                try:
                    found += [f"{folder.name}/{path.name}" for path in folder.iterdir()]
                except OSError:
                    continue  # it has just been removed
        return found
