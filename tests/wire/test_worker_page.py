"""docs/worker.md: its ten minutes run as written; its snippets are valid workers; its defaults are the code's."""

from __future__ import annotations

import inspect
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shareq.client.aio.early import not_before_s
from shareq.protocol.names import NOT_BEFORE
from shareq.testing import Broker
from shareq.worker import Retry, Worker
from tests.support.processes import finished
from tests.support.waiting import until

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "worker.md").read_text()
PYTHON = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
SHELL = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
OUTPUT = [
    text.rstrip("\n")
    for language, text in re.findall(r"^```(\w*)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    if not language
]
PATIENCE_S = 40.0


def test_the_ten_minutes(broker: Broker, tmp_path: Path) -> None:
    packing, sending = PYTHON[:2]
    path = tmp_path / "packing.py"
    path.write_text(packing.replace("127.0.0.1:9092", broker.bootstrap))
    source = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": source, "SHAREQ_BOOTSTRAP_SERVERS": broker.bootstrap}

    def shareq(line: str) -> list[str]:
        words = shlex.split(line)
        assert words[0] == "shareq"
        return [sys.executable, "-m", *words]

    def run(command: list[str]) -> str:
        done = finished(command, cwd=tmp_path, env=environment, timeout_s=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    environment_made, install, serve = SHELL[0].splitlines()
    assert install == "pip install .", "it is on no package index"
    started = (ROOT / "docs" / "start" / "shell.md").read_text()  # whose broker is started as it is written
    assert f"{environment_made}\n" in started
    assert f"{serve}\n" in started
    *topics, start = SHELL[1].splitlines()
    for line in topics:
        run(shareq(line))
    output = tmp_path / "output"
    with output.open("w") as file:
        worker = subprocess.Popen(shareq(start), cwd=tmp_path, env=environment, stdout=file, stderr=file)

    def printed(text: str) -> None:
        until(lambda: text in output.read_text(), text)

    try:
        (tmp_path / "send.py").write_text(sending)
        assert SHELL[2] == "python send.py\n"
        run([sys.executable, "send.py"])
        worked, letter, again = OUTPUT[:3]
        for line in worked.splitlines():
            printed(line.removeprefix("... "))
        for _ in range(100):
            if letters := run(shareq(SHELL[3])):
                break
        place, _, _, *rest = letters.rstrip("\n").split("\t")  # without time and key
        assert "\t".join([place, *rest]) == letter
        assert again not in output.read_text()
        path.write_text(path.read_text().replace("glue = False", "glue = True"))
        printed("1 rejected, 0 lost\n")
        run(shareq(SHELL[4]))
        printed(again)
        marked = letters.replace("\n", "\tsent back\n")
        assert run(shareq(SHELL[3])) == marked, "letters stay in the queue"
    finally:
        worker.terminate()
        assert worker.wait(PATIENCE_S) == 0


def test_the_handlers_of_the_page_are_some() -> None:
    names: dict[str, object] = {}
    exec(compile(PYTHON[2], "worker.md", "exec"), names)
    app = names["app"]
    assert isinstance(app, Worker)
    assert [(each.name, each.executor, each.concurrency, each.prefetch) for each in app.handlers] == [
        ("letters", "asyncio", 50, 50),
        ("reports,summaries", "thread", 8, 8),
        ("videos", "process", 4, 0),
    ]
    assert len(PYTHON) == 4, "each is run"


def test_what_the_page_sends_for_later_has_its_time(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "packing.py").write_text(PYTHON[0].replace("127.0.0.1:9092", broker.bootstrap))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "packing", raising=False)
    topic = broker.topic()
    before = time.time()
    exec(compile(PYTHON[3].replace('"parcels"', repr(topic)), "worker.md", "exec"), {})
    after = time.time()
    pears, plums = broker.records(topic)
    assert (pears.text, plums.text) == ('{"what":"pears"}', '{"what":"plums"}')
    assert before + 90 <= not_before_s(pears.headers.items()) <= after + 90.001
    assert before + 7_200 <= not_before_s(plums.headers.items()) <= after + 7_200.001
    assert f"`{NOT_BEFORE}`" in PAGE


@pytest.mark.parametrize("name", ["topics", "executor", "prefetch", "timeout", "retry", "decode", "concurrency"])
def test_the_options_of_the_page_are_those_of_the_code(name: str) -> None:
    option = inspect.signature(Worker.handler).parameters[name]
    assert name == "topics" or re.search(rf"^\| `{name}` \|", PAGE, re.MULTILINE)
    said = {"concurrency": 1, "prefetch": None, "executor": None, "timeout": None, "retry": None, "decode": "bytes"}
    assert name == "topics" or option.default == said[name]


def test_the_retry_of_the_page_is_that_of_the_code() -> None:
    assert "`Retry(max=3, delay=1, factor=2, longest=300, on=(BaseException,))`" in PAGE
    assert Retry() == Retry(max=None, delay=0, factor=2, longest=300, on=(BaseException,))
