"""Dramatiq's own broker tests: released sources, prepared in the cache, and run with our broker."""

from __future__ import annotations

import json
import os
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from devtools.kafka.apache_kafka import CACHE
from devtools.kafka.build_once import folder_made_once
from tests.interop.support.celery_suites import Outcome, outcome_of
from tests.support.archives import unpack
from tests.support.processes import finished

VERSION: Final = "2.2.1"
"""The release that the extra in pyproject.toml names."""
ROOT: Final = Path(__file__).resolve().parents[3]
FILES: Final = ("actors", "callbacks", "composition", "generic_actors", "messages", "redis", "worker")
LEFT_OUT: Final = (
    "connect_via",  # of Redis
    "groups_execute_inner",  # this and the next allow all of it half a second
    "groups_execute_jobs_in_parallel",
    "invalid_attribute",
    "on_connection_error",
    "on_missing_id",
    "process_messages_in_order",  # expects a message in its worker a millisecond after it was sent
    "redis_dead_lettered_messages",  # 16,000 of them
    "redis_join_race",
    "unacked_messages_can_be",
)
"""The parts of names of tests that are left out: these are about Redis's client, fill Redis, or need a fast machine."""
_LIBRARIES: Final = ("redis>=5,<6.5",)
# The release has no files of fixtures.
_COMMON: Final = """
import contextlib

from dramatiq import Worker


@contextlib.contextmanager
def worker(*arguments, **named):
    made = Worker(*arguments, **named)
    made.start()
    try:
        yield made
    finally:
        made.stop()


def skip_in_ci(test):
    return test


skip_on_windows = skip_on_pypy = skip_in_ci
"""
_FIXTURES: Final = """
import itertools
import json
import os

import dramatiq
import pytest
from dramatiq.rate_limits.backends import StubBackend as Limits
from dramatiq.results.backends import StubBackend as Results
from shareq.dramatiq import ShareqBroker

from .common import worker

NUMBERS = itertools.count()


class Judged(ShareqBroker):
    def join(self, queue_name, *, fail_fast=None, timeout=None):  # `fail_fast` is the stub's
        super().join(queue_name, timeout=timeout or 20_000)


@pytest.fixture
def stub_broker():
    prefix = f"suite-{os.getpid()}-{next(NUMBERS)}."
    properties = json.loads(os.environ["SHAREQ_PROPERTIES"])
    made = Judged(os.environ["SHAREQ_BROKER"], prefix=prefix, properties=properties)
    made.emit_after("process_boot")
    dramatiq.set_broker(made)
    yield made
    made.close()


@pytest.fixture
def stub_worker(stub_broker):
    with worker(stub_broker, worker_timeout=100, worker_threads=8) as made:
        yield made


@pytest.fixture
def redis_broker(stub_broker):
    return stub_broker


@pytest.fixture
def redis_worker(stub_worker):
    return stub_worker


@pytest.fixture
def result_backend():
    return Results()


@pytest.fixture
def rate_limiter_backend():
    return Limits()
"""


def run_dramatiq(bootstrap: str, properties: Mapping[str, str], results: Path, timeout_s: float = 300) -> Outcome:
    """Run Dramatiq's tests. `properties` are the client's, `results` is pytest's output file."""
    made = folder_made_once(CACHE / f"dramatiq-suite-{VERSION}", _fetch)
    folder = made / f"dramatiq-{VERSION}"
    (folder / "tests" / "common.py").write_text(_COMMON)
    (folder / "tests" / "conftest.py").write_text(_FIXTURES)
    (folder / "tests" / "__init__.py").touch()
    command = [sys.executable, "-m", "pytest", "-q", "-W", "ignore", "-c", os.devnull, "--rootdir=.", "--tb=short"]
    command += ["-p", "no:cacheprovider", "-p", "no:hypothesispytest", f"--junitxml={results}"]
    command += [f"tests/test_{name}.py" for name in FILES]
    command += ["-k", " and ".join(f"not {name}" for name in LEFT_OUT)]
    path = os.pathsep.join(map(str, (folder, made / "libraries", ROOT / "src", os.environ.get("PYTHONPATH", ""))))
    environment = {"SHAREQ_BROKER": bootstrap, "SHAREQ_PROPERTIES": json.dumps(dict(properties)), "PYTHONPATH": path}
    done = finished(command, cwd=folder, env={**os.environ, **environment}, timeout_s=timeout_s)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"pytest ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return outcome_of(results)


def _fetch(folder: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    _run([*pip, "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", str(folder), f"dramatiq=={VERSION}"])
    with tarfile.open(folder / f"dramatiq-{VERSION}.tar.gz") as packed:
        unpack(packed, folder)
    _run([*pip, "install", "-q", "--target", str(folder / "libraries"), *_LIBRARIES])
    sources = folder / f"dramatiq-{VERSION}"
    (sources / "dramatiq").rename(sources / "dramatiq-of-the-sources")  # the installed one is tested


def _run(command: list[str]) -> None:
    done = finished(command, timeout_s=300)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
