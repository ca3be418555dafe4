"""`shareq serve --ephemeral`: a broker for the tests of a program that started it, in whatever language."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from typing import Final

from shareq.broker.process.server import Server

logger = logging.getLogger(__name__)

ANY_PORT: Final = "127.0.0.1:0"
LOOK_FOR_PARENT_S: Final = 0.1

Ready = Callable[["Server", str | None], None]


def serve_ephemeral(run: Callable[[str, str, Ready], None], listen: str | None) -> None:
    """Run a broker on a folder of its own, at `listen` or else at a free port, until a signal, or until its parent
    process has ended; then remove the folder. A parent that has ended before, as that of `(shareq serve --ephemeral
    &)`, is replaced by the leader of the session: the shell of a terminal or script.

    Print one line of JSON once it listens: `bootstrap` (HOST:PORT for clients), `pid`, `metrics` (a URL, or null).
    """
    parent, leader = os.getppid(), _leader_instead_of_a_parent()
    with tempfile.TemporaryDirectory(prefix="shareq-", ignore_cleanup_errors=True) as folder:

        def ready(server: Server, _console_url: str | None) -> None:
            _watch(parent, leader, asyncio.get_running_loop())
            line = {"bootstrap": server.addresses[0], "pid": os.getpid(), "metrics": server.metrics_url}
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()

        run(os.path.join(folder, "data"), listen or ANY_PORT, ready)


def _leader_instead_of_a_parent() -> int | None:
    """Return the leader of the session if the parent has ended already and another process has adopted this one.

    Return None if the parent is in this session, or if the session has no other leader than this process, which is
    then a daemon.
    """
    if not hasattr(os, "getsid"):
        return None
    leader = os.getsid(0)
    try:
        is_taken_in = os.getsid(os.getppid()) != leader
    except OSError:
        is_taken_in = True
    return leader if is_taken_in and leader not in (0, os.getpid()) and _runs(leader) else None


def _watch(parent: int, leader: int | None, loop: asyncio.AbstractEventLoop) -> None:
    """Stop when the process that started this one has ended, which is seen from another parent."""

    def look() -> None:
        if os.getppid() != parent:
            ended = parent
        elif leader is not None and not _runs(leader):
            ended = leader
        else:
            loop.call_later(LOOK_FOR_PARENT_S, look)
            return
        logger.info("process %d has ended, which started this one: stopping", ended)
        signal.raise_signal(signal.SIGTERM)

    look()


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's
        pass
    return True
