"""The disturbances of broker and clients, in random order: each occurs once before one is repeated."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable
from typing import Final

from devtools.clients.requests import fetch_request
from devtools.clients.wire import ConnectionClosed, WireClient
from tests.campaign.soak.clients import STRANGER, Doors
from tests.campaign.soak.planted import Levers
from tests.campaign.soak.verdicts import Turn
from tests.fuzz.frames import Frames

REST_S: Final = (1.0, 3.0)
MOST_CLOCK_MS: Final = 45 * 60_000
"""The largest step of the clock. Records are accepted up to an hour ahead of the clock, and kept for an hour at least,
so no step loses any.
"""
SHORTEST_STOP_S: Final = 0.5
SYNC_MS: Final = (50, 400)
FRAMES: Final = 200
FRAME_PATIENCE_S: Final = 0.1
READERS, PER_READER = 60, 40
OPENING_S: Final = 6.0
FLOOD: Final = 300
BIG_BYTES, BIG_SENT, BIG_CONNECTIONS = 100_000_000, 2_000_000, 20


class Disturbances:
    """The disturbances, one after the other in a thread, from `start` to `stop`; `hold` pauses them until `go`.

    `pid`: the broker's. `most_stop_s`: the longest time that it, or its clients, are suspended. `topic`: the id of a
    topic whose records are fetched but not read, None if there is none. The past disturbances are in `turns`.
    """

    def __init__(
        self,
        seed: int,
        pid: int,
        doors: Doors,
        levers: Levers,
        open_files: int,
        most_stop_s: float,
        topic: Callable[[], bytes | None],
    ) -> None:
        self._rng = random.Random(f"disturbances {seed}")
        self._pid = pid
        self._doors = doors
        self._levers = levers
        self._open_files = open_files
        self._most_stop_s = most_stop_s
        self._topic = topic
        self._frames = Frames(f"soak {seed}")
        self._number = 0
        self._stop = threading.Event()
        self._busy = threading.Lock()
        self._held = False
        self._thread = threading.Thread(target=self._run, name="disturbances", daemon=True)
        self.clients_go = threading.Event()
        self.clients_go.set()
        self.turns: list[Turn] = []
        self.failure = ""
        self._kinds: list[Callable[[], str]] = [
            self.clock_steps,
            self.broker_stands_still,
            self.clients_stand_still,
            self.slow_syncs,
            self.no_descriptors,
            self.bent_frames,
            self.slow_readers,
            self.connection_flood,
            self.big_frames,
        ]

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the disturbance under way, and the thread. Does nothing before `start`, or the second time."""
        self._stop.set()
        self.go()
        if self._thread.ident is not None:
            self._thread.join()

    def hold(self) -> None:
        """Start no further disturbances; return when none is under way."""
        self._busy.acquire()
        self._held = True

    def go(self) -> None:
        if self._held:
            self._held = False
            self._busy.release()

    def _run(self) -> None:
        try:
            while True:
                for turn in self._rng.sample(self._kinds, len(self._kinds)):
                    if self._stop.wait(self._rng.uniform(*REST_S)):
                        return
                    with self._busy:
                        if self._stop.is_set():
                            return
                        self._take(turn)
        except Exception as error:
            self.failure = f"{type(error).__name__}: {error}"

    def _take(self, turn: Callable[[], str]) -> None:
        began = time.monotonic()
        try:
            text = turn()
        except (OSError, ConnectionClosed) as error:  # the broker defends itself
            text = f"ended by {type(error).__name__}"
        self.turns.append(Turn(turn.__name__.replace("_", " "), began, time.monotonic(), text))

    # -- time

    def clock_steps(self) -> str:
        to_ms = self._rng.randint(-MOST_CLOCK_MS, MOST_CLOCK_MS)
        self._levers.set(clock_ms=to_ms)
        return f"{to_ms / 60_000:+.1f} min"

    def broker_stands_still(self) -> str:
        os.kill(self._pid, signal.SIGSTOP)
        try:
            return self._some_time()
        finally:
            os.kill(self._pid, signal.SIGCONT)

    def clients_stand_still(self) -> str:
        self.clients_go.clear()
        try:
            return self._some_time()
        finally:
            self.clients_go.set()

    def slow_syncs(self) -> str:
        sync_ms = self._rng.randint(*SYNC_MS)
        self._levers.set(sync_ms=sync_ms)
        try:
            return f"{sync_ms} ms each, {self._some_time()}"
        finally:
            self._levers.set(sync_ms=0)

    def _some_time(self) -> str:
        seconds = self._rng.uniform(SHORTEST_STOP_S, self._most_stop_s)
        self._stop.wait(seconds)
        return f"{seconds:.1f} s"

    # -- strangers

    def no_descriptors(self) -> str:
        """Open more idle connections than the broker may have open files, or as many as some seconds allow."""
        with contextlib.ExitStack() as stack:
            opened, until = 0, time.monotonic() + OPENING_S
            while opened < self._open_files + 50 and time.monotonic() < until:
                opened += self._idle(stack)
            self._stop.wait(2)
            return f"{opened} connections of {self._open_files} open files"

    def _idle(self, stack: contextlib.ExitStack) -> int:
        try:
            stack.enter_context(socket.create_connection(("127.0.0.1", self._doors.ports["PLAINTEXT"]), timeout=0.3))
        except OSError:
            return 0
        return 1

    def bent_frames(self) -> str:
        """Send the fuzzer's frames, from a client that is logged in and has no rights."""
        sent, client = 0, self._stranger()
        try:
            while sent < FRAMES and not self._stop.is_set():
                frame = self._frames.next(self._number, gentle=bool(self._number % 2))
                sent += 1
                try:
                    client.send_raw(frame.data)
                    client.receive_frame()
                except (OSError, ConnectionClosed, struct.error, MemoryError):
                    client.close()
                    self._frames.facts.connection_lost(self._number)
                    client = self._stranger()
        finally:
            client.close()
        return f"{sent} frames"

    def _stranger(self) -> WireClient:
        self._number += 1
        wire = self._doors.open("CLEAR", "stranger", 5, STRANGER)
        wire.set_timeout(FRAME_PATIENCE_S)
        return wire

    def slow_readers(self) -> str:
        topic_id = self._topic()
        if topic_id is None:
            return "no topic"
        with contextlib.ExitStack() as stack:
            for number in range(READERS):
                wire = stack.enter_context(self._doors.open("PLAINTEXT", f"slow-{number}", 5))
                for _ in range(PER_READER):
                    wire.send(fetch_request(topic_id=topic_id, partition=0, offset=0, partition_max_bytes=1 << 23), 13)
            self._stop.wait(3)
        return f"{READERS} clients, {PER_READER} fetches each"

    def connection_flood(self) -> str:
        opened = 0
        for number in range(FLOOD):
            port = self._doors.ports[("PLAINTEXT", "OPEN", "LOGIN", "CLEAR")[number % 4]]
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1) as one:
                one.sendall(bytes(self._rng.randrange(256) for _ in range(self._rng.randrange(9))))
                opened += 1
        return f"{opened} connections"

    def big_frames(self) -> str:
        """Send the beginnings of frames of 100 MB without a login, to a listener that needs one and to one without."""
        sent = 0
        with contextlib.ExitStack() as stack:
            for number in range(BIG_CONNECTIONS):
                port = self._doors.ports[("PLAINTEXT", "CLEAR")[number % 2]]
                with contextlib.suppress(OSError):
                    one = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=0.3))
                    one.sendall(struct.pack(">i", BIG_BYTES) + b"\0\0\0\x0c" + bytes(BIG_SENT))
                    sent += 1
            self._stop.wait(1)
        return f"{sent} of {BIG_CONNECTIONS} sent {BIG_SENT // 1_000_000} MB"
