"""A node's process in front of a simulated cluster: its clock and its link, which halt while it is stopped.

After SIGSTOP, events wait in sockets and timers, and are handled in order of arrival when the process resumes. A killed
process handles nothing more, and its connections end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from devtools.in_memory.virtual_clock import VirtualClock, VirtualTimer
from shareq.cluster.link.ports import Link
from tests.support.cluster.process_link import ProcessLink


class NodeProcess:
    stands_still = True

    def __init__(self, clock: VirtualClock, link: Link) -> None:
        self.is_stopped = False
        self.is_dead = False
        self.link: Link = ProcessLink(link, self.handle)
        self._clock = clock
        self._outside = link
        self._kept: deque[Callable[[], None]] = deque()

    def stop(self) -> None:
        self.is_stopped = True

    def resume(self) -> None:
        self.is_stopped = False
        while self._kept and not self.is_stopped:
            self._kept.popleft()()

    def kill(self) -> None:
        self.is_dead = True
        self._kept.clear()
        self._outside.close()

    def handle(self, action: Callable[[], None]) -> None:
        if self.is_stopped:
            self._kept.append(action)
        elif not self.is_dead:
            action()

    @property
    def is_running(self) -> bool:
        return not self.is_stopped and not self.is_dead

    # -- Clock

    def wall_ms(self) -> int:
        return self._clock.wall_ms()

    def now_ms(self) -> int:
        return self._clock.now_ms()

    def now_ns(self) -> int:
        return self._clock.now_ns()

    def call_soon(self, callback: Callable[[], None]) -> None:
        self._clock.call_soon(lambda: self.handle(callback))

    def call_at(self, when_ms: int, callback: Callable[[], None]) -> VirtualTimer:
        timer = VirtualTimer(callback)

        def due() -> None:
            if timer.callback is not None:  # it may have been dropped while the process stood still
                timer.callback()

        self._clock.call_at(when_ms, lambda: self.handle(due))
        return timer
