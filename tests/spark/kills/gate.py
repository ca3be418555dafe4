"""The gate where a job's processes report each step to the harness, and wait for its permission to continue.

Each report has its own connection: a line of JSON to the harness, one byte back. If a waiting process is killed, its
connection ends with it.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from collections.abc import Callable, Mapping
from typing import Any

PATIENCE_S = 180.0


def show(gate: str, step: str, **reported: object) -> None:
    """Report a step to the harness at `gate`, "host:port", and wait. OSError when the harness has ended."""
    host, _, port = gate.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as connection:
        connection.sendall(json.dumps({"step": step, "pid": os.getpid(), **reported}).encode() + b"\n")
        if not connection.recv(1):
            raise ConnectionResetError("the harness has gone away")


class Gate:
    """The harness's side: calls `heard` with one report at a time, and lets the process continue afterwards."""

    def __init__(self, heard: Callable[[Mapping[str, Any]], None]) -> None:
        self._heard = heard
        self._one_at_a_time = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.failures: list[BaseException] = []
        """The exceptions that `heard` raised: looked at by the harness."""
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def address(self) -> str:
        host, port = self._listener.getsockname()
        return f"{host}:{port}"

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes `accept`
        self._listener.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._hear, args=(connection,), daemon=True).start()

    def _hear(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            line = connection.makefile("rb").readline()
            if not line.endswith(b"\n"):
                return
            try:
                with self._one_at_a_time:
                    self._heard(json.loads(line))
            except Exception as error:  # the process must not wait for ever for a fault of ours
                self.failures.append(error)
            connection.sendall(b".")
