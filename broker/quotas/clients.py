"""What clients have used of their quotas, and how long those that are over one have to wait."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from shareq.broker.quotas.entity import (
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    QuotaEntity,
)
from shareq.broker.quotas.limits import Limit, Limits
from shareq.broker.quotas.rate import Rate, TokenBucket, Windows

KEYS: Final = (PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE, REQUEST_PERCENTAGE, CONTROLLER_MUTATION_RATE)
UNLIMITED: Final = 2**31 - 1

_PERCENT_OF_NS: Final = 100 / 1_000_000_000
_LEAST_SWEEP: Final = 1000  # meters: with fewer there is nothing to win


class Throttles:
    """How often clients had to wait because of one kind of quota, and how long in all."""

    __slots__ = ("number", "total_ms")

    def __init__(self) -> None:
        self.number = 0
        self.total_ms = 0

    def add(self, throttle_ms: int) -> None:
        if throttle_ms > 0:
            self.number += 1
            self.total_ms += throttle_ms


class ClientQuotas:
    """The quotas of users and client ids at work.

    `active`: whether there are any; nothing is to be recorded without. `throttles` are counted by key. Names of users
    are those behind their type; a client id that is not given is "". What nobody uses any more is forgotten.
    """

    def __init__(self, windows: Windows = Windows(), mutation_windows: Windows = Windows()) -> None:  # noqa: B008
        self.active = False
        self.throttles = {key: Throttles() for key in KEYS}
        self.muted = 0  # connections that wait now
        self._windows = windows
        self._mutation_windows = mutation_windows
        self._limits = {key: Limits(key, {}) for key in KEYS}
        self._rates: dict[tuple[str, str, str], Rate] = {}
        self._buckets: dict[tuple[str, str], TokenBucket] = {}
        self._sweep_at = _LEAST_SWEEP

    @property
    def known(self) -> int:
        """How many rates and buckets are kept."""
        return len(self._rates) + len(self._buckets)

    def replace(self, quotas: Mapping[QuotaEntity, Mapping[str, float]]) -> None:
        """These are the quotas now. What was used counts on."""
        self._limits = {key: Limits(key, quotas) for key in KEYS}
        self.active = any(self._limits.values())
        if not self.active:
            self._rates.clear()
            self._buckets.clear()

    def produced(self, user: str, client_id: str, size: int, now_ms: int) -> int:
        """A client sent a request with records, of so many bytes: for how many ms to read nothing more of it."""
        return self._throttle(PRODUCER_BYTE_RATE, user, client_id, size, now_ms)

    def fetched(self, user: str, client_id: str, size: int, now_ms: int) -> int:
        """A client is sent so many bytes of records: for how many ms to read nothing more of it."""
        return self._throttle(CONSUMER_BYTE_RATE, user, client_id, size, now_ms)

    def fetch(self, user: str, client_id: str, size: int, now_ms: int) -> tuple[int, bool]:
        """As `fetched`, for records that may be kept back: and whether the client is to get them now.

        Where it is not, nothing was counted. More than `fetch_bound` would never be within the quota, and goes out.
        """
        throttle_ms = self.fetched(user, client_id, size, now_ms)
        limit = self._limits[CONSUMER_BYTE_RATE].of_client(user, client_id)
        if limit is None or not throttle_ms or size > self.fetch_bound(user, client_id):
            return throttle_ms, True
        self._rate(CONSUMER_BYTE_RATE, limit, now_ms).record(-size, now_ms, self._windows)
        return throttle_ms, False

    def fetch_bound(self, user: str, client_id: str) -> int:
        """The most bytes that a fetch may bring without being throttled in any case."""
        limit = self._limits[CONSUMER_BYTE_RATE].of_client(user, client_id)
        return UNLIMITED if limit is None else int(min(limit.bound * self._windows.full_ms / 1000, UNLIMITED))

    def used(self, user: str, client_id: str, time_ns: int, now_ms: int) -> int:
        """A client's request took the broker so long: for how many ms, one window at most, to read no more of it."""
        limit = self._limits[REQUEST_PERCENTAGE].of_client(user, client_id)
        if limit is None:
            return 0
        rate = self._rate(REQUEST_PERCENTAGE, limit, now_ms)
        rate.record(time_ns * _PERCENT_OF_NS, now_ms, self._windows)
        throttle_ms = min(rate.throttle_ms(limit.bound, now_ms, self._windows), self._windows.size_ms)
        self.throttles[REQUEST_PERCENTAGE].add(throttle_ms)
        return throttle_ms

    def mutations(self, user: str, client_id: str, now_ms: int, *, strict: bool) -> Mutations | None:
        """What a request that creates or deletes partitions may do; None where nothing limits it.

        `strict`: its version knows the error for what may not be done now.
        """
        limit = self._limits[CONTROLLER_MUTATION_RATE].of_client(user, client_id)
        if limit is None:
            return None
        bucket = self._buckets.setdefault((limit.user, limit.client_id), TokenBucket())
        self._sweep(now_ms)
        throttles = self.throttles[CONTROLLER_MUTATION_RATE]
        return Mutations(bucket, limit.bound, now_ms, self._mutation_windows, throttles, strict=strict)

    def _throttle(self, key: str, user: str, client_id: str, value: float, now_ms: int) -> int:
        limit = self._limits[key].of_client(user, client_id)
        if limit is None:
            return 0
        rate = self._rate(key, limit, now_ms)
        rate.record(value, now_ms, self._windows)
        throttle_ms = rate.throttle_ms(limit.bound, now_ms, self._windows)
        self.throttles[key].add(throttle_ms)
        return throttle_ms

    def _rate(self, key: str, limit: Limit, now_ms: int) -> Rate:
        name = (key, limit.user, limit.client_id)
        rate = self._rates.get(name)
        if rate is None:
            self._sweep(now_ms)
            rate = self._rates[name] = Rate(now_ms)
        return rate

    def _sweep(self, now_ms: int) -> None:
        """Forget who has used nothing for so long that it is the same as nothing ever: clients may make names up."""
        if self.known < self._sweep_at:
            return
        idle = [name for name, rate in self._rates.items() if rate.is_idle(now_ms, self._windows)]
        for name in idle:
            del self._rates[name]
        full = [name for name, bucket in self._buckets.items() if bucket.is_idle(now_ms, self._mutation_windows)]
        for who in full:
            del self._buckets[who]
        self._sweep_at = max(_LEAST_SWEEP, 2 * self.known)


class Mutations:
    """The partitions that one request creates and deletes. `throttle_ms`: for how long to read nothing more then."""

    __slots__ = ("_bound", "_bucket", "_now_ms", "_strict", "_throttles", "_windows", "throttle_ms")

    def __init__(
        self, bucket: TokenBucket, bound: float, now_ms: int, windows: Windows, throttles: Throttles, *, strict: bool
    ) -> None:
        self._bucket = bucket
        self._bound = bound
        self._now_ms = now_ms
        self._windows = windows
        self._throttles = throttles
        self._strict = strict
        self.throttle_ms = 0

    def may(self, partitions: int) -> bool:
        """Whether so many may be created or deleted now; they count then. None may while some are owed."""
        if self._strict and self._overdrawn():
            return False
        self._bucket.take(partitions, self._bound, self._now_ms, self._windows)
        if not self._strict:
            self._overdrawn()
        return True

    def _overdrawn(self) -> bool:
        throttle_ms = self._bucket.throttle_ms(self._bound, self._now_ms, self._windows)
        if throttle_ms and not self.throttle_ms:
            self._throttles.add(throttle_ms)
        self.throttle_ms = max(self.throttle_ms, throttle_ms)
        return throttle_ms > 0
