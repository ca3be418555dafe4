"""Crash images of real runs: disks as kills and losses of power leave them, and a broker started on each."""

from __future__ import annotations

import pickle
import random
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from pathlib import Path
from typing import Final

from tests.campaign.history.anomalies import Anomaly
from tests.campaign.history.checker import Promise, check
from tests.campaign.history.operations import History, Killed, Operation, Outcome
from tests.campaign.history.recorder import Recorder
from tests.campaign.node import Node, StartRefused
from tests.campaign.storage.disk import Disk, Image, Names, actual_files
from tests.campaign.storage.drain import Drain
from tests.campaign.storage.links import Cut, Stopped
from tests.campaign.storage.looking import Looker
from tests.campaign.storage.repair import repair
from tests.campaign.storage.scene import PLANS, SETTINGS, Scene
from tests.campaign.storage.trace import Begun, Call, command, parse
from tests.campaign.storage.workload import Workload

EACH_WRITE_SYNCED: Final = {"log.flush.interval.messages": "1"}
UNSURE_NS: Final = 2_000
"""The uncertainty of the end of a call: strace prints how long it took in microseconds."""
_VALUE: Final = re.compile(rb"((?:plain|idempotent)\.\d+)\|")


class Kind(Enum):
    """The kinds of image: how the machine stops, the sync setting, and the file system."""

    KILL = "kill -9"
    POWER = "power loss, each write synced, names in order as ext4 has them"
    POWER_POSIX = "power loss, each write synced, names by POSIX alone"
    KILL_UNSYNCED = "kill -9, default settings"
    POWER_UNSYNCED = "power loss, default settings"

    @property
    def synced(self) -> bool:
        return self not in (Kind.KILL_UNSYNCED, Kind.POWER_UNSYNCED)

    @property
    def is_kill(self) -> bool:
        return self in (Kind.KILL, Kind.KILL_UNSYNCED)

    @property
    def names(self) -> Names:
        return Names.POSIX if self is Kind.POWER_POSIX else Names.JOURNAL


SHARES: Final[Mapping[Kind, float]] = {
    Kind.KILL: 0.2,
    Kind.POWER: 0.3,
    Kind.POWER_POSIX: 0.2,
    Kind.KILL_UNSYNCED: 0.1,
    Kind.POWER_UNSYNCED: 0.2,
}


@dataclass(slots=True)
class ImageResult:
    """The outcome of one image. `start_s` is None if the broker did not start."""

    kind: Kind
    number: int
    seed: int
    start_s: float | None = None
    refused: str = ""
    repaired: bool = False
    anomalies: list[Anomaly] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        return not self.anomalies and (not self.refused or self.repaired)


@dataclass(frozen=True, slots=True)
class Step:
    """A call from one of the broker's lives.

    `changes`: it alters the content of the disk or of stable storage.
    """

    life: int
    call: Call | Begun
    changes: bool

    @property
    def ended(self) -> int:
        return self.call.ended if isinstance(self.call, Call) else self.call.began


@dataclass(slots=True)
class Run:
    """One traced run: a workload over several lives of a broker, all of them but the last ended by kill -9."""

    folder: Path
    endings: list[dict[str, bytes]]
    """The content of the data folder after each life."""
    history: History
    failures: list[str]

    @property
    def data_dir(self) -> Path:
        return self.folder / "data"

    @property
    def traces(self) -> list[Path]:
        return sorted(self.folder.glob("trace-*"))

    def steps(self) -> list[Step]:
        disk, steps = Disk(self.data_dir, Names.JOURNAL), list[Step]()
        for life, trace in enumerate(self.traces):
            with trace.open(encoding="ascii", errors="replace") as lines:
                for call in parse(lines):
                    changes = disk.changes
                    if disk.apply(call):
                        steps.append(Step(life, call, disk.changes != changes))
            disk.adopt(self.endings[life])
            disk.new_process()
        return steps


def record(folder: Path, seed: int, lives: int, seconds: float, settings: Mapping[str, str]) -> Run:
    """Run a broker under strace with the whole workload, for several lives of `seconds` each."""
    rng = random.Random(f"run {seed}")
    node = Node(folder / "data", {**SETTINGS, **settings})
    scene = Scene(lambda: node.address, seed)
    workload = Workload(scene)
    run = Run(folder, [], History(()), [])
    try:
        for life in range(lives):
            node.prefix = command(folder / f"trace-{life}")
            node.start()
            if life == 0:
                workload.start()
            time.sleep(seconds * rng.uniform(0.6, 1.4))
            if life == lives - 1:
                workload.stop()
                node.stop()
            else:
                invoked = scene.recorder.now()
                node.kill()
                scene.recorder.ok("nemesis", invoked, Killed())
            run.endings.append(actual_files(run.data_dir))
    finally:
        scene.stop.set()
        node.kill()
    run.history, run.failures = scene.history(), scene.failures
    return run


class Images:
    def __init__(self, run: Run, seed: int, keep: Path | None = None) -> None:
        self._run = run
        self._steps = run.steps()
        self._seed = seed
        self._keep = keep
        self._settings = dict(SETTINGS)
        self.unlike: list[str] = []
        """Files that the trace and the folder did not agree on at the end of a life."""

    def check(self, kind: Kind, count: int) -> Iterator[ImageResult]:
        if kind.synced:
            self._settings.update(EACH_WRITE_SYNCED)
        rng = random.Random(f"images {self._seed} {kind.name}")
        changing = [number for number, step in enumerate(self._steps) if step.changes]
        moments = set(rng.sample(changing, min(count, len(changing))))
        disk = Disk(self._run.data_dir, kind.names)
        for number, (step, following) in enumerate(pairwise([*self._steps, None])):
            assert step is not None
            disk.apply(step.call)
            same_life = following is not None and following.life == step.life
            if number in moments:
                until = (
                    step.ended if following is None or not same_life else max(step.ended, following.ended - UNSURE_NS)
                )
                torn = following.call if following is not None and same_life and rng.random() < 0.5 else None
                with disk.torn(torn, rng):
                    image = disk.as_it_is() if kind.is_kill else disk.after_power_loss(rng)
                    promise = None if kind is not Kind.POWER_UNSYNCED else _synced(disk)
                yield self._judge(kind, number, image, until, promise)
            if not same_life:
                self.unlike += disk.adopt(self._run.endings[step.life])
                disk.new_process()

    def _judge(self, kind: Kind, number: int, image: Image, moment: int, promise: Promise | None) -> ImageResult:
        result = ImageResult(kind, number, self._seed)
        folder = Path(tempfile.mkdtemp(prefix="shareq-image-"))
        # A power loss starts the machine again, and the broker goes by that.
        module = "shareq" if kind.is_kill else "tests.campaign.storage.rebooted"
        node = Node(folder / "data", self._settings, module=module)
        try:
            image.write(node.data_dir)
            if self._start(node, result):
                self._look(node, result, moment, promise)
        finally:
            node.kill()
            if self._keep is not None and not result.sound:
                kept = self._keep / f"{kind.name}-{self._seed}-{number}"
                shutil.rmtree(kept, ignore_errors=True)
                shutil.copytree(folder, kept)
                image.write(kept / "image")
                (kept / "history.pickle").write_bytes(pickle.dumps(self._run.history.until(moment)))
                (kept / "found.pickle").write_bytes(pickle.dumps(result))
            shutil.rmtree(folder, ignore_errors=True)
        return result

    def _start(self, node: Node, result: ImageResult) -> bool:
        try:
            result.start_s = node.start()
        except StartRefused as refused:
            result.refused = str(refused)
            result.repaired = repair(node.data_dir)
            try:
                node.start()
            except StartRefused as again:
                result.refused += f"\nafter the repair: {again}"
                result.repaired = False
                return False
        return True

    def _look(self, node: Node, result: ImageResult, moment: int, promise: Promise | None) -> None:
        recorder = Recorder()
        scene = Scene(lambda: node.address, self._seed, recorder)
        link = scene.link("look")
        try:
            found = Looker(scene, link, "look").topic_ids()
            scene.ids = {plan.name: found[plan.name] for plan in PLANS if plan.name in found}
            Drain(scene, settled=True, damaged=promise is not None).all()
        except (Cut, Stopped, KeyError) as error:
            result.refused = f"the broker went away while it was drained: {error!r}\n{node.log_tail()}"
        finally:
            link.drop()
        killed = Operation("nemesis", moment + 1, moment + 1, Outcome.OK, Killed())
        history = self._run.history.until(moment).then([killed, *recorder.operations()])
        result.anomalies = check(history, promise)


def _synced(disk: Disk) -> Promise:
    """Return the promise at default settings: the metadata, and the values that a sync brought to disk."""
    values = {value.decode() for content in disk.synced_logs() for value in _VALUE.findall(content)}
    return Promise(values, ("topic ", "config "))


def share_of(kinds: Sequence[Kind], count: int) -> dict[Kind, int]:
    whole = sum(SHARES[kind] for kind in kinds)
    return {kind: max(1, round(count * SHARES[kind] / whole)) for kind in kinds}
