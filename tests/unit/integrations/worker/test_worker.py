"""A worker's handlers, its command line, and restarts after changes."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from shareq.client.errors import ConfigError
from shareq.ops.cli.main import main
from shareq.worker import Message, Worker
from shareq.worker.group import GroupFacts
from shareq.worker.health import HealthServer
from shareq.worker.reload import changes
from shareq.worker.tracing import _api, carried, spans, under


async def coroutine(value: bytes) -> None:
    pass


def function(value: bytes) -> None:
    pass


def test_coroutines_run_on_the_loop_and_other_functions_in_threads() -> None:
    app = Worker(group="g")
    assert app.handler("a")(coroutine) is coroutine
    app.handler("b", "c", concurrency=3)(function)
    app.handler("d", concurrency=3, prefetch=0, executor="process")(function)
    assert [each.executor for each in app.handlers] == ["asyncio", "thread", "process"]
    assert [each.prefetch for each in app.handlers] == [1, 3, 0]
    assert [each.name for each in app.handlers] == ["a", "b,c", "d"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"concurrency": 0}, "concurrency must be 1 or more"),
        ({"prefetch": -1}, "prefetch 0 or more"),
        ({"timeout": 0}, "timeout above 0"),
        ({"executor": "asyncio"}, "is no coroutine"),
        ({"executor": "gevent"}, "must be one of asyncio, thread, process"),
        ({"decode": "xml"}, "must be one of bytes, text, json"),
    ],
)
def test_handlers_that_cannot_be_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        Worker(group="g").handler("a", **options)(function)


def test_workers_that_cannot_be_are_refused() -> None:
    with pytest.raises(ConfigError, match="group: must not be empty"):
        Worker(group="")
    with pytest.raises(ConfigError, match="nowhere"):
        Worker("nowhere", group="g")
    with pytest.raises(ConfigError, match="must have a topic"):
        Worker(group="g").handler()
    with pytest.raises(ConfigError, match="must be HOST:PORT"):
        HealthServer("8000", None)  # type: ignore[arg-type]


def test_a_lock_is_renewed_for_the_handler_and_the_wait_after_it() -> None:
    app = Worker(group="g")
    app.handler("a", timeout=100)(function)
    app.handler("a")(function)
    assert [each.renew_s for each in app.handlers] == [100 + 300 + 60, 3600 + 300 + 60]


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("packing", "must be MODULE:APP"),
        ("no_such_module:app", "there is no module no_such_module"),
        ("a_worker_module:other", "other is no shareq.worker.Worker of a_worker_module; it has app"),
        ("a_worker_module:app", "the worker has no handlers"),
    ],
)
def test_a_target_that_is_no_worker(target: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a_worker_module.py").write_text('from shareq.worker import Worker\napp = Worker(group="g")\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "a_worker_module", raising=False)
    ran = CliRunner().invoke(main, ["worker", "run", target])
    assert (ran.exit_code, text in ran.stderr) == (2, True), ran.stderr


def test_a_cluster_that_is_away_ends_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "from shareq.worker import Worker\n"
        'app = Worker("127.0.0.1:1", group="g", properties={"default.api.timeout.ms": "300"})\n'
        'app.handler("a")(lambda value: None)\n'
    )
    (tmp_path / "an_away_module.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    ran = CliRunner().invoke(main, ["worker", "run", "an_away_module:app"])
    assert (ran.exit_code, "127.0.0.1:1" in ran.stderr) == (1, True), ran.stderr


def test_changes_are_those_of_python_files(tmp_path: Path) -> None:
    (tmp_path / ".venv").mkdir()
    (tmp_path / "package").mkdir()
    for name in (".venv/hidden.py", "package/a.py", "b.py", "c.txt"):
        (tmp_path / name).touch()
    before = changes(str(tmp_path))
    assert {os.path.relpath(path, tmp_path) for path in before} == {"package/a.py", "b.py"}
    os.utime(tmp_path / "b.py", ns=(1, 1))
    os.utime(tmp_path / "c.txt", ns=(1, 1))
    after = changes(str(tmp_path))
    assert {path for path in after if after[path] != before[path]} == {str(tmp_path / "b.py")}


def test_a_span_is_a_child_of_the_one_that_sent_the_record() -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    parent = "4bf92f3577b34da6a3ce929d0e0e4736"
    header = ("traceparent", f"00-{parent}-00f067aa0ba902b7-01".encode())
    with spans("g")(Message("t", 1, 7, None, b"", (header,), -1, 3)):
        pass
    (span,) = exporter.get_finished_spans()
    assert (span.name, format(span.context.trace_id, "032x")) == ("process t", parent)
    attributes = dict(span.attributes or {})
    assert attributes["messaging.consumer.group.name"] == "g"
    assert attributes["messaging.kafka.message.delivery_count"] == 3


def test_without_opentelemetry_there_are_no_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.propagate", None)
    _api.cache_clear()
    try:
        with spans("g")(Message("t", 1, 7, None, b"", (), -1, 3)) as span:
            assert span is None
        with under({"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}):
            assert carried() == {}
    finally:
        _api.cache_clear()


@pytest.mark.parametrize(
    ("code", "refusal"),
    [
        ('@app.handler("t")\ndef pack(): pass', "pack: a handler takes the value, or the value and the message"),
        ('@app.handler("t")\ndef pack(value, *, more): pass', "pack: a handler takes the value"),
        ("@app.handler\ndef pack(value): pass", "handler: must have a topic"),
        ('app.handler("t", retry=Retry(on=OSError))', "Retry: on is <class 'OSError'>: must be a tuple of exceptions"),
        ('app.handler("t", timeout=float("nan"))', "handler: concurrency must be 1 or more"),
        ('app.handler("t", executor="process")(lambda value: None)', "<lambda>: not to be found by another process"),
        ('Worker(group="g", max_delay=-1)', "max_delay is -1: must be a number of seconds, 0 or more"),
    ],
)
def test_a_handler_that_cannot_be_is_one_line(
    code: str, refusal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"wrong_{abs(hash(code))}"
    (tmp_path / f"{name}.py").write_text(
        f'from shareq.worker import Retry, Worker\napp = Worker("127.0.0.1:1", group="g")\n{code}\n'
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(Worker, "prepare_group", lambda _: GroupFacts())
    result = CliRunner().invoke(main, ["worker", "run", f"{name}:app", "--quiet"])
    assert result.exit_code == 2
    (line,) = [each for each in result.output.splitlines() if each.strip()]
    assert line.startswith("shareq: ")
    assert refusal in line


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_worker_whose_cluster_is_away(number: signal.Signals) -> None:
    """The worker once waited for the cluster for a minute and ignored the signal."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # and not listening
        properties = {"default.api.timeout.ms": "5000"}
        app = Worker(f"127.0.0.1:{closed.getsockname()[1]}", group="g", properties=properties)
        app.handler("t")(coroutine)

        async def run() -> None:
            asyncio.get_running_loop().call_later(0.05, os.kill, os.getpid(), number)
            await app.serve(signals=True)

        began = time.monotonic()
        asyncio.run(run())
        assert time.monotonic() - began < 4
        for thread in threading.enumerate():  # it would log into other tests and use their random numbers
            if thread.name == "prepare_group":
                thread.join()
