"""The broker's end of the control: its seams, and a test's commands. On the loop's thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from shareq.broker.data_folder_ground import data_folder_of
from shareq.broker.process.server import Seams
from shareq.broker.topics.leaders import Leader
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.testing.inside.clock import SteppedClock
from shareq.testing.inside.disk import TestFs
from shareq.testing.inside.interceptor import Interceptor
from shareq.testing.inside.rules import Rule
from shareq.testing.inside.transcript import Transcript

if TYPE_CHECKING:
    from shareq.broker.process.server import Server

Reply = Callable[[Any], None]
"""A callback that takes a JSON value."""


class Start(NamedTuple):
    """The settings of a test's broker: how far ahead its clock begins, and if it syncs files."""

    ahead_ms: int = 0
    durable: bool = False


class Inside:
    """The part of `shareq.testing` inside a broker. `on_crash` ends the broker as a crash does."""

    def __init__(self, start: Start, on_crash: Callable[[], None]) -> None:
        self._start = start
        self._clock: SteppedClock | None = None
        self._fs: TestFs | None = None
        self._server: Server | None = None
        self.interceptor = Interceptor(Transcript(self._now_ms), on_crash)
        self._commands: dict[str, Callable[..., Any]] = {
            "wall_ms": self._wall_ms,
            "add": lambda rule: self.interceptor.add(Rule.from_json(rule)),
            "remove": self.interceptor.remove,
            "release": self.interceptor.release,
            "release_all": self.interceptor.release_all,
            "state": self.interceptor.state,
            "states": self.interceptor.states,
            "transcript": self.interceptor.transcript.lines,
            "transcript_end": self.interceptor.transcript.end,
            "polled": self.interceptor.transcript.polled,
            "fill_disk": self._fill_disk,
            "move_leader": self._move_leader,
            "counts": self._counts,
        }

    @property
    def seams(self) -> Seams:
        """The seams for the server."""
        return Seams(self._new_clock, self._new_fs, self.interceptor.handlers, durable_metadata=self._start.durable)

    @property
    def ahead_ms(self) -> int:
        """The time by which the broker's clock is ahead."""
        return self._start.ahead_ms if self._clock is None else self._clock.ahead_ms

    def attach(self, server: Server) -> None:
        """Attach the server, which has started."""
        self._server = server

    def run(self, name: str, arguments: dict[str, Any], reply: Reply) -> None:
        """Carry out a command; the reply may come later. Raises the command's errors."""
        if name == "advance":
            assert self._clock is not None
            clock = self._clock
            clock.advance(arguments["ms"], lambda: reply(clock.ahead_ms))
        else:
            reply(self._commands[name](**arguments))

    # -- seams

    def _new_clock(self, loop: asyncio.AbstractEventLoop) -> SteppedClock:
        self._clock = SteppedClock(loop, self._start.ahead_ms)
        return self._clock

    def _new_fs(self, hand_back: Callable[[Callable[[], None]], object]) -> TestFs:
        self._fs = TestFs(hand_back, durable=self._start.durable)
        return self._fs

    def _now_ms(self) -> int:
        assert self._clock is not None
        return self._clock.now_ms()

    # -- commands

    def _wall_ms(self) -> int:
        assert self._clock is not None
        return self._clock.wall_ms()

    def _the_server(self) -> Server:
        assert self._server is not None
        return self._server

    def _fill_disk(self, full: bool) -> None:
        assert self._fs is not None
        self._fs.full = full
        data_folder_of(self._the_server().broker.services).disk.look()

    def _move_leader(self, topic: str, partition: int, away: bool) -> None:
        """Move a partition's leadership to no broker, or back to this one.

        The epoch stays: clients drop metadata with an older epoch than they have seen.
        """
        services = self._the_server().broker.services
        image = services.metadata.topic(topic)
        if image is None or partition >= image.partitions:
            raise ValueError(f"{topic}-{partition}: there is no such partition")
        leaders = data_folder_of(services).leaders
        lost = Leader(None, leaders.own_epoch(topic, partition))
        leaders.move(topic, partition, lost if away else None)

    def _counts(self, group: str, topic: str) -> dict[str, Any]:
        """Return the group's counts for a topic since this broker started, summed over partitions."""
        services = self._the_server().broker.services
        image, made = services.metadata.topic(topic), services.made.share
        acknowledged, dead, timeouts, deliveries = [0] * 5, 0, 0, 0
        if image is not None and made is not None:
            for partition in range(image.partitions):
                counters = made.partitions.counters.partitions.get(SharePartitionKey(group, image.topic_id, partition))
                if counters is not None:
                    acknowledged = [a + b for a, b in zip(acknowledged, counters.acknowledged, strict=True)]
                    dead += counters.dead_letters
                    timeouts += counters.lock_timeouts
                    deliveries += counters.deliveries
        _, accepted, released, rejected, renewed = acknowledged
        return {
            "accepted": accepted,
            "released": released,
            "rejected": rejected,
            "renewed": renewed,
            "dead": dead,
            "lock_timeouts": timeouts,
            "deliveries": deliveries,
        }
