"""A process that has imported the broker, and forks itself for each test that wants a broker in its own process.

    test -> nursery   {"arguments": [...], "environment": {...}, "cwd": "...", ...} with descriptors: control, log
                      or {"command": [...], ...} with descriptors: standard output, log
    nursery -> test   {"pid": 12}, and at its end {"ended": 12, "code": 0} (negative: by that signal)

One JSON object a line, the descriptors with its first byte. The nursery has one thread. It ends when the test's end of
the socket closes, and so do its children: they watch their own sockets, and on Linux the kernel ends them with it.
"""

from __future__ import annotations

import gc
import json
import os
import select
import shutil
import signal
import socket
import sys
from importlib import import_module
from typing import Any, Final

_PR_SET_PDEATHSIG: Final = 1
_MOST_OPEN: Final = 256  # descriptors: the nursery has a handful

Children = dict[int, str | None]
"""The temporary folder of each child, by process id; it is removed with the test."""


def main(descriptor: int) -> None:
    """Serve the test at the other end of a socket until the socket closes."""
    own = socket.socket(fileno=descriptor)
    _import_everything()
    wake, wakes = socket.socketpair()
    for each in (wake, wakes):
        each.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Control-C is the test's: it stops its brokers
    signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
    rest = b""
    children: Children = {}
    descriptors: list[int] = []
    while True:
        readable, _, _ = select.select([own, wake], [], [])
        if own in readable:
            data, received, _, _ = socket.recv_fds(own, 1 << 20, 16)
            descriptors += received
            if not data:
                _end(children)
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                given, descriptors = descriptors[:2], descriptors[2:]
                _start(own, json.loads(line), given, children)
        if wake in readable:
            wake.recv(4096)
            _report_ended(own, children)


def _end(children: Children) -> None:
    """End the brokers of a test that ended without closing them, and remove their temporary files."""
    for pid in children:
        os.kill(pid, signal.SIGKILL)
    for pid, folder in children.items():
        os.waitpid(pid, 0)
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def _import_everything() -> None:
    """Import all modules that a broker would import one by one, at its start and later."""
    import_module("shareq.testing.inside.child")
    from shareq.broker.dispatch.table import HANDLERS
    from shareq.protocol.api_keys import codec

    for key, row in HANDLERS.items():
        import_module(row.module)
        codec(key)
    for name in ("uvloop", "cramjam", "crc32c", "shareq.broker.groups.service", "shareq.broker.share.service"):
        import_module(name)
    for name in ("log.recovery.producers", "transactions.coordinator", "share.dlq.queues", "process.logging_setup"):
        import_module(f"shareq.broker.{name}")
    gc.collect()
    gc.freeze()


def _start(own: socket.socket, wanted: dict[str, Any], descriptors: list[int], children: Children) -> None:
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = _child(own, wanted, descriptors)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stderr.flush()
            os._exit(code)
    for each in descriptors:
        os.close(each)
    children[pid] = wanted["own_dir"]
    _send(own, {"pid": pid})


def _child(own: socket.socket, wanted: dict[str, Any], descriptors: list[int]) -> int:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _die_with_parent()
    first, log = descriptors
    os.dup2(log, 2)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.environ.clear()
    os.environ.update(wanted["environment"])
    os.chdir(wanted["cwd"])
    os.closerange(3, first)
    os.closerange(first + 1, max(own.fileno(), log, null, _MOST_OPEN))
    if "command" in wanted:
        os.dup2(first, 1)
        os.execve(wanted["command"][0], wanted["command"], os.environ)
    from shareq.testing.inside.child import run
    from shareq.testing.inside.world import Start

    control = socket.socket(fileno=first)
    return run(wanted["arguments"], control, Start(wanted["ahead_ms"], wanted["durable"]), wanted["own_dir"])


def _die_with_parent() -> None:
    """Have the kernel (Linux) kill this process when the nursery ends, however it ends."""
    if sys.platform != "linux":
        return
    import ctypes

    parent = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _report_ended(own: socket.socket, children: Children) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        del children[pid]
        _send(own, {"ended": pid, "code": os.waitstatus_to_exitcode(status)})


def _send(own: socket.socket, message: dict[str, Any]) -> None:
    try:
        own.sendall(json.dumps(message).encode() + b"\n")
    except OSError:
        os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]))
