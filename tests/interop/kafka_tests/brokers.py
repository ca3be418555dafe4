"""The broker process that a test's cluster is."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from devtools.kafka.apache_kafka import ApacheKafka
from devtools.ports import free_port
from tests.interop.support.broker_under_test import APACHE_JVM, Kind
from tests.interop.support.node_under_test import NodeProcess
from tests.interop.support.our_process import OurProcess

_NODE_ID = "0"  # as the tests have it
# A broker that stopped may register again after a shorter time than nine seconds; everything else is the broker's own.
_APACHE = {"broker.heartbeat.interval.ms": "500", "broker.session.timeout.ms": "2000"}


class OneBroker:
    """A broker of node id 0, at a port and over a data folder of its own.

    `settings` are those of the test, and win; `features` are levels by name.
    """

    def __init__(self, kind: Kind, settings: Mapping[str, str], features: Mapping[str, int]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=f"shareq-kafka-tests-{kind}-"))
        levels = [word for name, level in features.items() for word in ("--feature", f"{name}={level}")]
        self._process: OurProcess | ApacheKafka | NodeProcess
        match kind:
            case "ours":
                self._process = OurProcess(self.folder, {"node.id": _NODE_ID, **settings}, options=levels)
            case "apache":
                self._process = _apache(self.folder, settings, levels)
            case "node":  # its features are its release's, or the cluster's
                own = {"node.id": _NODE_ID, **settings}
                self._process = NodeProcess(self.folder, own, free_port(), APACHE_JVM)
        self.start()

    @property
    def port(self) -> int:
        return self._process.port

    def start(self) -> None:
        """Again after `stop`, too; waits for the first answer. RuntimeError when there is none."""
        try:
            self._process.start()
        except RuntimeError:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def stop(self) -> None:
        """SIGTERM, and wait until the process has ended."""
        self._process.stop()

    def remove(self) -> None:
        """Kill it, and delete its folder."""
        self._process.kill()
        if isinstance(self._process, NodeProcess):
            self._process.stop_cluster()
        shutil.rmtree(self.folder, ignore_errors=True)


def _apache(folder: Path, settings: Mapping[str, str], levels: list[str]) -> ApacheKafka:
    port, controller = free_port(), free_port()
    address = f"PLAINTEXT://127.0.0.1:{port}"
    own = {
        "node.id": _NODE_ID,
        "listeners": f"{address},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": address,
        "controller.quorum.voters": f"{_NODE_ID}@127.0.0.1:{controller}",
    }
    return ApacheKafka(folder, {**_APACHE, **own, **settings}, APACHE_JVM, port, levels)
