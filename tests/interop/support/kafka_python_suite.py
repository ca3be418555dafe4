"""kafka-python's own integration tests: released sources, prepared in the cache, and run."""

from __future__ import annotations

import os
import sys
import tarfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from devtools.kafka.apache_kafka import CACHE, KAFKA_VERSION
from devtools.kafka.build_once import folder_made_once
from tests.support.archives import unpack
from tests.support.processes import finished

VERSION: Final = "3.0.12"
"""The version of the client itself, which pyproject.toml names."""
_SHA_256: Final = "4ccda3616b9aa5c353d74a97f2770d6cd1b950890d77ab0e8890e09a48eeed65"
_TIMEOUT_S: Final = 240
# What the archive leaves out of kafka-python's folder of tests, as far as a broker needs it that runs already.
_SERVICE: Final = """
class ExternalService:
    def __init__(self, host, port):
        self.host, self.port = host, port


class SpawnedService:
    pass
"""


@dataclass(slots=True)
class Outcome:
    """The outcomes of the tests, each named `file::test`; reasons for skipping, counted."""

    passed: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)


def sources() -> Path:
    """Return the sources, fetched by pip and unpacked once. RuntimeError with pip's output."""
    return folder_made_once(CACHE / f"kafka-python-{VERSION}", _fetch) / f"kafka_python-{VERSION}"


def _fetch(folder: Path) -> None:
    wanted = folder / "wanted.txt"
    wanted.write_text(f"kafka-python=={VERSION} --hash=sha256:{_SHA_256}\n")
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", str(folder)]
    done = finished([*command, "-r", str(wanted)], timeout_s=_TIMEOUT_S)
    if done.returncode:
        raise RuntimeError(f"pip could not fetch kafka-python {VERSION}:\n{done.stdout}{done.stderr}")
    with tarfile.open(folder / f"kafka_python-{VERSION}.tar.gz") as packed:
        unpack(packed, folder)
    unpacked = folder / f"kafka_python-{VERSION}"
    (unpacked / "test" / "__init__.py").touch()
    (unpacked / "test" / "service.py").write_text(_SERVICE)
    (unpacked / "servers" / KAFKA_VERSION / "kafka-bin").mkdir(parents=True)  # only looked for


def run(bootstrap: str, results: Path, *, only: Sequence[str] = (), leave_out: Sequence[str] = ()) -> Outcome:
    """Run the integration tests, or those that `only` names, in a pytest of their own; `results` is its output file."""
    folder = sources()
    command = [sys.executable, "-m", "pytest", "-q", "-W", "ignore", "-o", "addopts=", "--tb=short"]
    command += ["-p", "no:cacheprovider", "-p", "no:hypothesispytest", f"--junitxml={results}"]
    command += [f"--ignore=test/integration/{name}" for name in leave_out]
    command += [f"test/integration/{name}" for name in only] or ["test/integration"]
    environment: Mapping[str, str] = {"KAFKA_URI": f"kafka://{bootstrap}", "KAFKA_VERSION": KAFKA_VERSION}
    done = finished(command, cwd=folder, env={**os.environ, **environment}, timeout_s=_TIMEOUT_S)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"pytest ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return _outcome(ElementTree.parse(results).getroot())


def _outcome(report: ElementTree.Element) -> Outcome:
    found = Outcome()
    for case in report.iter("testcase"):
        module = case.attrib["classname"].split(".")[2]
        name = f"{module}.py::{case.attrib['name']}"
        skipped = case.find("skipped")
        flaws = [*case.iter("failure"), *case.iter("error")]
        if flaws:
            found.failed[name] = "\n".join(flaw.text or "" for flaw in flaws)
        elif skipped is not None:
            found.skipped[skipped.attrib["message"]] += 1
        else:
            found.passed.add(name)
    return found
