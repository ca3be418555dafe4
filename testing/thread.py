"""A broker on its own event loop, in a daemon thread of the test's process."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, ClassVar

from shareq.testing.failure import CALL_TIMEOUT_S, BrokerFailed
from shareq.testing.launch import Launch

if TYPE_CHECKING:
    from shareq.broker.process.serve import Wanted
    from shareq.broker.process.server import Server
    from shareq.testing.inside.world import Inside


class ThreadBroker:
    """A broker in a thread. It takes the options of `shareq serve`, and refuses invalid ones with the same messages."""

    def __init__(self, launch: Launch) -> None:
        from shareq.testing.inside.world import Inside, Start

        self.host, self.port, self.pid = "127.0.0.1", 0, os.getpid()
        self.metrics_url: str | None = None
        self.records_api_url: str | None = None
        self._inside = Inside(Start(launch.ahead_ms, not launch.own_dir), self._on_crash)
        self._server: Server | None = None
        self._stop_timeout_s = launch.stop_timeout_s
        self._crash: asyncio.Task[None] | None = None
        self._failure: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._started = threading.Event()
        self._log = open(launch.log_path, "a")  # noqa: SIM115  (closed with the broker)
        try:
            self._begin(launch)
        except BaseException:
            self._log.close()
            raise

    def _begin(self, launch: Launch) -> None:
        wanted, levels, log_format, insecure = _options(launch)
        self._thread = threading.Thread(
            target=self._run, args=(wanted, insecure, self._inside), name="shareq-broker", daemon=True
        )
        self._capture = _Capture(self._thread, self._log, levels, log_format)
        self._capture.begin()
        self._thread.start()
        started = self._started.wait(launch.start_timeout_s)
        if started and self._failure is None:
            return
        self._thread.join(launch.stop_timeout_s if started else 0)
        self._capture.end()
        why = f"shareq: {self._failure}" if started else f"it does not listen after {launch.start_timeout_s:g} s"
        self._log.flush()
        raise BrokerFailed(f"did not start:\n{why}") from self._failure

    @property
    def crashed(self) -> bool:
        """True if a fault has ended the broker."""
        return self._crash is not None

    def hits_at_crash(self) -> dict[int, int]:
        """Return how often each fault had been applied at the crash."""
        return dict(self._inside.interceptor.states()) if self.crashed else {}

    def call(self, name: str, **arguments: Any) -> Any:
        """Have a command carried out.

        Raise ValueError for an invalid command, and BrokerFailed if the broker has ended.
        """
        if self._loop is None or self._loop.is_closed() or self.crashed:
            raise BrokerFailed("the broker is gone")
        outcome: Future[Any] = Future()

        def run() -> None:
            try:
                self._inside.run(name, arguments, outcome.set_result)
            except Exception as error:
                outcome.set_exception(ValueError(str(error) or repr(error)))

        self._loop.call_soon_threadsafe(run)
        try:
            return outcome.result(CALL_TIMEOUT_S)
        except TimeoutError:
            raise BrokerFailed(f"the broker did not answer to {name} within {CALL_TIMEOUT_S:g} s") from None

    def signal_stop(self) -> None:
        assert self._server is not None
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._server.hurry)

    def stop(self) -> None:
        self._end(clean=True)

    def kill(self) -> None:
        self._end(clean=False)

    # -- on the broker's thread

    def _run(self, wanted: Wanted, insecure: bool, inside: Inside) -> None:
        from shareq.broker.process.serve import new_event_loop, new_server

        loop = self._loop = new_event_loop()
        asyncio.set_event_loop(loop)
        try:
            server = self._server = new_server(wanted, insecure=insecure, seams=inside.seams)
            loop.run_until_complete(server.start())
            inside.attach(server)
        except BaseException as error:
            self._failure = error
        else:
            self.host, _, port = server.addresses[0].rpartition(":")
            self.port, self.metrics_url = int(port), server.metrics_url
            self.records_api_url = server.records_api_url
            self._started.set()
            loop.run_forever()
        finally:
            self._server = None
            asyncio.set_event_loop(None)
            loop.close()
            self._started.set()

    def _on_crash(self) -> None:
        if self._crash is None and self._server is not None:
            assert self._loop is not None
            self._server.hurry()
            self._crash = self._loop.create_task(self._server.stop(clean=False))

    def _end(self, *, clean: bool) -> None:
        assert self._loop is not None
        assert self._server is not None
        server, loop = self._server, self._loop
        stopped = asyncio.run_coroutine_threadsafe(self._stopped(server, clean=clean), loop)
        try:
            stopped.result(self._stop_timeout_s)
        except TimeoutError:
            raise BrokerFailed(f"did not stop within {self._stop_timeout_s:g} s") from None
        finally:
            loop.call_soon_threadsafe(loop.stop)
            self._thread.join(self._stop_timeout_s)
            self._capture.end()
            self._log.close()

    async def _stopped(self, server: Server, *, clean: bool) -> None:
        if self._crash is not None:
            await self._crash
        else:
            if not clean:
                server.hurry()
            await server.stop(clean=clean)


def _options(launch: Launch) -> tuple[Wanted, Mapping[str, int], str, bool]:
    """Return the parsed options: the broker, its log levels by logger, the log's format, --insecure.

    Raise BrokerFailed.
    """
    import click

    from shareq.broker.process import logging_setup
    from shareq.ops.cli.serve import command as serve
    from shareq.ops.cli.serve_options import ServeOptions, wanted_of
    from shareq.ops.cli.shared.exits import CommandEnd

    try:
        options = ServeOptions(**serve.make_context("shareq serve", launch.arguments()).params)
        level, log_format = options.log_level, options.log_format.lower()
        try:
            levels = logging_setup.parse_levels(level)
        except ValueError as error:
            raise click.UsageError(f"--log-level {error}") from error
        if log_format not in logging_setup.FORMATS:
            raise click.UsageError(f"--log-format {log_format}: must be one of {', '.join(logging_setup.FORMATS)}")
        return wanted_of(options), levels, log_format, options.insecure
    except click.UsageError as error:
        raise BrokerFailed(f"did not start:\nshareq: {error.format_message()}") from error
    except CommandEnd as end:
        raise BrokerFailed(f"did not start:\nshareq: {end.message}") from end


class _Capture:
    """A handler that writes the log of one broker's thread to its file.

    It changes only levels of the test's own logging: while a broker runs in a thread, its loggers pass the levels that
    it wants.
    """

    _running: ClassVar[list[_Capture]] = []
    _before: ClassVar[dict[str, int]] = {}
    _guard: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, thread: threading.Thread, log: Any, levels: Mapping[str, int], log_format: str) -> None:
        from shareq.broker.process.logging_setup import formatter_of

        self._thread = thread
        self._levels = {name or "shareq.broker": level for name, level in {"": logging.INFO, **levels}.items()}
        self._handler = logging.StreamHandler(log)
        self._handler.setFormatter(formatter_of(log_format))
        self._handler.addFilter(self._is_ours)

    def begin(self) -> None:
        with self._guard:
            self._running.append(self)
            self._apply()
        logging.getLogger("shareq").addHandler(self._handler)

    def end(self) -> None:
        """Stop capturing. Harmless the second time."""
        logging.getLogger("shareq").removeHandler(self._handler)
        with self._guard:
            if self in self._running:
                self._running.remove(self)
                self._apply()

    def _is_ours(self, record: logging.LogRecord) -> bool:
        if record.thread != self._thread.ident:
            return False
        name = record.name
        known = [each for each in self._levels if name == each or name.startswith(f"{each}.")]
        return record.levelno >= self._levels[max(known, key=len)] if known else record.levelno >= logging.INFO

    @classmethod
    def _apply(cls) -> None:
        """Set each logger to the lowest level that a running broker wants, or back to its own level if none does."""
        wanted: dict[str, int] = {}
        for each in cls._running:
            for name, level in each._levels.items():
                wanted[name] = min(level, wanted.get(name, level))
        for name, level in list(cls._before.items()):
            if name not in wanted:
                logging.getLogger(name).setLevel(level)
                del cls._before[name]
        for name, level in wanted.items():
            cls._before.setdefault(name, logging.getLogger(name).level)
            logging.getLogger(name).setLevel(level)
