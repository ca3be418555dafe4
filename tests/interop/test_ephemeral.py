"""The tests of examples/testing/ephemeral in Java, Node and Go, each of which starts `shareq serve --ephemeral`."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

from devtools.kafka.apache_kafka import class_path
from shareq.testing.broker import child_environment
from tests.interop.support.broker_under_test import Kind
from tests.interop.support.clients.commands import Unavailable
from tests.interop.support.clients.programs import with_franz_go, with_kafkajs
from tests.interop.support.java_driver import why_no_java
from tests.support.processes import finished

pytestmark = pytest.mark.interop

EXAMPLES: Final = Path(__file__).resolve().parents[2] / "examples" / "testing" / "ephemeral"
TIMEOUT_S: Final = 180


@pytest.fixture(scope="module", autouse=True)
def _ours_alone(broker_kind: Kind) -> None:
    if broker_kind == "apache":
        pytest.skip("its suites start their brokers themselves")


def run(command: Sequence[str], folder: Path, temporary: Path, **environment: str) -> str:
    """Return a test's output, with `shareq` on its PATH; its broker must leave nothing behind."""
    temporary.mkdir()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    variables: Mapping[str, str] = {**child_environment(), "PATH": path, "TMPDIR": str(temporary), **environment}
    done = finished(command, cwd=folder, env=variables, timeout_s=TIMEOUT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [each.name for each in temporary.iterdir() if each.name.startswith("shareq")] == []
    return done.stdout


@pytest.mark.skipif(why_no_java() is not None, reason=str(why_no_java()))
def test_in_java(tmp_path: Path) -> None:
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", class_path(), "OrdersTest.java"]
    assert run(command, EXAMPLES, tmp_path / "temporary").splitlines()[-1] == "1 test passed"


def test_in_node(tmp_path: Path) -> None:
    try:
        modules = with_kafkajs()
    except Unavailable as error:
        pytest.skip(str(error))
    (tmp_path / "node_modules").symlink_to(modules / "node_modules")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    shutil.copy(EXAMPLES / "orders.test.js", tmp_path)
    printed = run(["node", "--test", "--test-reporter=tap", "orders.test.js"], tmp_path, tmp_path / "temporary")
    assert re.search(r"^# pass 1$", printed, re.MULTILINE), printed


def test_in_go(tmp_path: Path) -> None:
    try:
        module = with_franz_go()
    except Unavailable as error:
        pytest.skip(str(error))
    for each in (module / "go.mod", module / "go.sum", EXAMPLES / "orders_test.go"):
        shutil.copy(each, tmp_path)
    command = ["go", "test", "-mod=readonly", "-v", "-count=1", "."]
    assert "--- PASS: TestAnOrderIsWrittenAndRead" in run(command, tmp_path, tmp_path / "temporary", CGO_ENABLED="0")
