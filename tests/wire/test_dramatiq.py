"""Dramatiq over share groups on a real broker, as docs/dramatiq.md describes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, Final

import dramatiq
import pytest
from dramatiq import Message, Worker
from dramatiq.errors import QueueJoinTimeout, QueueNotFound

from shareq.dramatiq import MOST_DELAY_MS, ShareqBroker
from shareq.testing import Broker, Record

ROOT: Final = Path(__file__).resolve().parents[2]
PATIENCE_S: Final = 60.0
_numbers = count(1)
ACTORS: Final = """
import os, pathlib, time
import dramatiq
from shareq.dramatiq import ShareqBroker

dramatiq.set_broker(ShareqBroker("BROKER", prefix="PREFIX"))
HERE = pathlib.Path(__file__).parent


@dramatiq.actor
def work(name):
    with open(HERE / "seen", "a") as seen:
        print("begin", name, os.getpid(), file=seen, flush=True)
    while not (HERE / "may end").exists():
        time.sleep(0.05)
    with open(HERE / "seen", "a") as seen:
        print("end", name, os.getpid(), file=seen, flush=True)
"""


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    settings = {
        "group.share.min.record.lock.duration.ms": "1000",
        "errors.deadletterqueue.auto.create.topics.enable": "true",
    }
    with Broker(config=settings) as running:
        yield running


@pytest.fixture
def prefix() -> str:
    return f"d{next(_numbers)}."


@contextlib.contextmanager
def app(broker: Broker, prefix: str, **options: Any) -> Iterator[ShareqBroker]:
    made = ShareqBroker(broker.bootstrap, prefix=prefix, **options)
    try:
        yield made
    finally:
        made.close()


def _three(letters: list[Record]) -> list[Record]:
    return letters if len(letters) == 3 else []


@contextlib.contextmanager
def at_work(made: ShareqBroker, threads: int = 2) -> Iterator[Worker]:
    worker = Worker(made, worker_timeout=100, worker_threads=threads)
    worker.start()
    try:
        yield worker
    finally:
        worker.stop()


def test_what_fails_for_good_is_a_dead_letter_with_its_reason(broker: Broker, prefix: str) -> None:
    group = f"{prefix}default"
    letters = {
        "errors.deadletterqueue.topic.name": f"dlq.{group}",
        "errors.deadletterqueue.copy.record.enable": "true",
    }
    with app(broker, prefix, group_config=letters) as made:

        @dramatiq.actor(broker=made, max_retries=0)
        def fail(what: str) -> None:
            raise ValueError(f"no {what}")

        fail.send("bread")
        broker.produce(group, b"no message")
        made.enqueue(Message("default", "unknown", (), {}, {}))
        with at_work(made):
            made.join("default", timeout=60_000)
    found = broker.wait_until(lambda: _three(broker.assert_dead_lettered(group)), PATIENCE_S)
    said = [letter.headers.get("__dlq.errors.shareq.error") or b"" for letter in found]
    assert any(b"no bread" in each for each in said)
    assert broker.group_counts(group, group).rejected == 3


@pytest.mark.parametrize(
    ("options", "records"),
    [
        pytest.param({}, 2, id="the broker keeps it"),
        pytest.param({"group_config": {"shareq.delay.enable": "false"}}, 3, id="Dramatiq sends it again"),
    ],
)
def test_a_delayed_message_holds_up_no_other(
    broker: Broker, prefix: str, options: dict[str, Any], records: int
) -> None:
    """The broker keeps the message until it is due, or Dramatiq resends it then, as on Apache Kafka."""
    group = f"{prefix}default"
    done: list[tuple[str, float]] = []
    with app(broker, prefix, **options) as made:

        @dramatiq.actor(broker=made)
        def note(what: str) -> None:
            done.append((what, time.time()))

        began = time.time()
        note.send_with_options(args=("later",), delay=2_000)
        note.send("soon")
        with at_work(made):
            made.join("default", timeout=60_000)
    assert [what for what, _ in done] == ["soon", "later"]
    assert done[1][1] - began >= 2
    assert len(broker.records(group)) == records


def test_a_retry_waits_in_the_broker(broker: Broker, prefix: str) -> None:
    tried: list[float] = []
    with app(broker, prefix) as made:

        @dramatiq.actor(broker=made, min_backoff=1_000, max_backoff=1_000, max_retries=2)
        def fail_once() -> None:
            tried.append(time.time())
            if len(tried) == 1:
                raise ValueError("no")

        fail_once.send()
        with at_work(made):
            made.join("default", timeout=60_000)
    first, second = tried
    assert second - first >= 0.5, "Dramatiq's backoff is 50 to 100 % of it"


def test_what_a_worker_had_not_begun_is_released_when_it_stops(broker: Broker, prefix: str) -> None:
    done: list[int] = []
    with app(broker, prefix) as made:

        @dramatiq.actor(broker=made)
        def slow(number: int) -> None:
            done.append(number)
            time.sleep(0.3)

        for number in range(6):
            slow.send(number)
        with at_work(made, threads=1):
            broker.wait_until(lambda: done, PATIENCE_S)
        begun = len(done)
        assert begun < 6
        with pytest.raises(QueueJoinTimeout):
            made.join("default", timeout=100)
        with at_work(made):
            made.join("default", timeout=60_000)
    assert sorted(done) == list(range(6)), "each once"


def test_a_flushed_queue_is_done(broker: Broker, prefix: str) -> None:
    with app(broker, prefix) as made:

        @dramatiq.actor(broker=made)
        def never() -> None: ...

        never.send()
        made.flush_all()
        made.join("default", timeout=30_000)


def test_what_cannot_be_is_refused(broker: Broker, prefix: str) -> None:
    with app(broker, prefix) as made:
        message: Message[None] = Message("nowhere", "actor", (), {}, {})
        with pytest.raises(QueueNotFound):
            made.enqueue(message)
        made.declare_queue("nowhere")
        for delay in (-1, MOST_DELAY_MS + 1):
            with pytest.raises(ValueError, match="delay is"):
                made.enqueue(message, delay=delay)


def test_a_killed_workers_message_comes_again(broker: Broker, prefix: str, tmp_path: Path) -> None:
    group = f"{prefix}default"
    (tmp_path / "jobs.py").write_text(ACTORS.replace("BROKER", broker.bootstrap).replace("PREFIX", prefix))
    source = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])

    def seen() -> list[str]:
        path = tmp_path / "seen"
        return path.read_text().splitlines() if path.exists() else []

    def start() -> subprocess.Popen[bytes]:
        with open(tmp_path / "log", "ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "dramatiq", "jobs", "--processes", "1", "--threads", "1"],
                cwd=tmp_path,
                env={**os.environ, "PYTHONPATH": source},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    with app(broker, prefix) as made:
        made.declare_queue("default")
        made.enqueue(Message("default", "work", ("one",), {}, {}))
    workers = [start()]
    try:
        broker.wait_until(lambda: len(seen()) == 1, PATIENCE_S)
        killed = time.monotonic()
        os.killpg(workers[0].pid, signal.SIGKILL)
        workers[0].wait()
        workers.append(start())
        broker.wait_until(lambda: len(seen()) == 2, PATIENCE_S)
        assert time.monotonic() - killed < 25, "the lock would be 30 s long"
        workers[1].terminate()
        (tmp_path / "may end").touch()
        broker.wait_until(lambda: len(seen()) == 3, PATIENCE_S)
        assert workers[1].wait(PATIENCE_S) == 0, "it ends what it is at"
        broker.assert_acknowledged(group, group)
    finally:
        for each in workers:
            if each.poll() is None:
                os.killpg(each.pid, signal.SIGKILL)
                each.wait()
