"""The integration tests of kombu and Celery: released sources, prepared in the cache, and run."""

from __future__ import annotations

import json
import os
import sys
import tarfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from devtools.kafka.apache_kafka import CACHE
from devtools.kafka.build_once import folder_made_once
from tests.support.archives import unpack
from tests.support.processes import finished

KOMBU: Final = "5.6.2"
CELERY: Final = "5.6.3"
"""The version of Celery that pyproject.toml names for the clients."""
ROOT: Final = Path(__file__).resolve().parents[3]
_BIN: Final = Path(sys.executable).parent
_FETCH_S: Final = 300
_PLUGINS: Final = ("pytest-rerunfailures==16.7", "pytest-timeout==2.4.0")
_LIBRARIES: Final = ("redis>=5,<6.5", "pydantic>=2.12")
# What a transport has beside the tests that all share.
_KOMBU_TESTS: Final = """
import json
import os

import kombu
import pytest
import shareq.kombu

from . import common

shareq.kombu.register()
BROKER = os.environ["SHAREQ_BROKER"]
OPTIONS = {"properties": json.loads(os.environ["SHAREQ_PROPERTIES"])}


def connected(url, **more):
    return kombu.Connection(url, transport_options=OPTIONS, **more)


@pytest.fixture()
def connection():
    return connected(f"kafka-share://{BROKER}//")


@pytest.fixture()
def invalid_connection():
    return connected("kafka-share://localhost:12345//", connect_timeout=1)


@pytest.fixture()
def failover_connection():
    return connected(f"kafka-share://localhost:12345//;kafka-share://{BROKER}//", connect_timeout=1)


class test_BasicFunctionality(common.BasicFunctionality):
    pass


class test_ExchangeTypes(common.BaseExchangeTypes):
    pass


class test_TimeToLive(common.BaseTimeToLive):
    pass


class test_Priority(common.BasePriority):
    pass


class test_Message(common.BaseMessage):
    pass


class test_Failover(common.BaseFailover):
    pass
"""
# In each process that a test starts, too.
_SITE: Final = "import shareq.kombu\n\nshareq.kombu.register()\n"

# `test_scheduled` sends a task and asks its worker at once. Task and question come by ways of their own, and on Apache
# Kafka a share fetch is answered some milliseconds after a fetch: the worker is asked for what it has not got yet.
_PAUSE: Final = """
import time

from celery.app.control import Inspect

_asked = Inspect.scheduled


def scheduled(self, *arguments, **named):
    time.sleep(1)  # as the tests beside it sleep themselves
    return _asked(self, *arguments, **named)


Inspect.scheduled = scheduled
"""
_PAUSING: Final = "pause_before_scheduled"


KOMBU_TABLE: Final = {
    "test_BasicFunctionality": (12, 0),
    "test_ExchangeTypes": (5, 0),
    "test_TimeToLive": (3, 0),
    "test_Message": (4, 0),
    "test_Failover": (12, 0),
    "test_Priority": (0, 4),
}
"""The numbers of passed and failed tests, by class of kombu's tests."""
_ON_REDIS_TOO: Final = "it fails on Redis, too, or waits for minutes"
PAUSED: Final = ("test_scheduled",)
"""The tests that pause for a second before they ask a worker (see `_PAUSE`), because the question may overtake the
task.
"""
LEFT_OUT: Final = {
    "test_chord_on_error": _ON_REDIS_TOO,
    "test_enabling_flag_allow_error_cb_on_chord_header": _ON_REDIS_TOO,
    "test_disabling_flag_allow_error_cb_on_chord_header": _ON_REDIS_TOO,
    "test_flag_allow_error_cb_on_chord_header_on_upgraded_chord": _ON_REDIS_TOO,
    "test_replaced_task_nesting_level_0": "it expects that no task is received before `delay` has returned, which "
    "waits here until the task is written",
    "test_django_fixup_direct_worker": "it is about Django",
}
"""The tests of Celery that run on neither broker, with reasons. Files about RabbitMQ, Azure and memory are left out,
too.
"""


@dataclass(slots=True)
class Outcome:
    """The outcomes of the tests by name, with the text of a failure or the reason for skipping."""

    passed: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)


def sources() -> Path:
    """Return the folder with both, fetched by pip and unpacked once. RuntimeError with pip's output."""
    return folder_made_once(CACHE / f"celery-suites-{CELERY}-{KOMBU}", _fetch)


def run_kombu(bootstrap: str, properties: Mapping[str, str], results: Path, timeout_s: float = 300) -> Outcome:
    """Run kombu's tests for all transports. `properties` are the client's, `results` is pytest's output file."""
    folder = sources() / f"kombu-{KOMBU}"
    (folder / "t" / "integration" / "test_kafka_share.py").write_text(_KOMBU_TESTS)
    environment = {"SHAREQ_BROKER": bootstrap, "SHAREQ_PROPERTIES": json.dumps(dict(properties))}
    return _pytest(folder, results, ["t/integration/test_kafka_share.py"], environment, timeout_s)


def run_celery(
    broker_url: str,
    properties: Mapping[str, str],
    redis_port: int,
    results: Path,
    file: str,
    timeout_s: float = 1800,
) -> Outcome:
    """Run one file of Celery's tests, except `LEFT_OUT`, with this broker and the Redis at this port for results."""
    folder = sources() / f"celery-{CELERY}"
    (folder / "sitecustomize.py").write_text(_SITE)
    (folder / f"{_PAUSING}.py").write_text(_PAUSE)
    (folder / "integration-tests-config.json").write_text(
        json.dumps({"broker_transport_options": {"properties": dict(properties)}} if properties else {})
    )
    environment = {
        "TEST_BROKER": broker_url,
        "TEST_BACKEND": f"redis://127.0.0.1:{redis_port}/1",
        "REDIS_HOST": "127.0.0.1",
        "REDIS_PORT": str(redis_port),
        "WORKER_LOGLEVEL": "INFO",  # some look for lines of it
    }
    more = ["-p", "celery.contrib.pytest", "-p", _PAUSING, f"t/integration/{file}"]
    more += ["-k", " and ".join(f"not {name}" for name in LEFT_OUT)]
    return _pytest(folder, results, more, environment, timeout_s)


def _pytest(
    folder: Path, results: Path, arguments: Sequence[str], environment: Mapping[str, str], timeout_s: float
) -> Outcome:
    command = [sys.executable, "-m", "pytest", "-q", "-W", "ignore", "-o", "addopts=", "--tb=short"]
    command += ["-p", "no:cacheprovider", "-p", "no:hypothesispytest", f"--junitxml={results}", *arguments]
    paths = [folder, sources() / "libraries", ROOT / "src", os.environ.get("PYTHONPATH", "")]
    path = os.pathsep.join(map(str, paths))
    done = finished(
        command,
        cwd=folder,
        env={**os.environ, **environment, "PYTHONPATH": path, "PATH": f"{_BIN}{os.pathsep}{os.environ['PATH']}"},
        timeout_s=timeout_s,
    )
    if done.returncode not in (0, 1):
        raise RuntimeError(f"pytest ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return outcome_of(results)


def outcome_of(results: Path) -> Outcome:
    """Read pytest's output file. A repeated test counts by its last run."""
    found = Outcome()
    for case in ElementTree.parse(results).getroot().iter("testcase"):
        name = f"{case.attrib['classname'].rpartition('.')[2]}::{case.attrib['name']}"
        flaws = [*case.iter("failure"), *case.iter("error")]
        skipped = case.find("skipped")
        if flaws:
            found.failed[name] = "\n".join(flaw.text or "" for flaw in flaws)
        elif skipped is not None:
            found.skipped[name] = skipped.attrib.get("message", "")
        else:
            found.passed.add(name)
    found.passed -= set(found.failed)
    return found


def _fetch(folder: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    _run([*pip, "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", str(folder), f"kombu=={KOMBU}"])
    _run([*pip, "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", str(folder), f"celery=={CELERY}"])
    for name in (f"kombu-{KOMBU}", f"celery-{CELERY}"):
        with tarfile.open(folder / f"{name}.tar.gz") as packed:
            unpack(packed, folder)
    target = ["install", "-q", "--target", str(folder / "libraries")]
    _run([*pip, *target, *_LIBRARIES])
    _run([*pip, *target, "--no-deps", *_PLUGINS])
    for name in ("kombu", "celery"):  # the installed ones are tested: that of the sources is as it was released, too
        (folder / f"{name}-{KOMBU if name == 'kombu' else CELERY}" / name).rename(folder / f"{name}-of-the-sources")


def _run(command: Sequence[str]) -> None:
    done = finished(command, timeout_s=_FETCH_S)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
