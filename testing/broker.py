"""A broker for tests, on a free port with its own data folder: in a thread, forked, or by `shareq serve`."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, Self
from urllib.parse import urlsplit

from shareq.broker.foundation.systems import NOT_ON_WINDOWS
from shareq.testing.clock import Clock
from shareq.testing.failure import START_TIMEOUT_S, STOP_TIMEOUT_S, BrokerFailed, child_environment
from shareq.testing.faults import Faults
from shareq.testing.helpers import Helpers
from shareq.testing.launch import NO_RESERVE, TEST_CONFIG, Launch, Running, check_names, tail

if TYPE_CHECKING:
    from shareq.testing.aio import AsyncHelpers

__all__ = ["Broker", "BrokerFailed", "Mode", "child_environment"]

Mode = Literal["process", "thread", "command"]
TRANSCRIPT_KEPT: Final = 200
"""The lines kept for each life of the broker, and the number of helpers' polls kept besides."""


class Broker(Helpers):
    """A broker as a context manager.

    `config` are server properties, `features` finalized levels, `options` more of the command line of `shareq serve`.
    `metrics` is where to serve metrics (HOST:PORT, port 0 for a free one), None nowhere. A given `data_dir` is kept
    afterwards; the broker's own folder is removed, and its data is not synced. A restart keeps ports, data and time.

    mode="process": a process of its own, forked from one that has imported the broker; it ends with this process,
    however that ends. mode="thread": a thread of this process, which starts faster; `kill` closes its files as they
    are. Both change some defaults for tests, unless `config` sets them: groups rebalance at once, idle connections stay
    open, and the broker's own folder has no reserve for a full disk. mode="command": `shareq serve` as a user starts
    it, without `clock`, `faults` and `transcript`.

    `client_properties` are for the helpers' own client, by Kafka's names, where the broker wants TLS or SASL. Raises
    BrokerFailed at once for an unknown property (Apache Kafka's without effect here are accepted), and if the broker
    does not start; in all modes with the line that the command would print.
    """

    def __init__(
        self,
        *,
        config: Mapping[str, str] | None = None,
        features: Mapping[str, int] | None = None,
        data_dir: str | Path | None = None,
        mode: Mode = "process",
        options: Sequence[str] = (),
        metrics: str | None = None,
        client_properties: Mapping[str, str] | None = None,
        start_timeout_s: float = START_TIMEOUT_S,
        stop_timeout_s: float = STOP_TIMEOUT_S,
    ) -> None:
        self._config = dict(config or {})
        check_names(self._config)
        self.metrics = metrics
        self.options = list(options)
        self.client_properties = dict(client_properties or {})
        self._timeouts_s = start_timeout_s, stop_timeout_s
        self._features = dict(features or {})
        self._own_dir: tempfile.TemporaryDirectory[str] | None = None
        self._data_dir = str(data_dir) if data_dir is not None else None
        self._mode: Mode = mode
        self._running: Running | None = None
        self._earlier: list[tuple[bool, str]] = []  # whether it is a poll of the helpers, and the line
        self._polled_earlier = 0
        self._hits: dict[int, int] = {}  # of faults that ended with a broker, by their numbers
        self.host = "127.0.0.1"
        self.port = 0
        self.clock = Clock(self._call)
        self.faults = Faults(self._call)

    @property
    def bootstrap(self) -> str:
        """HOST:PORT for a client's `bootstrap.servers`."""
        return f"{self.host}:{self.port}"

    @property
    def address(self) -> tuple[str, int]:
        return self.host, self.port

    @property
    def mode(self) -> Mode:
        return self._mode

    @property
    def metrics_url(self) -> str | None:
        """The address of the metrics; None if they were not asked for."""
        return self._alive().metrics_url

    @property
    def records_api_url(self) -> str | None:
        """The address of the records API; None if shareq.records.api.listen is not configured."""
        return self._alive().records_api_url

    @property
    def data_dir(self) -> Path:
        if self._data_dir is None:
            raise RuntimeError("the broker has not been started")
        return Path(self._data_dir)

    @property
    def pid(self) -> int:
        """The id of the process in which the broker runs."""
        return self._alive().pid

    @property
    def log(self) -> str:
        """The log of the broker since its first start."""
        path = self.data_dir.with_name(self.data_dir.name + ".log")
        return path.read_text() if path.exists() else ""

    def log_tail(self, lines: int = 40) -> str:
        """Return the last lines of `log`."""
        return tail(self.log, lines)

    def transcript(self, last: int | None = None, *, polls: bool = True) -> list[str]:
        """Return a line for each request since the first start, with its answer, oldest first; or only the `last` ones.

        A line has seconds, connection, client id, API, version, correlation id, request → response. The last 200 of
        each ended life are kept, and 1,000 of the present one. `polls`: include the helpers' polling requests, of which
        200 are kept separately.
        """
        lines = [text for is_poll, text in self._earlier if polls or not is_poll]
        if self._running is not None:
            lines += [text for _, text in self._call("transcript", last=last, polls=polls)]
        return lines[-last if last else 0 :]

    @property
    def polled(self) -> int:
        """The number of requests that the helpers have sent only to look, since the first start."""
        return self._polled_earlier + (0 if self._running is None else int(self._call("polled")))

    @property
    def aio(self) -> AsyncHelpers:
        """The same helpers for asyncio: `await broker.aio.produce(...)`."""
        return self._aio

    @cached_property
    def _aio(self) -> AsyncHelpers:
        from shareq.testing.aio import AsyncHelpers

        return AsyncHelpers(self, self.clock)

    # -- life

    def start(self) -> None:
        """Start the broker, and wait until it listens. Raises BrokerFailed."""
        if self._running is not None:
            raise RuntimeError("the broker is running")
        if self._data_dir is None:
            self._own_dir = tempfile.TemporaryDirectory(prefix="shareq-", ignore_cleanup_errors=True)
            self._data_dir = os.path.join(self._own_dir.name, "data")
        launch = self._launch()
        launch.log_path.parent.mkdir(parents=True, exist_ok=True)
        self._running = running = _start(self._mode, launch)
        self.host, self.port = running.host, running.port
        if running.metrics_url is not None:
            self.metrics = urlsplit(running.metrics_url).netloc

    def signal_stop(self) -> None:
        """Send the broker SIGTERM, without waiting for its end."""
        self._alive().signal_stop()

    def stop(self) -> None:
        """Stop the broker as SIGTERM does, and check that it ended well. Raises BrokerFailed.

        Harmless if the broker does not run, or was ended by a fault.
        """
        _stop(self._leave())

    def kill(self) -> None:
        """End the broker at once, without a chance to write anything (SIGKILL)."""
        running = self._leave()
        if running is not None:
            running.kill()

    def restart(self) -> None:
        """Stop the broker if it runs, and start it again on the same port and data."""
        self.stop()
        self.start()

    @property
    def crashed(self) -> bool:
        """True if a fault (`crash`), or a signal from elsewhere, has ended the broker."""
        return self._running is not None and self._running.crashed

    def close(self) -> None:
        """Stop the broker, and remove the data folder unless it was given."""
        try:
            _stop(self._leave(keep_transcript=False))
        finally:
            if self._own_dir is not None:
                self._own_dir.cleanup()
                self._own_dir = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()  # nothing else will: `__exit__` is not called
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _leave(self, *, keep_transcript: bool = True) -> Running | None:
        """Return the running broker, which is about to end; close what this object holds of it, and keep the end of its
        transcript.
        """
        running, self._running = self._running, None
        if running is not None and self._mode != "command":
            with contextlib.suppress(BrokerFailed, ValueError):
                self._hits.update(running.call("states"))
                running.call("release_all")
                if keep_transcript:
                    self._earlier += running.call("transcript_end", last=TRANSCRIPT_KEPT)
                    self._polled_earlier += running.call("polled")
            self._hits.update(running.hits_at_crash() if running.crashed else {})
        self._close_clients()
        return running

    def _launch(self) -> Launch:
        own_dir = self._own_dir is not None
        config = self._config
        if self._mode != "command":
            config = {**TEST_CONFIG, **(NO_RESERVE if own_dir else {}), **config}
        start_timeout_s, stop_timeout_s = self._timeouts_s
        return Launch(
            data_dir=self.data_dir,
            listen=self.bootstrap,
            config=config,
            features=self._features,
            metrics=self.metrics,
            options=self.options,
            ahead_ms=self.clock.ahead_ms,
            own_dir=own_dir,
            start_timeout_s=start_timeout_s,
            stop_timeout_s=stop_timeout_s,
        )

    def _call(self, name: str, **arguments: Any) -> Any:
        if name == "state":
            return self._state_of_fault(arguments["number"])
        if name == "remove" and arguments["number"] in self._hits:
            return self._hits[arguments["number"]]  # the broker that knew it has ended
        if self._running is None:
            raise BrokerFailed(f"{name}: the broker is not running")
        return self._running.call(name, **arguments)

    @property
    def _away(self) -> str | None:
        if self._running is None:
            return "the broker is not running"
        return "the broker is gone: restart() starts it again" if self._running.crashed else None

    def _state_of_fault(self, number: int) -> tuple[int, int]:
        """Return how often a fault was applied, also before the broker ended, and how many requests the fault holds."""
        running = self._running
        if number not in self._hits and running is not None:
            try:
                hits, held = running.call("state", number=number)
            except BrokerFailed:
                self._hits.update(running.hits_at_crash())
                if number not in self._hits:
                    raise
            else:
                return hits, held
        return self._hits.get(number, 0), 0

    def _alive(self) -> Running:
        if self._running is None:
            raise RuntimeError("the broker is not running")
        return self._running


def _stop(running: Running | None) -> None:
    if running is not None:
        if running.crashed:
            running.kill()
        else:
            running.stop()


def _start(mode: Mode, launch: Launch) -> Running:
    if sys.platform == "win32":
        raise BrokerFailed(NOT_ON_WINDOWS)
    if mode == "thread":
        from shareq.testing.thread import ThreadBroker

        return ThreadBroker(launch)
    from shareq.testing.process import CommandBroker, ForkedBroker

    return CommandBroker(launch) if mode == "command" else ForkedBroker(launch)
