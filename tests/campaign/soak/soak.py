"""A broker under mixed load and disturbances for a while, sampled every second and judged at the end.

The load comes in rounds: topics are created, used, drained, judged by their history and deleted, so that neither the
history nor the broker's state grows. Disturbances pause only between rounds.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from devtools.kafka.certificates import Authority
from devtools.ports import free_port
from shareq.broker.process.open_files import file_shares
from shareq.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from shareq.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from tests.campaign.history.checker import check
from tests.campaign.node import Node
from tests.campaign.soak import verdicts
from tests.campaign.soak.clients import WORKERS, Doors, SoakScene, Worker
from tests.campaign.soak.disturbances import Disturbances
from tests.campaign.soak.planted import FAULT, LEVERS, Fault, Levers
from tests.campaign.soak.samples import Sample, Sampler
from tests.campaign.soak.verdicts import Turn, Verdict
from tests.campaign.storage.drain import Drain
from tests.campaign.storage.scene import GROUP_TOPICS, JOB_GROUP, PLAIN, SETTINGS, SIMPLE_GROUP
from tests.campaign.storage.workload import Workload
from tests.support.processes import finished

ROUND_S: Final = (8.0, 45.0)
"""The shortest and the longest round. A short soak has four rounds, because descriptors that stay open are only seen
between rounds.
"""
LONGEST_STOP_S: Final = 40.0
OPEN_FILES: Final = 400
SESSION_MS: Final = 6_000
"""The session timeout of members: a longer stop ends their sessions; locks end before."""
MOST_STOP_S: Final = 20.0
LOOKS_S: Final = 3.0
"""The pause after each round, in which no client asks the broker, to see what stays open and in memory."""
STALLING: Final = ("broker stands still", "slow syncs")


@dataclass(slots=True)
class SoakResult:
    """The observations of a soak. `began_s` is by the clock of samples and turns."""

    seed: int
    minutes: float
    began_s: float = 0.0
    rounds: int = 0
    operations: int = 0
    anomalies: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        return bool(self.verdicts) and all(one.sound for one in self.verdicts)


class Soak:
    """A soak, whose `run` is called once. `fault`: a planted one; `keep`: the folder for data and log of an unsound
    run; `round_s`: the length of a round.
    """

    def __init__(
        self,
        seed: int,
        minutes: float,
        *,
        show: Callable[[str], None] = lambda _line: None,
        fault: Fault | None = None,
        keep: Path | None = None,
        round_s: float | None = None,
    ) -> None:
        self._show = show
        self._keep = keep
        least_s, most_s = ROUND_S
        self._round_s = round_s or max(least_s, min(most_s, minutes * 60 / 4))
        self._folder = Path(tempfile.mkdtemp(prefix="shareq-soak-"))
        self._doors = Doors(Authority(self._folder))
        self._levers = Levers(self._folder / "levers")
        self._metrics_port = free_port()
        environment = {LEVERS: str(self._folder / "levers")} | ({FAULT: fault.name} if fault else {})
        self._node = self._made_node(environment)
        self._topic: bytes | None = None
        self.result = SoakResult(seed, minutes)

    def _made_node(self, environment: Mapping[str, str]) -> Node:
        sessions = {
            f"group.{kind}.{name}.ms": str(value)
            for kind in ("share", "consumer")
            for name, value in (
                ("min.session.timeout", SESSION_MS),
                ("session.timeout", SESSION_MS),
                ("min.heartbeat.interval", 500),
                ("heartbeat.interval", 1_000),
            )
        }
        return Node(
            self._folder / "data",
            {**SETTINGS, **sessions, **self._doors.settings()},
            module="tests.campaign.soak.planted",
            prefix=("sh", "-c", f'ulimit -n {OPEN_FILES}; exec "$@"', "sh"),
            environment=environment,
            options=("--metrics", f"127.0.0.1:{self._metrics_port}"),
            port=self._doors.ports["PLAINTEXT"],
        )

    def run(self) -> SoakResult:
        """Run the soak. Raises StartRefused if the broker does not start; all other faults are in the result."""
        result = self.result
        try:
            self._node.start()
            sampler = Sampler(self._node.pid, self._metrics_port, self._levers)
            disturbances = Disturbances(
                result.seed,
                self._node.pid,
                self._doors,
                self._levers,
                OPEN_FILES,
                max(2.0, min(LONGEST_STOP_S, 4 * result.minutes)),
                lambda: self._topic,
            )
            result.began_s = time.monotonic()
            sampler.start()
            try:
                self._rounds(disturbances)
            finally:
                disturbances.stop()
                sampler.stop()
            result.samples, result.turns = sampler.samples, disturbances.turns
            result.failures += [f"disturbances: {disturbances.failure}"] if disturbances.failure else []
            self._judge()
        finally:
            self._node.kill()
            if self._keep is not None and not result.sound:
                shutil.copytree(self._folder, self._keep, dirs_exist_ok=True)
            shutil.rmtree(self._folder, ignore_errors=True)
        return result

    def _rounds(self, disturbances: Disturbances) -> None:
        disturbances.hold()
        disturbances.start()
        until = self.result.began_s + self.result.minutes * 60
        while not self.result.rounds or time.monotonic() < until - self._round_s / 3:
            try:
                self._round(disturbances, min(self._round_s, until - time.monotonic()))
            except Exception:  # what a client of this thread met: no cause to lose what was seen
                self.result.failures.append(traceback.format_exc())
            if disturbances.failure or self.result.failures:
                break

    def _round(self, disturbances: Disturbances, seconds: float) -> None:
        result = self.result
        scene = SoakScene(
            lambda: self._node.address,
            result.seed * 1_000 + result.rounds,
            doors=self._doors,
            going=disturbances.clients_go,
        )
        workload = Workload(scene, [Worker(scene, "worker-a"), Worker(scene, "worker-b")])
        workload.start()
        self._topic = scene.ids.get(PLAIN.name)
        disturbances.go()
        scene.stop.wait(seconds)
        disturbances.hold()
        workload.stop()
        Drain(scene, settled=False).all()
        self._clear(scene)
        history = scene.history()
        found = [str(one) for one in check(history)]
        result.rounds += 1
        result.operations += len(history.operations)
        result.anomalies += found
        result.failures += scene.failures
        time.sleep(LOOKS_S)
        self._show(f"round {result.rounds}: {len(history.operations):,} operations, {len(found)} anomalies")

    def _clear(self, scene: SoakScene) -> None:
        self._topic = None
        link = scene.link("clear")
        topics = [DeleteTopicState(None, topic_id) for topic_id in scene.ids.values()]
        link.call(DeleteTopicsRequest(topics, timeout_ms=10_000), 6, DeleteTopicsResponse)
        groups = [*GROUP_TOPICS, SIMPLE_GROUP, JOB_GROUP, WORKERS]
        link.call(DeleteGroupsRequest(groups), 2, DeleteGroupsResponse)
        link.drop()

    def _judge(self) -> None:
        result, process = self.result, self._node.process
        assert process is not None
        asked = time.monotonic()
        self._node.stop()
        took_s = time.monotonic() - asked
        checked = finished([sys.executable, "-m", "shareq", "verify", str(self._node.data_dir)], env=dict(os.environ))
        result.verdicts = [
            verdicts.memory(result.samples),
            verdicts.descriptors(result.samples, file_shares(OPEN_FILES).logs),
            verdicts.stalls(result.samples, [one for one in result.turns if one.name in STALLING]),
            verdicts.log(self._node.log_path.read_text(errors="replace")),
            verdicts.history(result.operations, result.anomalies, result.failures),
            verdicts.stop(process.returncode, took_s, MOST_STOP_S),
            verdicts.verify(checked.returncode, checked.stdout + checked.stderr),
        ]
