"""The systems compared: a queue, its workers, and how both are started."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.queues.job import AT_ONCE, PREFETCH
from bench.queues.servers import RabbitMQ, Server, redis, shareq

APPS: Final = "bench.queues.apps"


@dataclass(frozen=True, slots=True)
class System:
    """A system. `worker` is the command of one worker, given the server's address; `units` the number to start."""

    label: str
    app: str
    server: Callable[[int, Path], Server]
    program: str | None  # the server's, where it does not come with this repository
    address: str  # {port} is filled in
    worker: Callable[[str], list[str]]
    units: int = 2
    topic: str | None = None  # created beforehand
    defaults: bool = False  # whether the worker has its own defaults


def python(*arguments: str) -> list[str]:
    return [sys.executable, "-m", *arguments]


def celery(_: str) -> list[str]:
    options = ("-P", "prefork", "-c", str(AT_ONCE), "-l", "WARNING", "-n", "{unit}@bench")
    return python("celery", "-A", f"{APPS}.celery_tasks", "worker", *options)


def our_worker(_: str) -> list[str]:
    return python("shareq", "worker", "run", f"{APPS}.shareq_worker:app", "--quiet")


def rq(address: str) -> list[str]:
    return python("rq.cli", "worker", "--url", address, "--quiet", "jobs")


def taskiq(_: str) -> list[str]:
    at_once = ("--max-async-tasks", str(AT_ONCE), "--max-threadpool-threads", str(AT_ONCE))
    options = ("--workers", "1", "--max-prefetch", str(PREFETCH), "--log-level", "WARNING")
    return python("taskiq", "worker", f"{APPS}.taskiq_tasks:broker", *at_once, *options)


def taskiq_with_defaults(_: str) -> list[str]:
    return python("taskiq", "worker", f"{APPS}.taskiq_tasks:broker", "--log-level", "WARNING")


REDIS: Final = "redis://127.0.0.1:{port}/0"
SYSTEMS: Final = {
    "worker": System(
        label="shareq.worker on shareq",
        app="shareq_worker",
        server=shareq,
        program=None,
        address="127.0.0.1:{port}",
        worker=our_worker,
        topic="jobs",
    ),
    "celery": System(
        label="Celery on shareq",
        app="celery_tasks",
        server=shareq,
        program=None,
        address="kafka-share://127.0.0.1:{port}//",
        worker=celery,
    ),
    "taskiq": System(
        label="taskiq on shareq",
        app="taskiq_tasks",
        server=shareq,
        program=None,
        address="127.0.0.1:{port}",
        worker=taskiq,
    ),
    "celery-redis": System(
        label="Celery on Redis",
        app="celery_tasks",
        server=redis,
        program="redis-server",
        address=REDIS,
        worker=celery,
    ),
    "celery-rabbitmq": System(
        label="Celery on RabbitMQ",
        app="celery_tasks",
        server=RabbitMQ,
        program="rabbitmq-server",
        address="amqp://guest:guest@127.0.0.1:{port}//",
        worker=celery,
    ),
    "celery-kafka": System(
        label="Celery's Kafka transport on shareq",
        app="celery_tasks",
        server=shareq,
        program=None,
        address="confluentkafka://127.0.0.1:{port}//",
        worker=celery,
        units=1,
    ),
    "rq": System(label="RQ on Redis", app="rq_jobs", server=redis, program="redis-server", address=REDIS, worker=rq),
    "taskiq-redis": System(
        label="taskiq on a stream of Redis",
        app="taskiq_tasks",
        server=redis,
        program="redis-server",
        address=REDIS,
        worker=taskiq,
    ),
    "worker-defaults": System(
        label="shareq.worker, its defaults",
        app="shareq_worker",
        server=shareq,
        program=None,
        address="127.0.0.1:{port}",
        worker=our_worker,
        topic="jobs",
        defaults=True,
    ),
    "taskiq-redis-defaults": System(
        label="taskiq on a stream of Redis, its defaults",
        app="taskiq_tasks",
        server=redis,
        program="redis-server",
        address=REDIS,
        worker=taskiq_with_defaults,
        units=1,  # which has two processes
        defaults=True,
    ),
}
