"""The same job with two clients: consume, produce, and commit the offsets with what was produced."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from tests.interop.support.java_driver import JavaProcess, why_no_java
from tests.interop.support.transactional import JAVA_SOURCE

PATIENCE_S: Final = 8.0


class Work(NamedTuple):
    """A job: copy partition 0 of `source` to `target` until the group `name` is at offset `records`.

    The transactional id is `name`, too. TimeoutError after `timeout_s`. Setting `over` ends it early, with any error.
    """

    bootstrap: str
    source: str
    target: str
    name: str
    records: int
    timeout_s: float
    over: threading.Event


class Client(NamedTuple):
    """A client. `run` returns, once the work is done, how often it had to start over with new clients."""

    name: str
    why_not_here: Callable[[], str | None]
    run: Callable[[Work], int]


def run_java(work: Work) -> int:
    """Run Apache Kafka's own clients in transaction version 2, recreated after each exception."""
    clients = {"bootstrap.servers": work.bootstrap, "reconnect.backoff.max.ms": "200", "request.timeout.ms": "5000"}
    config = {**clients, "transactional.id": work.name, "max.block.ms": "20000", "delivery.timeout.ms": "20000"}
    consumer = {**clients, "group.id": work.name, "auto.offset.reset": "earliest", "enable.auto.commit": "false"}
    consumer |= {"isolation.level": "read_committed", "max.poll.records": "10", "session.timeout.ms": "6000"}
    process = JavaProcess(JAVA_SOURCE, work.timeout_s)

    def end_early() -> None:
        work.over.wait()
        process.kill()

    threading.Thread(target=end_early, daemon=True).start()
    try:
        arguments = {"from": work.source, "to": work.target, "count": work.records}
        restarts: int = process.call("copy", config=config, consumer=consumer, **arguments)["restarts"]
    finally:
        work.over.set()
        process.close()
    return restarts


def run_librdkafka(work: Work) -> int:
    """Run librdkafka in transaction version 1, in as many processes as necessary.

    Each is killed after PATIENCE_S, whatever it does: a job has to survive that, and some wait for ever (see
    `librdkafka_copy`). After one without progress, which a slow machine may cause, the next gets twice the time.
    """
    command = [sys.executable, "-m", "tests.campaign.exactly_once.librdkafka_copy", *work[:4], str(work.records)]
    deadline = time.monotonic() + work.timeout_s
    patience_s = PATIENCE_S
    restarts = 0
    while time.monotonic() < deadline and not work.over.is_set():
        arguments = [*command, str(patience_s / 2)]
        process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            committed, _ = process.communicate(timeout=patience_s)
        except subprocess.TimeoutExpired:
            process.kill()
            committed, _ = process.communicate()
        if process.returncode == 0:
            return restarts
        restarts += 1
        patience_s = PATIENCE_S if committed else 2 * patience_s
    raise TimeoutError(f"group {work.name} does not come to offset {work.records}")


CLIENTS: Final = (Client("Java", why_no_java, run_java), Client("librdkafka", lambda: None, run_librdkafka))
