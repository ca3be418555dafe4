"""Faults of a test's broker, as rules about requests."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from types import TracebackType
from typing import Any, Final, Self

from shareq.testing.failure import BrokerFailed
from shareq.testing.waiting import wait_until

_numbers = count(1)
Call = Callable[..., Any]
WAIT_S: Final = 10.0


class Fault:
    """An active rule. It ends with `remove`, with its `with` statement, or with the broker."""

    def __init__(self, call: Call, number: int, what: str) -> None:
        self._call = call
        self._number = number
        self._what = what
        self._hits_at_end: int | None = None

    @property
    def hits(self) -> int:
        """The number of requests to which the fault was applied, also after its removal."""
        if self._hits_at_end is not None:
            return self._hits_at_end
        hits, _ = self._call("state", number=self._number)
        return int(hits)

    @property
    def held(self) -> int:
        """The number of requests that wait for `release`."""
        _, held = self._call("state", number=self._number)
        return int(held)

    def wait(self, hits: int = 1, timeout_s: float = WAIT_S) -> None:
        """Wait until the fault was applied so often. Raises AssertionError when the time is up."""
        wait_until(lambda: self.hits >= hits, timeout_s, f"{self._what}: applied {hits} times")

    def release(self) -> int:
        """Release the requests that are held now, and return their number. Later requests are held again."""
        return int(self._call("release", number=self._number))

    def remove(self) -> None:
        """End the fault, and release the requests that it holds. Harmless if it, or the broker, has ended."""
        if self._hits_at_end is None:
            with contextlib.suppress(BrokerFailed):
                self._hits_at_end = int(self._call("remove", number=self._number))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()


class When:
    """A selection of requests. Its methods set what happens to them."""

    def __init__(self, call: Call, **rule: Any) -> None:
        self._call = call
        self._rule = rule

    def error(self, code: str | int) -> Fault:
        """Refuse the requests with an error code of Kafka, where their answers have one. They have no effect."""
        from shareq.testing.inside.interceptor import refusable
        from shareq.testing.inside.rules import code_of

        known = code_of(code)
        if not refusable(self._rule["api"]):
            raise ValueError(f"{self._rule['api'].name}: its answers have no place for an error")
        return self._add("error", code=int(known))

    def delay(self, seconds: float) -> Fault:
        """Handle the requests later, by the broker's clock: `clock.advance` shortens the delay."""
        return self._add("delay", seconds=seconds)

    def disconnect(self) -> Fault:
        """Close the connection. The requests have no effect."""
        return self._add("disconnect")

    def drop_answer(self) -> Fault:
        """Handle the requests, and close the connection instead of answering."""
        return self._add("drop_answer")

    def hold(self) -> Fault:
        """Handle the requests when the fault is released or removed."""
        return self._add("hold")

    def hold_answer(self) -> Fault:
        """Handle the requests, and answer when the fault is released or removed."""
        return self._add("hold_answer")

    def crash(self, *, after: bool = False) -> Fault:
        """End the broker as SIGKILL does, before the request is handled, or with `after` before its answer is sent.

        `Broker.restart` starts it again, on the same port and data.
        """
        return self._add("crash_after" if after else "crash")

    def _add(self, action: Any, **more: Any) -> Fault:
        from shareq.testing.inside.rules import Rule

        rule = replace(Rule(next(_numbers), action=action, **self._rule), **more)
        self._call("add", rule=rule.to_json())
        return Fault(self._call, rule.number, f"{rule.api.name}: {action}")


class Faults:
    """The faults of a broker. All of them end when the broker stops or is killed."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def on(
        self,
        api: str,
        *,
        nth: int | None = None,
        times: int | None = None,
        client_id: str | None = None,
        group: str | None = None,
        topic: str | None = None,
    ) -> When:
        """Select requests of an API, by Kafka's name (`ShareFetch`): all, or those of a client id, group or topic.

        A topic only selects requests that name it. Of the selected ones, the fault applies to the `nth`, counted from
        1, or to the first `times`. If several faults match a request, the one made first is applied. Raise ValueError
        for an unknown API.
        """
        from shareq.testing.inside.rules import api_of

        if nth is not None and times is not None:
            raise ValueError("nth and times: give one of them")
        for name, value in (("nth", nth), ("times", times)):
            if value is not None and value < 1:
                raise ValueError(f"{name}={value}: must be at least 1")
        return When(self._call, api=api_of(api), nth=nth, times=times, client_id=client_id, group=group, topic=topic)

    def clear(self) -> None:
        """End all faults by rule, and release the requests that they hold."""
        self._call("release_all")

    @contextlib.contextmanager
    def full_disk(self) -> Iterator[None]:
        """Fill the disk during the block: records are refused with KAFKA_STORAGE_ERROR, on which producers try
        again.
        """
        self._call("fill_disk", full=True)
        try:
            yield
        finally:
            with contextlib.suppress(BrokerFailed):
                self._call("fill_disk", full=False)

    @contextlib.contextmanager
    def leader_lost(self, topic: str, partition: int = 0) -> Iterator[None]:
        """Leave a partition without a leader during the block, as if its leader had failed. Its records can be neither
        written nor read: clients get NOT_LEADER_OR_FOLLOWER, then LEADER_NOT_AVAILABLE in the metadata, and try again.
        Waiting fetches get that answer at once. Members of share groups lose their locks, as when a leader moves:
        acquired records are delivered again. The broker's own helpers (`records`, `produce`, `undone`) are clients,
        too: they wait for a minute, so call them after the block.
        """
        self._call("move_leader", topic=topic, partition=partition, away=True)
        try:
            yield
        finally:
            with contextlib.suppress(BrokerFailed):
                self._call("move_leader", topic=topic, partition=partition, away=False)
