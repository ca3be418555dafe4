"""A broker in its own process: forked from the nursery, or `shareq serve`."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from typing import Any, Final

from shareq.testing.failure import CALL_TIMEOUT_S, START_TIMEOUT_S, BrokerFailed, child_environment
from shareq.testing.launch import Launch, tail

_READY: Final = re.compile(r"listening on ([^,]+):(\d+)")
_METRICS: Final = re.compile(r", metrics at (http://[^\s,]+)")
_RECORDS: Final = re.compile(r", records API at (https?://[^\s,]+)")


class _Child:
    """A process that the nursery has started. `ended` is set at its end, with `code`."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.ended = threading.Event()
        self.code: int | None = None

    def signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if not self.ended.is_set():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)


class Nursery:
    """The nursery of this process, started with the first broker that needs it; it ends with this process."""

    _one: Nursery | None = None
    _guard = threading.Lock()

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._socket, other = socket.socketpair()
        command = [sys.executable, "-P", "-m", "shareq.testing.inside.nursery", str(other.fileno())]
        with other:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, pass_fds=[other.fileno()], env=child_environment()
            )
        self._lock = threading.Lock()
        self._answers: list[_Child] = []
        self._answered = threading.Condition()
        self._children: dict[int, _Child] = {}
        self._gone = False
        self._listener = threading.Thread(target=self._listen, name="shareq-nursery", daemon=True)
        self._listener.start()

    @classmethod
    def get(cls) -> Nursery:
        """Return the nursery of this process; a fork of the process gets another one."""
        with cls._guard:
            if cls._one is None or cls._one.owner != os.getpid() or cls._one._gone:
                cls._one = cls()
                atexit.register(cls._one.close)
            return cls._one

    def close(self) -> None:
        """End the nursery's process, and its remaining children."""
        if self.owner == os.getpid():
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self._process.wait()
            self._listener.join()
            self._socket.close()

    def start(self, wanted: dict[str, Any], descriptors: list[int]) -> _Child:
        """Have a child started. The caller keeps the descriptors. Raises BrokerFailed."""
        environment = child_environment() | wanted.pop("environment", {})
        message = {**wanted, "environment": environment, "cwd": os.getcwd()}
        with self._lock:
            try:
                data = json.dumps(message).encode() + b"\n"
                sent = socket.send_fds(self._socket, [data], descriptors)
                self._socket.sendall(data[sent:])
            except OSError as error:
                raise BrokerFailed(f"did not start: the process that starts brokers is gone ({error})") from error
            with self._answered:
                if not self._answered.wait_for(lambda: self._answers or self._gone, START_TIMEOUT_S) or self._gone:
                    raise BrokerFailed("did not start: the process that starts brokers does not answer")
                return self._answers.pop()

    def _listen(self) -> None:
        with contextlib.suppress(OSError), self._socket.makefile("rb") as lines:
            for line in lines:
                self._take(json.loads(line))
        with self._answered:
            self._gone = True
            self._answered.notify_all()
        for child in list(self._children.values()):  # they end with it
            child.code = -signal.SIGKILL
            child.ended.set()

    def _take(self, message: dict[str, Any]) -> None:
        if "pid" in message:
            child = self._children[message["pid"]] = _Child(message["pid"])
            with self._answered:
                self._answers.append(child)
                self._answered.notify_all()
        else:
            child = self._children.pop(message["ended"])
            child.code = message["code"]
            child.ended.set()


class _AsProcess:
    """The common part of brokers in a process."""

    metrics_url: str | None = None
    records_api_url: str | None = None
    host = "127.0.0.1"
    port = 0

    def __init__(self, launch: Launch, child: _Child) -> None:
        self._launch = launch
        self._child = child
        self.pid = child.pid
        self._killed = False

    @property
    def crashed(self) -> bool:
        """True if the broker has ended by a signal that was not sent here."""
        return self._child.ended.is_set() and not self._killed and (self._child.code or 0) < 0

    def hits_at_crash(self) -> dict[int, int]:
        """Return by number how often each fault had been applied when one of them ended the broker."""
        return {}

    @property
    def _crashed_meanwhile(self) -> bool:
        """True if a fault has ended the broker while it was being stopped: the request was just handled."""
        return self._child.code == -signal.SIGKILL and not self._killed

    def signal_stop(self) -> None:
        self._child.signal(signal.SIGTERM)

    def stop(self) -> None:
        self.signal_stop()
        if not self._child.ended.wait(self._launch.stop_timeout_s):
            self.kill()
            raise BrokerFailed(f"did not stop within {self._launch.stop_timeout_s:g} s:\n{self._log_tail()}")
        self._close()
        if self._child.code != 0 and not self._crashed_meanwhile:
            raise BrokerFailed(f"ended with code {self._child.code}:\n{self._log_tail()}")

    def kill(self) -> None:
        self._killed = True
        self._child.signal(signal.SIGKILL)
        self._child.ended.wait()
        self._close()

    def _close(self) -> None:
        raise NotImplementedError

    def _log_tail(self) -> str:
        with contextlib.suppress(OSError):
            return tail(self._launch.log_path.read_text())
        return ""

    def _failed_start(self) -> BrokerFailed:
        self.kill()
        return self._launch.failed_start(self._child.code, self._log_tail())


class ForkedBroker(_AsProcess):
    """A fork of the nursery, with a socket to control it."""

    def __init__(self, launch: Launch) -> None:
        self._control, other = socket.socketpair()
        wanted = {
            "arguments": launch.arguments(),
            "ahead_ms": launch.ahead_ms,
            "durable": not launch.own_dir,
            "own_dir": launch.own_folder,
        }
        try:
            with other, open(launch.log_path, "ab") as log:
                child = Nursery.get().start(wanted, [other.fileno(), log.fileno()])
        except BaseException:
            self._control.close()
            raise
        super().__init__(launch, child)
        self._lock = threading.Lock()
        self._calls = 0
        self._at_crash: dict[int, int] = {}
        self._control.settimeout(launch.start_timeout_s)
        self._lines = self._control.makefile("rb")
        ready = self._receive()
        if ready is None:
            raise self._failed_start()
        self._control.settimeout(CALL_TIMEOUT_S)
        self.host, _, port = ready["ready"][0].rpartition(":")
        self.port, self.metrics_url, self.records_api_url = int(port), ready["metrics"], ready["records"]

    def call(self, name: str, **arguments: Any) -> Any:
        """Have a command carried out.

        Raise ValueError for an invalid command, and BrokerFailed if the broker has ended.
        """
        with self._lock:
            self._calls += 1
            message = {"id": self._calls, "do": name, "with": arguments}
            try:
                self._control.sendall(json.dumps(message).encode() + b"\n")
            except OSError:
                raise BrokerFailed("the broker is gone") from None
            answer = self._receive()
        if answer is None:
            raise BrokerFailed(f"the broker is gone, or did not answer to {name} within {CALL_TIMEOUT_S:g} s")
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer["ok"]

    def hits_at_crash(self) -> dict[int, int]:
        with self._lock:
            if not self._at_crash:
                self._receive()
        return self._at_crash

    def _receive(self) -> dict[str, Any] | None:
        """Return the next answer; None when the broker has ended."""
        while True:
            try:
                line = self._lines.readline()
            except (OSError, ValueError):  # or the control was closed
                return None
            if not line.endswith(b"\n"):
                return None
            answer: dict[str, Any] = json.loads(line)
            if "crash" not in answer:
                return answer
            self._at_crash = dict(answer["crash"])

    def _close(self) -> None:
        self._lines.close()
        self._control.close()


class CommandBroker(_AsProcess):
    """A broker started by `python -m shareq serve`, as a user starts it: a test can neither control nor change it."""

    def __init__(self, launch: Launch) -> None:
        read, write = os.pipe()
        arguments, variables = launch.command_line()
        wanted: dict[str, Any] = {
            "command": [sys.executable, "-P", "-m", "shareq", "serve", *arguments],
            "environment": variables,
            "own_dir": launch.own_folder,
        }
        self._output = os.fdopen(read, "rb")
        try:
            with open(write, "wb"), open(launch.log_path, "ab") as log:
                child = Nursery.get().start(wanted, [write, log.fileno()])
        except BaseException:
            self._output.close()
            raise
        super().__init__(launch, child)
        self._wait_ready()

    def call(self, name: str, **_arguments: Any) -> Any:
        """Raise BrokerFailed: a test cannot reach the inside of this broker."""
        raise BrokerFailed(f'{name}: a broker with mode="command" has no clock, faults or transcript of shareq.testing')

    def _wait_ready(self) -> None:
        timer = threading.Timer(self._launch.start_timeout_s, self._child.signal, (signal.SIGKILL,))
        timer.start()
        try:
            line = self._output.readline().decode()
        finally:
            timer.cancel()
        match = _READY.search(line)
        if match is None:
            raise self._failed_start()
        metrics = _METRICS.search(line)
        self.metrics_url = None if metrics is None else metrics[1]
        records = _RECORDS.search(line)
        self.records_api_url = None if records is None else records[1]
        self.host, self.port = match[1], int(match[2])

    def _close(self) -> None:
        self._output.close()
