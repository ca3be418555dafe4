"""The broker that the interop tests use: shareq, Apache Kafka as the reference, or a node in front of a cluster."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import pytest

from devtools.clients.wire import WireClient
from devtools.kafka.apache_kafka import ApacheKafka, FormattedFolders, small_jvm, why_unavailable
from devtools.ports import free_port
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.interop.support import protocol
from tests.interop.support.node_under_test import NodeProcess, why_no_node
from tests.interop.support.our_process import OurProcess

Kind = Literal["ours", "apache", "node"]

# Small and quick, for tests only: no thread pools for hundreds of clients, few internal partitions, short heartbeats.
APACHE_JVM = small_jvm(128, 384)
_FORMATTED = FormattedFolders()
APACHE_SETTINGS = {
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.num.partitions": "4",
    "group.share.min.heartbeat.interval.ms": "500",
    "group.share.heartbeat.interval.ms": "500",
    "broker.heartbeat.interval.ms": "500",
    "broker.session.timeout.ms": "2000",  # how long a killed broker's registration stands in the way of the next
}


class BrokerUnderTest:
    """One broker process on 127.0.0.1 with its own data folder, which can be killed and restarted.

    `port`: None takes a free one. `scram_users`: the initial users, as `--add-scram` takes them. `metrics_port`: where
    ours serves metrics; Apache Kafka has none.
    """

    def __init__(
        self,
        kind: Kind,
        settings: Mapping[str, str] | None = None,
        *,
        port: int | None = None,
        scram_users: Sequence[str] = (),
        metrics_port: int | None = None,
    ) -> None:
        self.kind: Kind = kind
        self.folder = Path(tempfile.mkdtemp(prefix=f"shareq-interop-{kind}-"))
        self._served: set[int] = set()
        self._is_to_run = False
        given = dict(settings or {})
        port = free_port() if port is None else port
        tls = None
        if (listener := protocol.listener_for("apache" if kind == "apache" else "ours", port, given)) is not None:
            given = {**listener.settings, **given}
            scram_users, tls = [*scram_users, *listener.scram_users], listener.tls
        added = [word for user in scram_users for word in ("--add-scram", user)]
        ours = [*added, "--metrics", f"127.0.0.1:{metrics_port}"] if metrics_port is not None else added
        self._process: OurProcess | ApacheKafka | NodeProcess
        match kind:
            case "ours":
                self._process = OurProcess(self.folder, given, port, ours, tls)
            case "apache":
                every = {**APACHE_SETTINGS, **given}
                self._process = ApacheKafka(self.folder, every, APACHE_JVM, port, added, tls=tls, formatted=_FORMATTED)
            case "node":
                self._process = NodeProcess(self.folder, {**APACHE_SETTINGS, **given}, port, APACHE_JVM, options=ours)

    @property
    def port(self) -> int:
        return self._process.port

    @property
    def bootstrap(self) -> str:
        """Return HOST:PORT for a client's bootstrap.servers."""
        return f"127.0.0.1:{self.port}"

    @property
    def data_dir(self) -> Path:
        return self.folder / "data"

    @property
    def last_exit_code(self) -> int | None:
        """The exit code of the last process, None while it runs; negative: the signal that killed it."""
        process = self._process.process
        return None if process is None else process.poll()

    @property
    def has_died(self) -> bool:
        """True if the process has ended without `stop` or `kill`."""
        return self._is_to_run and self.last_exit_code is not None

    def start(self) -> float:
        took_s = self._process.start()
        self._is_to_run = True
        return took_s

    def stop(self) -> None:
        self._is_to_run = False
        self._process.stop()

    def kill(self) -> None:
        """Send SIGKILL: nothing is flushed, no client is notified."""
        self._is_to_run = False
        self._process.kill()

    def pause(self) -> None:
        """Send SIGSTOP: the process halts until `resume` or `kill`. RuntimeError if it has ended."""
        process = self._process.process
        assert process is not None
        process.send_signal(signal.SIGSTOP)
        stopped = os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        if stopped is None or stopped.si_code != os.CLD_STOPPED:
            raise RuntimeError(f"the broker has ended by itself:\n{self.log_tail()}")

    def resume(self) -> None:
        process = self._process.process
        assert process is not None
        process.send_signal(signal.SIGCONT)

    def restart(self, *, kill: bool = False) -> float:
        """Stop (or kill) and start with the same data folder and port; return the seconds of the start."""
        if kill:
            self.kill()
        else:
            self.stop()
        return self.start()

    def restart_while(self, work: Callable[[], object], *, kill: bool, delay_s: float = 0.0) -> None:
        """Restart while `work` runs; it is called repeatedly until the broker is back.

        The broker goes down `delay_s` after `work` has begun.
        """

        def restart() -> None:
            time.sleep(delay_s)
            self.restart(kill=kill)

        thread = threading.Thread(target=restart)
        thread.start()
        try:
            while thread.is_alive():
                work()
        finally:
            thread.join()

    def serves(self, *api_keys: ApiKey) -> bool:
        if not self._served:
            with WireClient(("127.0.0.1", self.port)) as client:
                answer = client.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
            self._served = {one.api_key for one in answer.api_keys}
        return self._served.issuperset(api_keys)

    def require(self, *api_keys: ApiKey) -> None:
        for api_key in api_keys:
            if not self.serves(api_key):
                pytest.skip(f"the broker does not serve {api_key.name}")

    @property
    def log(self) -> str:
        return (self.folder / "broker.log").read_text(errors="replace")

    def log_tail(self) -> str:
        return self._process.log_tail()

    def remove(self) -> None:
        """Stop, and delete the folder (kept when SHAREQ_KEEP_DATA is set)."""
        self.stop()
        if isinstance(self._process, NodeProcess):
            self._process.stop_cluster()
        if os.environ.get("SHAREQ_KEEP_DATA"):
            print(f"data kept in {self.folder}", file=sys.stderr)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)


def why_unavailable_here(kind: Kind) -> str | None:
    match kind:
        case "ours":
            return None
        case "apache":
            return why_unavailable()
        case "node":
            return why_no_node()
