"""The broker process of a test: `shareq serve`, and a socket by which the test controls it.

    test -> broker   {"id": 1, "do": "advance", "with": {"ms": 31000}}
    broker -> test   {"id": 1, "ok": 31000} or {"id": 1, "error": "..."}; first {"ready": [...], "metrics": ...}
    broker -> test   {"crash": [[1, 2]]}: a fault ends it; the numbers of its faults and how often each was applied

One JSON object a line. When the test's end of the socket closes, the test has ended, and the broker ends at once.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import sys
from collections.abc import Sequence
from typing import Any

import click

from shareq.broker.process.serve import serve_forever
from shareq.broker.process.server import Server
from shareq.broker.process.sockets import ServeError
from shareq.ops.cli.serve import command as serve
from shareq.ops.cli.serve_options import ServeOptions, configure_log, wanted_of
from shareq.ops.cli.shared.exits import REFUSED, USAGE, CommandEnd
from shareq.testing.inside.world import Inside, Start


def run(arguments: Sequence[str], control: socket.socket, start: Start, own_dir: str | None) -> int:
    """Serve until a signal, and return the exit code. `own_dir` is removed when the test has ended."""

    def crash() -> None:
        channel.crash()

    inside = Inside(start, crash)
    channel = _Channel(control, inside, own_dir)
    try:
        options = ServeOptions(**serve.make_context("shareq serve", list(arguments)).params)
        configure_log(options.log_level, options.log_format)
        serve_forever(wanted_of(options), insecure=options.insecure, seams=inside.seams, ready=channel.begin)
    except ServeError as error:
        return _ended(USAGE if error.usage else REFUSED, f"shareq: {error}")
    except click.UsageError as error:
        return _ended(USAGE, f"shareq: {error.format_message()}")
    except CommandEnd as end:
        return _ended(int(str(end.code)), f"shareq: {end.message}")
    return 0


def _ended(code: int, line: str) -> int:
    print(line, file=sys.stderr, flush=True)
    return code


class _Channel:
    """The broker's end of the control socket."""

    def __init__(self, control: socket.socket, inside: Inside, own_dir: str | None) -> None:
        self._control = control
        self._inside = inside
        self._own_dir = own_dir
        self._rest = b""

    def begin(self, server: Server, _console_url: str | None) -> None:
        """Report that the server listens, and accept commands."""
        self._inside.attach(server)
        asyncio.get_running_loop().add_reader(self._control, self._read)
        self._send({"ready": server.addresses, "metrics": server.metrics_url, "records": server.records_api_url})

    def crash(self) -> None:
        """End as by SIGKILL. The state of faults is sent first, because it would be lost with the process."""
        self._send({"crash": self._inside.interceptor.states()})
        os.kill(os.getpid(), signal.SIGKILL)

    def _read(self) -> None:
        try:
            data = self._control.recv(1 << 16)
        except OSError:
            data = b""
        if not data:
            self._test_is_gone()
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._obey(json.loads(line))

    def _obey(self, command: dict[str, Any]) -> None:
        number = command["id"]
        try:
            self._inside.run(command["do"], command["with"], lambda result: self._send({"id": number, "ok": result}))
        except Exception as error:
            self._send({"id": number, "error": str(error) or repr(error)})

    def _send(self, message: dict[str, Any]) -> None:
        try:
            self._control.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            self._test_is_gone()

    def _test_is_gone(self) -> None:
        if self._own_dir is not None:
            shutil.rmtree(self._own_dir, ignore_errors=True)
        os._exit(1)
