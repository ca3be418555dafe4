"""Handlers on the loop, in threads and in processes: slow calls, deaths, and results that cannot be sent back."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shareq.worker import Message
from shareq.worker.executors import Executor, InProcesses, InThreads, OnLoop
from shareq.worker.job import Call, HandlerTimeout, WorkerDied
from tests.unit.integrations.worker import handlers


def call(function: Callable[..., Any]) -> Call:
    return Call(function, "bytes", False)


def message(value: bytes = b"") -> Message:
    return Message("t", 0, 0, None, value, (), -1, 1)


async def test_a_coroutine_that_takes_too_long_is_cancelled() -> None:
    cancelled = asyncio.Event()

    async def endless(value: bytes) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    with pytest.raises(HandlerTimeout, match=r"longer than 0\.01 s"):
        await OnLoop(call(endless), 0.01).run(message())
    assert cancelled.is_set()


async def test_a_timeout_of_the_coroutines_own_is_its_own_error() -> None:
    async def impatient(value: bytes) -> None:
        raise TimeoutError("of a socket")

    with pytest.raises(TimeoutError, match="of a socket"):
        await OnLoop(call(impatient), 60).run(message())


async def test_threads_work_side_by_side() -> None:
    both = threading.Barrier(2)
    executor = InThreads(call(lambda value: both.wait(20)), None, 2)
    await executor.start()
    await asyncio.gather(executor.run(message()), executor.run(message()))
    executor.stop()


async def test_a_thread_that_hangs_is_replaced() -> None:
    go_on = threading.Event()
    executor = InThreads(call(lambda value: go_on.wait(20) if value == b"hang" else None), 0.05, 1)
    await executor.start()
    with pytest.raises(HandlerTimeout, match="its thread goes on"):
        await executor.run(message(b"hang"))
    for _ in range(3):
        await asyncio.wait_for(executor.run(message()), 20)
    go_on.set()
    executor.stop()


async def test_threads_see_the_context_of_the_call() -> None:
    variable = contextvars.ContextVar("variable", default=0)
    seen: list[int] = []
    executor = InThreads(call(lambda value: seen.append(variable.get())), None, 1)
    await executor.start()
    variable.set(5)
    await executor.run(message())
    executor.stop()
    assert seen == [5]


@pytest.mark.parametrize(
    "exception",
    [ValueError("no"), StopIteration("no"), SystemExit("no"), KeyboardInterrupt("no"), asyncio.CancelledError("no")],
)
async def test_what_a_thread_raises_is_raised(exception: BaseException) -> None:
    def fail(value: bytes) -> None:
        raise exception

    executor: Executor = InThreads(call(fail), None, 1)
    await executor.start()
    with pytest.raises((RuntimeError, type(exception)), match="no"):
        await executor.run(message())
    executor.stop()


async def test_a_process_sends_its_frames_as_a_note() -> None:
    executor = InProcesses(call(handlers.fail), None, 1)
    await executor.start()
    with pytest.raises(LookupError) as caught:
        await executor.run(message(b"gone"))
    executor.stop()
    (note,) = caught.value.__notes__
    assert note.startswith("In its process:\n")
    assert "in fail" in note
    assert "shareq/worker" not in note


async def test_processes_are_others_than_this_one(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    for function in (handlers.write_pid, handlers.write_pid_async):
        executor = InProcesses(call(function), None, 1)
        await executor.start()
        await executor.run(message(str(pids).encode()))
        await executor.run(message(str(pids).encode()))
        executor.stop()
    first, second, third, fourth = pids.read_text().split()
    assert first == second != third == fourth


async def test_what_goes_wrong_in_processes() -> None:
    cases: list[tuple[Callable[..., Any], float | None, bytes, type[BaseException], str]] = [
        (handlers.leave, None, b"enough", SystemExit, "enough"),
        (handlers.fail, None, b"gone", LookupError, "gone"),
        (handlers.fail_oddly, None, b"", RuntimeError, "Odd: ab"),
        (handlers.die, None, b"", WorkerDied, "ended with code 7"),
        (handlers.sleep, 0.05, b"60", HandlerTimeout, "its process was killed"),
    ]
    for function, timeout_s, value, error, text in cases:
        executor = InProcesses(call(function), timeout_s, 1)
        await executor.start()
        for _ in range(2):  # there is a process for the next one, too
            with pytest.raises(error, match=text):
                await executor.run(message(value))
        executor.stop()


def test_a_function_that_no_other_process_finds_is_refused() -> None:
    with pytest.raises(ValueError, match="not to be found by another process"):
        InProcesses(call(lambda value: None), None, 1)
