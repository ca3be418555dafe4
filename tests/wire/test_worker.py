"""Workers in processes of their own on a real broker: accepted, retried, given up, kept, stopped, killed."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider

from devtools.clients.admin import configure_group, create_topic, produce
from devtools.ports import free_port
from shareq.testing import Broker
from shareq.worker import Worker

PATIENCE_S = 40.0
ROOT = Path(__file__).resolve().parents[2]
MODULE = """
import asyncio, os, time
from shareq.worker import Later, Message, Reject, Retry, Worker

def log(*words):
    with open("seen", "a") as file:
        file.write(" ".join(map(str, (*words, os.getpid(), time.monotonic()))) + "\\n")

"""
EARLIEST = {"share.auto.offset.reset": "earliest"}
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    config = {
        "group.share.min.record.lock.duration.ms": "1000",
        "errors.deadletterqueue.auto.create.topics.enable": "true",
    }
    with Broker(config=config) as running:
        yield running


class Running:
    """`shareq worker run` in a folder of its own. `seen` has the words of each line its handlers wrote."""

    def __init__(self, broker: Broker, folder: Path, code: str, *options: str) -> None:
        self.topic = f"jobs-{next(_numbers)}"
        self.group = f"{self.topic}-workers"
        self.folder = folder
        self.bootstrap = broker.bootstrap
        self.options = options
        self.processes: list[subprocess.Popen[bytes]] = []
        create_topic(broker.bootstrap, self.topic)
        (folder / "jobs.py").write_text(MODULE + code.replace("TOPIC", self.topic).replace("GROUP", self.group))

    def configure(self, **configs: str) -> None:
        configure_group(self.bootstrap, self.group, EARLIEST | {k.replace("_", "."): v for k, v in configs.items()})

    def send(self, *values: str) -> None:
        produce(self.bootstrap, self.topic, [(0, value.encode()) for value in values])

    def start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "shareq", "worker", "run", "jobs:app", "-b", self.bootstrap, *self.options]
        path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
        with open(self.folder / "log", "ab") as log:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONPATH": path, "SHAREQ_BOOTSTRAP_SERVERS": self.bootstrap},
            )
        self.processes.append(process)
        return process

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    @property
    def seen(self) -> list[list[str]]:
        path = self.folder / "seen"
        return [line.split() for line in path.read_text().splitlines()] if path.exists() else []

    def until(self, condition: Callable[[list[list[str]]], object]) -> list[list[str]]:
        deadline = time.monotonic() + PATIENCE_S
        while not condition(self.seen):
            assert time.monotonic() < deadline, f"{self.seen}\n{self.log}"
            time.sleep(0.01)
        return self.seen

    def until_logged(self, text: str) -> None:
        self.until(lambda _: text in self.log)

    def stop(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.terminate()
        for process in self.processes:
            assert process.wait(PATIENCE_S) in (0, -signal.SIGKILL, -signal.SIGTERM), self.log


@pytest.fixture
def work(broker: Broker, tmp_path: Path) -> Iterator[Callable[..., Running]]:
    made: list[Running] = []

    def make(code: str, *options: str, **configs: str) -> Running:
        made.append(Running(broker, tmp_path, code, *options))
        made[-1].configure(**configs)
        return made[-1]

    yield make
    for each in made:
        each.stop()


def values(seen: list[list[str]]) -> list[str]:
    return [words[0] for words in seen]


def test_records_are_accepted_once(work: Callable[..., Running]) -> None:
    running = work(
        """
app = Worker(group="GROUP")
@app.handler("TOPIC", concurrency=4, decode="json")
async def handle(value, message):
    log(value["n"], message.topic, message.offset, message.attempt)
"""
    )
    running.send(*(json.dumps({"n": n}) for n in range(50)))
    running.start()
    seen = running.until(lambda seen: len(seen) >= 50)
    running.stop()
    assert [words[:4] for words in sorted(seen, key=lambda words: int(words[0]))] == [
        [str(n), running.topic, str(n), "1"] for n in range(50)
    ]
    assert f"{running.topic}: 50 done, 0 retried, 0 rejected, 0 lost" in running.log
    running.start()  # nothing is left for another one
    running.send('{"n": 50}')
    assert values(running.until(lambda seen: len(seen) > 50))[50:] == ["50"]


def test_poison_is_a_dead_letter(work: Callable[..., Running], broker: Broker) -> None:
    running = work(
        """
app = Worker(group="GROUP", group_config={"errors.deadletterqueue.topic.name": "dlq.TOPIC",
                                          "errors.deadletterqueue.copy.record.enable": "true"})
@app.handler("TOPIC", decode="json")
async def handle(value):
    log(value)

letters = Worker(group="GROUP-letters", group_config={"share.auto.offset.reset": "earliest"})
@letters.handler("dlq.TOPIC")
def letter(value, message):
    headers = dict(message.headers)
    log("letter", value.decode(), headers["__dlq.errors.offset"].decode())
"""
    )
    running.send("1", "no JSON", "2")
    running.start()
    running.until_logged("rejected")
    running.until(lambda seen: sorted(values(seen)) == ["1", "2"])
    running.stop()
    command = [sys.executable, "-m", "shareq", "worker", "run", "jobs:letters", "-b", broker.bootstrap]
    with open(tmp_log(running), "ab") as log:
        process = subprocess.Popen(command, cwd=running.folder, stdout=log, stderr=log)
    running.processes.append(process)
    seen = running.until(lambda seen: len(seen) == 3)
    assert seen[2][:4] == ["letter", "no", "JSON", "1"]


def tmp_log(running: Running) -> Path:
    return running.folder / "log"


SLOW = """
app = Worker(group="GROUP")
@app.handler("TOPIC", concurrency=2)
async def handle(value):
    log("begin", value.decode())
    await asyncio.sleep(60 if value == b"endless" else 1)
    log("end", value.decode())
"""


def test_on_sigterm_what_was_begun_is_finished_and_nothing_begun(work: Callable[..., Running]) -> None:
    running = work(SLOW)
    running.send("a", "b", "c", "d")
    process = running.start()
    running.until(lambda seen: len(seen) == 2)
    process.terminate()
    assert process.wait(PATIENCE_S) == 0
    assert [words[:2] for words in running.seen] == [["begin", "a"], ["begin", "b"], ["end", "a"], ["end", "b"]]
    running.start()  # the rest was released
    running.until(lambda seen: len(seen) == 8)


def test_what_does_not_finish_in_time_is_released(work: Callable[..., Running]) -> None:
    running = work(SLOW, "--stop-timeout", "0.2")
    running.send("endless")
    first = running.start()
    running.until(lambda seen: len(seen) == 1)
    first.terminate()
    assert first.wait(PATIENCE_S) == 0
    assert "1 handlers have not finished" in running.log
    second = running.start()
    running.until(lambda seen: len(seen) == 2)
    second.kill()


def test_a_second_signal_does_not_wait(work: Callable[..., Running]) -> None:
    running = work(SLOW, "--stop-timeout", "3600")
    running.send("endless")
    process = running.start()
    running.until(lambda seen: len(seen) == 1)
    process.terminate()
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    process.terminate()
    assert process.wait(PATIENCE_S) == 0


def test_processes_work_side_by_side_and_one_that_dies_is_replaced(work: Callable[..., Running]) -> None:
    running = work(
        """
app = Worker(group="GROUP")
@app.handler("TOPIC", concurrency=2, executor="process", timeout=20)
def handle(value, message):
    log(value.decode(), message.attempt)
    if value == b"dies" and message.attempt == 1:
        os._exit(3)
    if value.startswith(b"meet"):  # ends when both are at work
        while sum(line.startswith("meet") for line in open("seen")) < 2:
            time.sleep(0.01)
"""
    )
    worker = running.start()
    running.send("dies", "meet1", "meet2")
    seen = running.until(lambda seen: len(seen) == 4)
    running.stop()
    assert Counter(values(seen)) == {"dies": 2, "meet1": 1, "meet2": 1}
    pids = {words[0]: int(words[-2]) for words in seen}
    assert pids["meet1"] != pids["meet2"]
    assert worker.pid not in pids.values()
    assert "WorkerDied('its process ended with code 3'): released" in running.log
    assert " 3 done, 1 retried" in running.log


def test_records_of_one_key_come_in_their_order_where_the_group_has_it(work: Callable[..., Running]) -> None:
    running = work(
        """
app = Worker(group="GROUP", group_config={"shareq.order": "key"})
@app.handler("TOPIC", concurrency=8, retry=Retry(delay=0.02))
async def handle(value, message):
    if message.attempt == 1 and value.endswith(b"3"):
        raise ValueError
    await asyncio.sleep(0.001 * (message.offset % 7))
    log(message.key.decode(), value.decode())
"""
    )
    with Worker(running.bootstrap, group="any").sender() as sender:
        for number in range(60):
            sender.send(running.topic, str(number), key=f"k{number % 3}")
    running.start()
    running.start()
    seen = running.until(lambda seen: len(seen) >= 60)
    for key in ("k0", "k1", "k2"):
        numbers = [int(words[1]) for words in seen if words[0] == key]
        assert numbers == sorted(numbers), key


@pytest.mark.parametrize("executor", ["asyncio", "thread", "process"])
def test_a_trace_goes_from_the_sender_through_the_handler_to_what_that_sends(
    work: Callable[..., Running], executor: str
) -> None:
    running = work(
        f"""
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
trace.set_tracer_provider(TracerProvider())
app = Worker(os.environ["SHAREQ_BOOTSTRAP_SERVERS"], group="GROUP")
sender = app.sender()
@app.handler("TOPIC", executor="{executor}")
{"async " if executor == "asyncio" else ""}def handle(value, message):
    span = trace.get_current_span().get_span_context()
    parent = dict(message.headers)["traceparent"].decode()
    log(value.decode(), format(span.trace_id, "032x"), format(span.span_id, "016x"), parent)
    if value == b"first":
        sender.send("TOPIC", "second")
"""
    )
    tracer = TracerProvider().get_tracer("test")
    with tracer.start_as_current_span("the caller") as span, Worker(running.bootstrap, group="any").sender() as sender:
        sender.send(running.topic, "first")
        mine = span.get_span_context()
    with Worker(running.bootstrap, group="any").sender() as sender:
        sender.send(running.topic, "own", headers={"traceparent": f"00-{'1' * 32}-{'2' * 16}-01"})
    running.start()
    seen = {words[0]: words[1:4] for words in running.until(lambda seen: len(seen) == 3)}
    trace_id = format(mine.trace_id, "032x")
    assert seen["first"][0] == trace_id
    assert seen["first"][2].startswith(f"00-{trace_id}-{mine.span_id:016x}-")
    assert seen["second"][0] == trace_id
    assert seen["second"][2].startswith(f"00-{trace_id}-{seen['first'][1]}-"), "the handler's span is the parent"
    assert seen["own"][0] == "1" * 32


def test_health_and_metrics(work: Callable[..., Running]) -> None:
    port = free_port()
    running = work(SLOW, "--health", f"127.0.0.1:{port}", "--stop-timeout", "3600")
    running.send("a", "endless")
    process = running.start()
    running.until(lambda seen: "end" in values(seen))

    def get(path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=20) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    deadline = time.monotonic() + PATIENCE_S
    expected = {"assigned": True, "working": 1, "finished": 1}
    while json.loads(get("/healthz")[1])["handlers"][running.topic] != expected:
        assert time.monotonic() < deadline, get("/healthz")
    assert get("/healthz")[0] == 200
    assert f'shareq_worker_working{{group="{running.group}",topic="{running.topic}"}} 1' in get("/metrics")[1]
    assert get("/elsewhere")[0] == 404
    process.terminate()
    while get("/healthz")[0] != 503:
        assert time.monotonic() < deadline
    process.terminate()
    assert process.wait(PATIENCE_S) == 0


def test_a_worker_starts_again_when_its_file_changes(work: Callable[..., Running]) -> None:
    code = (
        '\napp = Worker(group="GROUP")\n@app.handler("TOPIC")\nasync def handle(value): log("WORD", value.decode())\n'
    )
    running = work(code.replace("WORD", "before"), "--reload")
    process = running.start()
    running.send("a")
    running.until(lambda seen: values(seen) == ["before"])
    path = running.folder / "jobs.py"
    path.write_text(path.read_text().replace("before", "after"))
    running.until_logged("1 done, 0 retried")  # the first one's last line
    running.send("b")
    running.until(lambda seen: values(seen) == ["before", "after"])
    good = path.read_text()
    path.write_text("this is no Python\n")
    running.until_logged("SyntaxError")
    path.write_text(good)
    running.send("c")
    running.until(lambda seen: len(seen) == 3)
    running.stop()
    assert [words[:2] for words in running.seen] == [["before", "a"], ["after", "b"], ["after", "c"]]
    assert process.returncode == 0


def test_a_sender_puts_values_of_a_key_into_one_partition(broker: Broker) -> None:
    topic = f"sent-{next(_numbers)}"
    create_topic(broker.bootstrap, topic, 3)
    with Worker(broker.bootstrap, group="any").sender() as sender:
        places = [sender.send(topic, {"n": n}, key="k", headers={"h": "x"}) for n in range(4)]
        spread = {sender.send(topic, "x")[0] for _ in range(3)}
    assert places == [(places[0][0], n) for n in range(4)]
    assert spread == {0, 1, 2}
