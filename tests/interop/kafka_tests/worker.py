from __future__ import annotations

import json
import queue
import socket
import subprocess
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TextIO

from tests.interop.kafka_tests.brokers import Brokers, OneBroker
from tests.interop.kafka_tests.suite import Suite, command, methods, name_of
from tests.interop.support.broker_under_test import Kind

JOBS = 3
"""The number of JVMs that run in parallel: tests mostly wait, for heartbeats and for locks that expire."""
_TIMEOUT_S = 240

Verdict = Literal["passed", "failed", "left out"]


class Result(NamedTuple):
    """The outcome of a test. `reason`: why it is left out or failed; `trace`: of a failure."""

    verdict: Verdict
    reason: str = ""
    trace: str = ""
    seconds: int = 0


def run(kind: Kind, suite: Suite, names: Sequence[str] = ()) -> dict[str, Result]:
    """Run the class's tests (or those in `names`) and return results by name. Failed tests are repeated once, alone."""
    found = methods(suite)
    wanted = {name.partition("#")[0] for name in names}
    chosen = [method for method in found if not wanted or name_of(method) in wanted]
    results = _run(kind, suite, chosen, JOBS)
    failed = {name.partition("#")[0] for name, result in results.items() if result.verdict == "failed"}
    again = _run(kind, suite, [method for method in found if name_of(method) in failed], 1)
    return results | {name: result for name, result in again.items() if results[name].verdict == "failed"}


def _run(kind: Kind, suite: Suite, chosen: Sequence[str], jobs: int) -> dict[str, Result]:
    left: queue.SimpleQueue[str] = queue.SimpleQueue()
    for method in chosen:
        left.put(method)
    results: dict[str, Result] = {}
    workers = [_Worker(kind, suite, left, results) for _ in range(min(jobs, len(chosen)))]
    threads = [threading.Thread(target=worker.work) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for worker in workers:
        if worker.fault is not None:
            raise worker.fault
    return results


class _Jvm(NamedTuple):
    process: subprocess.Popen[str]
    commands: TextIO
    """The connection for commands to the JVM, and for its answers."""

    def answer(self, **answer: object) -> None:
        self.commands.write(json.dumps(answer) + "\n")
        self.commands.flush()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.commands.close()


class _Worker:
    def __init__(self, kind: Kind, suite: Suite, left: queue.SimpleQueue[str], results: dict[str, Result]) -> None:
        self._class = suite
        self._left = left
        self._results = results
        self._brokers = Brokers(kind)
        self._broker: OneBroker | None = None
        self._begun: str | None = None
        self.fault: Exception | None = None
        """The exception that ended `work` before the queue was empty."""

    def work(self) -> None:
        """Work until no method is left; a JVM that hangs or dies fails its current test and is replaced."""
        jvm: _Jvm | None = None
        try:
            while True:
                try:
                    method = self._left.get_nowait()
                except queue.Empty:
                    return
                jvm = jvm if jvm is not None else self._started()
                if not self._one(jvm, method):
                    self._note_end(name_of(method))
                    jvm.close()
                    jvm = None
        except Exception as fault:  # raised again by the thread that started this one
            self.fault = fault
        finally:
            if jvm is not None:
                jvm.close()
            self._remove()
            self._brokers.close()

    def _started(self) -> _Jvm:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(60)
            process = subprocess.Popen(
                command(self._class.libraries, "run", str(listener.getsockname()[1])),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            connection, _ = listener.accept()
        connection.settimeout(_TIMEOUT_S)
        with connection:
            return _Jvm(process, connection.makefile("rw"))

    def _one(self, jvm: _Jvm, method: str) -> bool:
        assert jvm.process.stdin is not None
        jvm.process.stdin.write(method + "\n")
        jvm.process.stdin.flush()
        while True:
            try:
                line = jvm.commands.readline()
            except TimeoutError:
                return False
            if not line:
                return False
            asked = json.loads(line)
            try:
                answer = self._done(asked)
            except RuntimeError as error:
                answer = {"error": str(error)}
            jvm.answer(**answer)
            if asked["do"] == "done":
                return True

    def _note_end(self, method: str) -> None:
        name = self._begun or method
        self._results[name] = Result("failed", f"did not end within {_TIMEOUT_S} seconds, or ended its JVM")
        self._remove()

    def _done(self, asked: Mapping[str, Any]) -> dict[str, object]:  # JSON, of a shape that `do` decides
        match asked["do"]:
            case "start":
                self._remove()
                if (why := self._brokers.why_not(asked["features"])) is not None:
                    return {"left out": why}
                self._broker = self._brokers.new(asked["settings"], asked["features"])
                found = {"port": self._broker.port, "settings": {}}
                return found if self._broker.state is None else {**found, "state": self._broker.state}
            case "stop" if self._broker is not None:
                self._broker.stop()
            case "start again" if self._broker is not None:
                self._broker.start()
            case "remove":
                self._remove()
            case "begin":
                self._begun = asked["test"]
            case "end":
                self._begun = None
                result = Result(asked["verdict"], asked["reason"], asked["trace"], asked["seconds"])
                otherwise = self._brokers.why_otherwise(result.reason)
                self._results[asked["test"]] = result if otherwise is None else Result("left out", otherwise)
            case "done":
                pass
            case other:
                raise RuntimeError(f"no broker, or not a command: {other}")
        return {}

    def _remove(self) -> None:
        if self._broker is not None:
            self._broker.remove()
            self._broker = None
