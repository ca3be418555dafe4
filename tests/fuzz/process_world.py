"""A broker process with sockets under the same frames, and a neighbour on a connection of its own that is served.

Runs cannot be replayed: the broker chooses ids at random, and time is real. Besides the answers, the judgement uses the
process's log, its memory, the CPU time of its loop's thread for each frame, and its own count of stalls, with a soak's
excuses: no processor, and the disk.
"""

from __future__ import annotations

import contextlib
import re
import tempfile
import time
from collections import Counter, deque
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from devtools.clients.wire import ConnectionClosed, WireClient
from devtools.ports import free_port
from tests.campaign.node import Node
from tests.campaign.soak import verdicts
from tests.campaign.soak.planted import FAULT as PLANTED
from tests.campaign.soak.planted import LEVERS, Fault, Levers
from tests.campaign.soak.samples import Sample, Sampler
from tests.fuzz.frames import Frames, Sent
from tests.fuzz.neighbour import Neighbour
from tests.fuzz.oracle import Defect, Outcome, gets_no_answer, judged, request_in

STALL_NS: Final = 100_000_000
MOST_GROWTH_KB: Final = 150_000  # of the process, over a run of any length
PATIENCE_S: Final = 0.3  # for an answer; what takes longer waits on purpose
NEIGHBOUR_EVERY: Final = 20
LOOK_S: Final = 0.2  # an excuse counts between three looks: the closer they are, the less it covers
STANDARD: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
FAULT: Final = re.compile(r"Traceback|\bERROR\b|\bCRITICAL\b")


class ProcessWorld:
    """The world of a process. Call `run` once; it raises Defect.

    `counts` has the outcomes of frames, `stalls` a text about stalls. `fault`: one of a soak's, planted in the broker.
    """

    def __init__(self, seed: int, frames: int, fault: Fault | None = None) -> None:
        self.frames = Frames(f"process {seed}")
        self.counts: Counter[tuple[str, bool, Outcome]] = Counter()
        self.sent: deque[Sent] = deque(maxlen=4)
        self.longest_ns = 0
        self.longest_step_s = 0.0
        self.rss_kb = 0
        self.grown_kb = 0
        self.stalls = ""
        self._fault = fault
        self._count = frames
        self._number = 0
        self._authorized = bool(seed % 2)

    def run(self) -> None:
        config = {"group.initial.rebalance.delay.ms": "0"}
        if self._authorized:
            config |= {"authorizer.class.name": STANDARD, "super.users": "User:ANONYMOUS"}
        with tempfile.TemporaryDirectory(prefix="shareq-fuzz-", ignore_cleanup_errors=True) as folder:
            metrics_port, levers = free_port(), Path(folder, "levers")
            node = Node(
                Path(folder, "data"),
                config,
                module="tests.campaign.soak.planted",
                environment={LEVERS: str(levers)} | ({PLANTED: self._fault.name} if self._fault else {}),
                options=("--metrics", f"127.0.0.1:{metrics_port}"),
            )
            try:
                node.start()
                self._run(node, Sampler(node.pid, metrics_port, Levers(levers), LOOK_S))
            finally:
                node.kill()

    def _run(self, node: Node, sampler: Sampler) -> None:
        neighbour = Neighbour(WireClient(node.address, client_id="neighbour"))
        neighbour.step()  # what a broker does once, for its first clients, is no frame's fault
        sampler.start()
        try:
            self._send_all(node, neighbour)
        finally:
            sampler.stop()
        self._judge_stalls(sampler.samples)
        neighbour.step()
        node.stop()
        node.start()
        neighbour.reconnect(WireClient(node.address, client_id="neighbour"))
        neighbour.step()
        log = node.log_path.read_text(errors="replace")
        if fault := FAULT.search(log):
            raise Defect(f"logged: {log[max(0, fault.start() - 500) : fault.start() + 3_000]}")

    def _send_all(self, node: Node, neighbour: Neighbour) -> None:
        thread = Path(f"/proc/{node.pid}/task/{node.pid}/schedstat")
        client, began_kb = self._connect(node), 0
        for index in range(self._count):
            client = self._send(node, client, thread)
            if index % NEIGHBOUR_EVERY == 0:
                began = time.monotonic()
                neighbour.step()
                self.longest_step_s = max(self.longest_step_s, time.monotonic() - began)
            if index == min(1_000, self._count // 2):
                began_kb = _rss_kb(node.pid)
        self.rss_kb = _rss_kb(node.pid)
        self.grown_kb = self.rss_kb - began_kb
        if self.grown_kb > MOST_GROWTH_KB:
            raise Defect(f"the process grew by {self.grown_kb} kB")
        client.close()

    def _judge_stalls(self, samples: Sequence[Sample]) -> None:
        """Judge the stalls.

        Stalls that cannot be judged, because the machine was too busy, are reported and are no defect.
        """
        verdict = verdicts.stalls(samples, [])
        self.stalls = verdict.found if verdict.judged else f"not judged: {verdict.found}"
        if verdict.judged and not verdict.sound:
            raise Defect(f"the loop was held: {verdict.found}")

    def _connect(self, node: Node) -> WireClient:
        self._number += 1
        return WireClient(node.address, client_id=None, timeout_s=PATIENCE_S)

    def _send(self, node: Node, client: WireClient, thread: Path) -> WireClient:
        frame = self.frames.next(self._number, gentle=bool(self._number % 2))
        self.sent.append(frame)
        before = _cpu_ns(thread)
        outcome = Outcome.ODD_SIZE
        try:
            client.send_raw(frame.data)
            if not frame.has_odd_size:
                outcome = self._answer(client, frame)
        except (ConnectionClosed, ConnectionError):
            outcome = Outcome.CLOSED
        except TimeoutError:
            outcome = Outcome.BEHIND  # it waits on purpose
        took = _cpu_ns(thread) - before
        self.longest_ns = max(self.longest_ns, took)
        if took > 2 * STALL_NS and outcome is not Outcome.BEHIND:  # cleaner and timers have their part in it
            raise Defect(f"{took / 1e6:.0f} ms of CPU for {frame}: {frame.data[:4000].hex()}")
        self.counts[frame.api.name, bool(frame.bends), outcome] += 1
        if outcome in (Outcome.CLOSED, Outcome.BEHIND, Outcome.ODD_SIZE):
            with contextlib.suppress(OSError):
                client.close()
            self.frames.facts.connection_lost(self._number)
            return self._connect(node)
        return client

    def _answer(self, client: WireClient, frame: Sent) -> Outcome:
        if gets_no_answer(frame.data):
            return Outcome.SILENT
        outcome, response = judged(frame.data, client.receive_frame(), lambda _group, _topic, _partition: True)
        request = request_in(frame.data)
        if request is not None:
            self.frames.facts.learn(request, response)
        return outcome


def _cpu_ns(thread: Path) -> int:
    return int(thread.read_text().split()[0])


def _rss_kb(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+)", status)
    return int(found[1]) if found else 0
