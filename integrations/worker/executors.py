"""Ways to run handlers: on the event loop, in threads, in processes.

Each call has one slot, and at most one at a time. Threads are daemons, so that a hanging one does not prevent the
process from ending. A process that takes too long is killed, and another one takes its place.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import multiprocessing
import pickle
import queue
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any, Final, Protocol

from shareq.worker.job import Call, HandlerTimeout, Message, WorkerDied
from shareq.worker.tracebacks import note_users_frames
from shareq.worker.tracing import carried, under

_SPAWN: Final = multiprocessing.get_context("spawn")  # a fork would copy the event loop and its sockets
END_S: Final = 5.0


class Executor(Protocol):
    """A runner of one handler's calls."""

    async def start(self) -> None:
        """Prepare for calls."""

    async def run(self, message: Message) -> None:
        """Call the handler, and return when it has returned. Raise its exception, HandlerTimeout, WorkerDied."""

    def stop(self) -> None:
        """Release all resources, without waiting for running calls."""


class OnLoop:
    """An executor of coroutines. One that takes too long is cancelled."""

    def __init__(self, call: Call, timeout_s: float | None) -> None:
        self._call = call
        self._timeout_s = timeout_s

    async def start(self) -> None:
        pass

    async def run(self, message: Message) -> None:
        if self._timeout_s is None:
            await self._call(message)
            return
        limit = asyncio.timeout(self._timeout_s)
        try:
            async with limit:
                await self._call(message)
        except TimeoutError as error:
            if limit.expired():
                raise HandlerTimeout(f"took longer than {self._timeout_s:g} s") from error
            raise

    def stop(self) -> None:
        pass


class InThreads:
    """An executor of functions in `count` threads.

    A call that takes too long continues, but its record is released, and a new thread replaces its thread.
    """

    def __init__(self, call: Call, timeout_s: float | None, count: int) -> None:
        self._threads = Threads(count)
        self._call = call
        self._timeout_s = timeout_s

    async def start(self) -> None:
        self._threads.start()

    async def run(self, message: Message) -> None:
        context = contextvars.copy_context()  # the span, if there is one
        job = self._threads.submit(lambda: context.run(_called, self._call, message))
        if self._timeout_s is not None:
            _, late = await asyncio.wait([job.future], timeout=self._timeout_s)
            if late:
                self._threads.abandon(job)
                raise HandlerTimeout(f"took longer than {self._timeout_s:g} s; its thread goes on")
        await job.future

    def stop(self) -> None:
        self._threads.stop()


class InProcesses:
    """An executor of functions in `count` processes; for each, a thread here waits."""

    def __init__(self, call: Call, timeout_s: float | None, count: int) -> None:
        pickled = _pickled(call)
        self._timeout_s = timeout_s
        self._threads = Threads(count)
        self._all = [_Child(pickled) for _ in range(count)]
        self._idle: queue.SimpleQueue[_Child] = queue.SimpleQueue()

    async def start(self) -> None:
        self._threads.start()
        await asyncio.gather(*(self._threads.submit(child.start).future for child in self._all))
        for child in self._all:
            self._idle.put(child)

    async def run(self, message: Message) -> None:
        headers = carried()  # the span: a process has a context of its own
        await self._threads.submit(lambda: self._run(message, headers)).future

    def stop(self) -> None:
        self._threads.stop()
        for child in self._all:
            child.end()

    def _run(self, message: Message, headers: dict[str, str]) -> None:
        child = self._idle.get()
        try:
            child.run(message, headers, self._timeout_s)
        finally:
            self._idle.put(child)


class _Child:
    """One process; used by one thread at a time."""

    def __init__(self, pickled: bytes) -> None:
        self._pickled = pickled
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None
        self._ended = False

    def start(self) -> None:
        """Start the process, and wait until it has imported the handler's module.

        Raises the error of the import, WorkerDied.
        """
        self._pipe, theirs = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=_serve, args=(theirs, self._pickled), daemon=True)
        self._process.start()
        theirs.close()
        try:
            self._result()
        except Exception:
            raise
        except BaseException as error:  # of the module: it would end the worker
            raise WorkerDied(f"its module raised {error!r} when it was imported") from None

    def run(self, message: Message, headers: dict[str, str], timeout_s: float | None) -> None:
        if self._process is None:
            self.start()
        assert self._pipe is not None
        try:
            self._pipe.send((message, headers))
            answered = self._pipe.poll(timeout_s)
        except OSError:
            self._gone()
        if not answered:
            self._kill()
            raise HandlerTimeout(f"took longer than {timeout_s:g} s; its process was killed")
        self._result()

    def end(self) -> None:
        """End the process once the executor has finished its calls; soon, or by force."""
        self._ended = True
        process, pipe = self._process, self._pipe
        if process is not None and pipe is not None:
            process.terminate()

    def _result(self) -> None:
        assert self._pipe is not None
        try:
            error = self._pipe.recv()
        except (EOFError, OSError):
            self._gone()
        if error is not None:
            raise error

    def _gone(self) -> None:
        process = self._process
        assert process is not None
        process.join(END_S)
        code = process.exitcode
        self._kill()
        raise WorkerDied(f"its process ended with code {code}")

    def _kill(self) -> None:
        assert self._process is not None
        assert self._pipe is not None
        self._process.kill()
        self._process.join()
        self._pipe.close()
        self._process = self._pipe = None


def _serve(pipe: Connection, pickled: bytes) -> None:
    """Serve calls in a child process until its parent ends: receive message and context, send an error or None."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal: the parent sees to the end
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with contextlib.suppress(EOFError, OSError):
        try:
            call: Call = pickle.loads(pickled)
        except BaseException as error:
            pipe.send(_sendable(error))
            return
        pipe.send(None)
        while True:
            message: Message
            headers: dict[str, str]
            message, headers = pipe.recv()
            pipe.send(_outcome(call, message, headers))


def _outcome(call: Call, message: Message, headers: dict[str, str]) -> BaseException | None:
    try:
        with under(headers):
            _called(call, message)
    except BaseException as error:  # sys.exit() is a failure of its record: the process goes on
        note_users_frames(error)
        return _sendable(error)
    return None


def _called(call: Call, message: Message) -> None:
    found = call(message)
    if asyncio.iscoroutine(found):
        asyncio.run(found)


def _sendable(error: BaseException) -> BaseException:
    """Return the exception, or one of its nearest class that can be pickled."""
    try:
        if isinstance(pickle.loads(pickle.dumps(error)), BaseException):
            return error
    except Exception:  # of its own __init__, or __reduce__
        pass
    made = RuntimeError(f"{type(error).__name__}: {error}")
    for note in getattr(error, "__notes__", ()):
        made.add_note(note)
    return made


def _pickled(call: Call) -> bytes:
    try:
        return pickle.dumps(call)
    except Exception as error:
        raise ValueError(f"{call.function.__name__}: not to be found by another process: {error}") from error


class Job:
    """A call for a thread to make. The future is of the loop that created the job."""

    __slots__ = ("abandoned", "function", "future", "loop")

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function = function
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()
        self.abandoned = False

    def __call__(self) -> None:
        try:
            result, error = self.function(), None
        except BaseException as raised:
            result, error = None, raised
        with contextlib.suppress(RuntimeError):  # the loop is closed: nothing waits for it
            self.loop.call_soon_threadsafe(_settle, self.future, result, error)


class Threads:
    """`count` daemon threads that call the given functions."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()

    def start(self) -> None:
        for _ in range(self._count):
            self._start_one()

    def stop(self) -> None:
        """End each thread after its current call."""
        for _ in range(self._count):
            self._jobs.put(None)

    def submit(self, function: Callable[[], Any]) -> Job:
        """Have a free thread call a function."""
        job = Job(function)
        self._jobs.put(job)
        return job

    def abandon(self, job: Job) -> None:
        """Replace the thread of this call; the old thread ends after the call."""
        job.future.cancel()
        job.abandoned = True
        self._start_one()

    def _start_one(self) -> None:
        threading.Thread(target=self._run, name="handler", daemon=True).start()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
            if job.abandoned:
                return


def _settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    elif isinstance(error, StopIteration):  # a future refuses it
        future.set_exception(RuntimeError(repr(error)))
    else:
        future.set_exception(error)
