"""The argument of a handler, the exceptions it may raise, and the fate of a failed record. Pure."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto
from typing import Any, Final, Literal, NamedTuple

from shareq.client.aio.early import MAX_DELAY_S
from shareq.client.errors import ConfigError
from shareq.protocol.names import LONGEST_TIME, NOT_BEFORE

Decode = Literal["bytes", "text", "json"]
DECODES: Final = ("bytes", "text", "json")


class Reject(Exception):
    """An exception for handlers: the record can never be processed.

    It becomes a dead letter, if the group has a queue.
    """


class Later(Exception):
    """An exception for handlers: the record is to be processed in `delay` seconds.

    The delivery counts like any other.
    """

    def __init__(self, delay: float) -> None:
        super().__init__(delay)
        self.delay = float(delay)


class Message(NamedTuple):
    """A record as plain values, for a handler.

    `timestamp` is in ms since the epoch, -1 for none; `attempt` is 1 at the first delivery.
    """

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp: int
    attempt: int


@dataclass(frozen=True, slots=True)
class Retry:
    """The retry of a record whose handler raised an exception.

    The record is retried up to `max` times, then rejected; None: as often as the group's share.delivery.count.limit
    allows. Exceptions other than `on` are not tried again; by default all are, sys.exit() and a cancelled coroutine
    included. The group's own delay (shareq.redelivery.backoff.ms) counts where it has one. Elsewhere the worker keeps
    the record for `delay` seconds first, `factor` times as long with each further failure, `longest` seconds at most.
    """

    max: int | None = None
    delay: float = 0.0
    factor: float = 2.0
    longest: float = 300.0
    on: tuple[type[BaseException], ...] = (BaseException,)

    def __post_init__(self) -> None:
        if self.max is not None and self.max < 0:
            raise ConfigError(f"Retry: max is {self.max}: must be 0 or more, or None")
        if not (0 <= self.delay < math.inf and 0 <= self.longest < math.inf and 1 <= self.factor < math.inf):
            raise ConfigError("Retry: delay and longest must be 0 or more, factor 1 or more")
        if not isinstance(self.on, tuple) or not all(
            isinstance(each, type) and issubclass(each, BaseException) for each in self.on
        ):
            raise ConfigError(f"Retry: on is {self.on!r}: must be a tuple of exceptions, for example (OSError,)")

    def delay_after(self, attempt: int) -> float:
        """Return the seconds to wait after the failure of this attempt; the first attempt is 1."""
        if not self.delay:
            return 0.0
        try:
            return min(self.longest, self.delay * self.factor ** (attempt - 1))
        except OverflowError:
            return self.longest


def not_before(
    delay: float | None, eta: datetime | None, now_s: float, max_delay: float = MAX_DELAY_S
) -> dict[str, str]:
    """Return the header NOT_BEFORE: `delay` seconds from `now_s`, or at `eta`; {} without either.

    Raises ValueError for an invalid time, and for one more than `max_delay` seconds ahead.
    """
    if delay is None and eta is None:
        return {}
    if delay is not None and eta is not None:
        raise ValueError("delay and eta: must be one of them")
    if eta is not None and eta.tzinfo is None:
        raise ValueError(f"eta is {eta}: must have a time zone")
    seconds = eta.timestamp() if eta is not None else now_s + (delay or 0.0)
    if not math.isfinite(seconds) or len(text := str(max(0, math.ceil(seconds * 1000)))) > LONGEST_TIME:
        raise ValueError(f"delay is {delay!r}: must be a number of seconds")
    if seconds - now_s > max_delay:
        given = f"delay is {delay!r}" if eta is None else f"eta is {eta}"
        raise ValueError(f"{given}: max_delay of the worker allows {max_delay:g} s from now")
    return {NOT_BEFORE: text}


class Verdict(Enum):
    """The fate of a record."""

    ACCEPT = auto()
    RELEASE = auto()
    REJECT = auto()


class Ruling(NamedTuple):
    """The fate of a record. `delay_s` is how long the worker keeps the record before releasing it."""

    verdict: Verdict
    delay_s: float = 0.0


def ruling(retry: Retry, error: BaseException | None, attempt: int, *, group_delays: bool) -> Ruling:
    """Return the fate of a record after this attempt. `group_delays`: the broker can delay released records."""
    if error is None:
        return Ruling(Verdict.ACCEPT)
    if isinstance(error, Reject):
        return Ruling(Verdict.REJECT)
    if isinstance(error, Later):
        return Ruling(Verdict.RELEASE, max(0.0, error.delay))  # 0 for NaN, too
    if not isinstance(error, (*retry.on, HandlerTimeout, WorkerDied)) or (
        retry.max is not None and attempt > retry.max
    ):
        return Ruling(Verdict.REJECT)
    return Ruling(Verdict.RELEASE, 0.0 if group_delays else retry.delay_after(attempt))


class HandlerTimeout(Exception):
    """An error: a handler's call took longer than its timeout."""


class WorkerDied(Exception):
    """An error: the process that ran a handler ended."""


class Undecodable(Reject):
    """An error: the value cannot be decoded for the handler."""


@dataclass(frozen=True, slots=True)
class Call:
    """The call of a handler. It can be pickled if its function is one of a module."""

    function: Callable[..., Any]
    decode: Decode
    with_message: bool

    def __call__(self, message: Message) -> Any:
        """Call the function. Return its result, possibly an awaitable. Raise what it raises, and Undecodable."""
        value = decoded(message, self.decode)
        return self.function(value, message) if self.with_message else self.function(value)


_PLACES: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def call_of(function: Callable[..., Any], decode: Decode) -> Call:
    """Return the call of a function with one argument, the value, or with two: value and `Message`.

    Raises ValueError for other functions.
    """
    if decode not in DECODES:
        raise ValueError(f"decode is {decode!r}: must be one of {', '.join(DECODES)}")
    name = getattr(function, "__name__", repr(function))
    try:
        signature = inspect.signature(function)
        needed = sum(each.default is each.empty and each.kind in _PLACES for each in signature.parameters.values())
        given = (None,) * min(2, max(1, needed))
        signature.bind(*given)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: a handler takes the value, or the value and the message") from None
    return Call(function, decode, len(given) == 2)


def decoded(message: Message, decode: Decode) -> Any:
    """Return the value as a handler gets it.

    Raises Undecodable. A null value is None for bytes and text, and an error for JSON.
    """
    if decode == "bytes" or (message.value is None and decode == "text"):
        return message.value
    try:
        if decode == "json":
            return json.loads(message.value or b"")
        return (message.value or b"").decode()
    except (ValueError, RecursionError) as error:
        raise Undecodable(f"not {decode}: {error}") from None


def encoded(value: Any) -> bytes | None:
    """Return a value as it is sent: bytes unchanged, text in UTF-8, everything else in JSON.

    Raises TypeError for a value that JSON cannot express.
    """
    if value is None or isinstance(value, bytes):
        return value
    return value.encode() if isinstance(value, str) else json.dumps(value, separators=(",", ":")).encode()
