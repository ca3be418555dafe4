"""Rates over sliding windows and buckets of tokens, with Apache Kafka's arithmetic. Times are arguments, in ms."""

from __future__ import annotations

from typing import Final, NamedTuple

LONGEST_THROTTLE_MS: Final = 2**31 - 1  # what an answer can say


class Windows(NamedTuple):
    """The samples of a rate: their number (`quota.window.num`) and the length of each (`quota.window.size.seconds`)."""

    number: int = 11
    size_ms: int = 1000

    @property
    def span_ms(self) -> int:
        """The time in ms for which a value counts."""
        return self.number * self.size_ms

    @property
    def full_ms(self) -> int:
        """The shortest time in ms over which a rate is computed."""
        return (self.number - 1) * self.size_ms


class _Sample:
    __slots__ = ("last_ms", "start_ms", "value")

    def __init__(self, now_ms: int) -> None:
        self.reset(now_ms)

    def reset(self, now_ms: int) -> None:
        self.start_ms = self.last_ms = now_ms
        self.value = 0.0


class Rate:
    """A rate per second over the recorded windows, like `Rate` and `SampledStat` of Apache Kafka's metrics."""

    __slots__ = ("_current", "_samples")

    def __init__(self, now_ms: int) -> None:
        self._samples = [_Sample(now_ms)]
        self._current = 0

    @property
    def total(self) -> float:
        """The sum of the samples, including expired ones that have not been reset."""
        return sum(sample.value for sample in self._samples)

    def record(self, value: float, now_ms: int, windows: Windows) -> None:
        """Count a value; a negative one undoes an earlier count."""
        sample = self._samples[self._current]
        if now_ms - sample.start_ms >= windows.size_ms:
            sample = self._advance(now_ms, windows)
        sample.value += value
        sample.last_ms = now_ms

    def throttle_ms(self, bound: float, now_ms: int, windows: Windows) -> int:
        """Return how long to record nothing until the rate is back at `bound` a second; 0 while it is not above."""
        span_ms = self._span_ms(now_ms, windows)
        if not span_ms:  # the only window begins now: the wait for an infinite rate is not a number, and so none
            return 0
        rate = self.total / span_ms * 1000
        if rate <= bound:
            return 0
        return int(min((rate - bound) / bound * span_ms + 0.5, LONGEST_THROTTLE_MS))  # infinite at the tiniest bounds

    def is_idle(self, now_ms: int, windows: Windows) -> bool:
        """Return True if no recorded use counts any longer."""
        return all(now_ms - sample.last_ms >= windows.span_ms for sample in self._samples)

    def _advance(self, now_ms: int, windows: Windows) -> _Sample:
        self._current = (self._current + 1) % (windows.number + 1)  # one more than counts: the oldest counts in part
        if self._current < len(self._samples):
            self._samples[self._current].reset(now_ms)
        else:
            self._samples.append(_Sample(now_ms))
        return self._samples[self._current]

    def _span_ms(self, now_ms: int, windows: Windows) -> int:
        """Return the time that the samples cover, with all windows except the last one taken as full.

        Expired samples are reset.
        """
        for sample in self._samples:
            if now_ms - sample.last_ms >= windows.span_ms:
                sample.reset(now_ms)
        elapsed_ms = now_ms - min(sample.start_ms for sample in self._samples)
        missing = windows.number - 1 - elapsed_ms // windows.size_ms
        return elapsed_ms + max(missing, 0) * windows.size_ms


class TokenBucket:
    """Tokens that are refilled at a rate, up to the amount of all windows together, and may be overdrawn (KIP-599)."""

    __slots__ = ("_last_ms", "_tokens")

    def __init__(self) -> None:
        self._tokens = float("inf")  # full, whatever the burst is
        self._last_ms = 0

    def take(self, tokens: float, bound: float, now_ms: int, windows: Windows) -> None:
        """Take tokens even if there are too few."""
        self._tokens = self.left(bound, now_ms, windows) - tokens

    def left(self, bound: float, now_ms: int, windows: Windows) -> float:
        """Return the tokens left now, negative if overdrawn. `bound` is the refill per second."""
        burst = bound * windows.span_ms / 1000
        self._tokens = min(burst, self._tokens + bound * (now_ms - self._last_ms) / 1000)
        self._last_ms = now_ms
        return self._tokens

    def is_idle(self, now_ms: int, windows: Windows) -> bool:
        """Return True if the bucket is not overdrawn, and has been unused for as long as an empty one takes to fill."""
        return now_ms - self._last_ms >= windows.span_ms and self._tokens >= 0

    def throttle_ms(self, bound: float, now_ms: int, windows: Windows) -> int:
        """Return the time in ms until the bucket is no longer overdrawn."""
        left = self.left(bound, now_ms, windows)
        return int(min(-left / bound * 1000 + 0.5, LONGEST_THROTTLE_MS)) if left < 0 else 0
