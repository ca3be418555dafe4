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
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from shareq.broker.process.server import Server

logger = logging.getLogger(__name__)

ANY_PORT: Final = "127.0.0.1:0"
LOOK_FOR_PARENT_S: Final = 0.1

Ready = Callable[["Server", str | None], None]


def serve_ephemeral(run: Callable[[str, str, Ready], None], listen: str | None) -> None:
    """Run a broker on a folder of its own, at a free port unless `listen` says where, until a signal, or until its
    parent has ended; then remove the folder.

    Prints one line of JSON once it listens: `bootstrap` (HOST:PORT for clients), `pid`, `metrics` (a URL, or null).
    """
    parent = os.getppid()
    with tempfile.TemporaryDirectory(prefix="shareq-", ignore_cleanup_errors=True) as folder:

        def ready(server: Server, _console_url: str | None) -> None:
            _watch(parent, asyncio.get_running_loop())
            line = {"bootstrap": server.addresses[0], "pid": os.getpid(), "metrics": server.metrics_url}
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()

        run(os.path.join(folder, "data"), listen or ANY_PORT, ready)


def _watch(parent: int, loop: asyncio.AbstractEventLoop) -> None:
    """Stop when the process that started this one has ended: another one is the parent then."""

    def look() -> None:
        if os.getppid() == parent:
            loop.call_later(LOOK_FOR_PARENT_S, look)
        else:
            logger.info("process %d has ended, which started this one: stopping", parent)
            signal.raise_signal(signal.SIGTERM)

    look()
