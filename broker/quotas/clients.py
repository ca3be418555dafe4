"""Clients' use of their quotas, and the waits of clients that exceed one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from shareq.broker.quotas.allowance import Allowance, Throttles, Usage
from shareq.broker.quotas.entity import (
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    QuotaEntity,
)
from shareq.broker.quotas.limits import Limits
from shareq.broker.quotas.rate import TokenBucket, Windows

KEYS: Final = (PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE, REQUEST_PERCENTAGE, CONTROLLER_MUTATION_RATE)
UNLIMITED: Final = 2**31 - 1
_RATES: Final = (PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE, REQUEST_PERCENTAGE)

_PERCENT_OF_NS: Final = 100 / 1_000_000_000
_LEAST_SWEEP: Final = 1000  # allowances and buckets: with fewer there is nothing to win


class Account:
    """One client's quotas and its use of them; None for a quota that does not apply.

    Get a new account if `generation` differs from that of the quotas.
    """

    __slots__ = ("_full_ms", "consumer", "generation", "producer", "requests")

    def __init__(
        self,
        generation: int,
        producer: Allowance | None,
        consumer: Allowance | None,
        requests: Allowance | None,
        full_ms: int,
    ) -> None:
        self.generation = generation
        self.producer = producer
        self.consumer = consumer
        self.requests = requests
        self._full_ms = full_ms

    def produced(self, size: int, now_ms: int) -> int:
        """Count the bytes of a client's Produce request. Return for how many ms to stop reading from the client."""
        return 0 if self.producer is None else self.producer.spend(size, now_ms)

    def fetched(self, size: int, now_ms: int) -> int:
        """Count the bytes of records sent to a client. Return for how many ms to stop reading from the client."""
        return 0 if self.consumer is None else self.consumer.spend(size, now_ms)

    def fetch(self, size: int, now_ms: int) -> tuple[int, bool]:
        """Count records like `fetched`. Return the throttle time in ms, and True if the client gets the records now.

        If it does not, nothing was counted. An answer of more than `fetch_bound`, which would never be within the
        quota, is sent.
        """
        throttle_ms = self.fetched(size, now_ms)
        if self.consumer is None or not throttle_ms or size > self.fetch_bound:
            return throttle_ms, True
        self.consumer.take_back(size)
        return throttle_ms, False

    @property
    def fetch_bound(self) -> int:
        """The most bytes of a fetch that are not throttled if nothing was used before."""
        return UNLIMITED if self.consumer is None else int(min(self.consumer.bound * self._full_ms / 1000, UNLIMITED))

    def used(self, time_ns: int, now_ms: int) -> int:
        """Count the time of a client's request.

        Return for how many ms, one window at most, to stop reading from the client.
        """
        return 0 if self.requests is None else self.requests.spend(time_ns, now_ms)


class ClientQuotas:
    """The quotas of users and client ids, and their use.

    `active` is True if there are quotas; otherwise nothing has to be counted. `throttles` are counted by key. Names
    of users are without their type; a missing client id is "". Unused entries are forgotten. `usages` are by key and
    entity of a quota, `allowances` by key, user and client id, "" for one that does not matter. `generation` is that
    of accounts that are still valid.
    """

    def __init__(self, windows: Windows = Windows(), mutation_windows: Windows = Windows()) -> None:  # noqa: B008
        self.active = False
        self.generation = 0
        self.throttles = {key: Throttles() for key in KEYS}
        self.muted = 0  # connections that wait now
        self._windows = windows
        self._mutation_windows = mutation_windows
        self._limits = {key: Limits(key, {}) for key in KEYS}
        self.allowances: dict[tuple[str, str, str], Allowance] = {}
        self._buckets: dict[tuple[str, str], TokenBucket] = {}
        self._sweep_at = _LEAST_SWEEP
        self.usages: dict[tuple[str, QuotaEntity], Usage] = {}

    @property
    def known(self) -> int:
        """The number of allowances and buckets kept."""
        return len(self.allowances) + len(self._buckets)

    def replace(self, quotas: Mapping[QuotaEntity, Mapping[str, float]]) -> None:
        """Replace the quotas. Earlier use still counts."""
        self._limits = {key: Limits(key, quotas) for key in KEYS}
        before, self.usages = self.usages, {}
        for key, limits in self._limits.items():
            for entity in limits.bounds():
                self.usages[key, entity] = before.get((key, entity)) or Usage()
        self.active = any(self._limits.values())
        self.generation += 1
        if not self.active:
            self.allowances.clear()
            self._buckets.clear()

    def account(self, user: str, client_id: str, now_ms: int) -> Account:
        """Return a client's account, created once for each connection, and again when `generation` has changed."""
        self._sweep(now_ms)
        producer, consumer, requests = (self._allowance(key, user, client_id) for key in _RATES)
        return Account(self.generation, producer, consumer, requests, self._windows.full_ms)

    def mutations(self, user: str, client_id: str, now_ms: int, *, strict: bool) -> Mutations | None:
        """Return a request's budget for creating or deleting partitions; None if nothing limits it.

        `strict`: the request's version has an error for changes that exceed the quota.
        """
        limit = self._limits[CONTROLLER_MUTATION_RATE].of_client(user, client_id)
        if limit is None:
            return None
        bucket = self._buckets.setdefault((limit.user, limit.client_id), TokenBucket())
        self._sweep(now_ms)
        throttles = self.throttles[CONTROLLER_MUTATION_RATE]
        usage = self.usages[CONTROLLER_MUTATION_RATE, limit.entity]
        return Mutations(bucket, limit.bound, now_ms, self._mutation_windows, throttles, usage, strict=strict)

    def bound_of(self, key: str, entity: QuotaEntity) -> float | None:
        """Return the bound of a quota set for exactly this entity; None if none was set."""
        return self._limits[key].bounds().get(entity)

    def _allowance(self, key: str, user: str, client_id: str) -> Allowance | None:
        limit = self._limits[key].of_client(user, client_id)
        if limit is None:
            return None
        name = (key, limit.user, limit.client_id)
        usage = self.usages[key, limit.entity]
        allowance = self.allowances.get(name)
        if allowance is None:
            of_time = key == REQUEST_PERCENTAGE
            allowance = self.allowances[name] = Allowance(
                limit.bound,
                self._windows,
                self.throttles[key],
                usage,
                unit=_PERCENT_OF_NS if of_time else 1,
                longest_ms=self._windows.size_ms if of_time else None,
            )
        allowance.limit(limit.bound, usage)
        return allowance

    def _sweep(self, now_ms: int) -> None:
        """Forget clients that have used nothing for so long that earlier use does not count, because clients may
        invent names.
        """
        if self.known < self._sweep_at:
            return
        idle = [name for name, allowance in self.allowances.items() if allowance.is_idle(now_ms)]
        for name in idle:
            del self.allowances[name]
        full = [name for name, bucket in self._buckets.items() if bucket.is_idle(now_ms, self._mutation_windows)]
        for who in full:
            del self._buckets[who]
        if idle:
            self.generation += 1  # accounts that refer to what is forgotten
        self._sweep_at = max(_LEAST_SWEEP, 2 * self.known)


class Mutations:
    """The partitions that one request creates and deletes. `throttle_ms` is how long to stop reading from the client
    afterwards.
    """

    __slots__ = ("_bound", "_bucket", "_now_ms", "_strict", "_throttles", "_usage", "_windows", "throttle_ms")

    def __init__(
        self,
        bucket: TokenBucket,
        bound: float,
        now_ms: int,
        windows: Windows,
        throttles: Throttles,
        usage: Usage,
        *,
        strict: bool,
    ) -> None:
        self._bucket = bucket
        self._bound = bound
        self._now_ms = now_ms
        self._windows = windows
        self._throttles = throttles
        self._usage = usage
        self._strict = strict
        self.throttle_ms = 0

    def may(self, partitions: int) -> bool:
        """Return True if so many may be created or deleted now, and count them. Return False while the quota is
        overdrawn.
        """
        if self._strict and self._overdrawn():
            return False
        self._bucket.take(partitions, self._bound, self._now_ms, self._windows)
        self._usage.amount += partitions
        if not self._strict:
            self._overdrawn()
        return True

    def _overdrawn(self) -> bool:
        throttle_ms = self._bucket.throttle_ms(self._bound, self._now_ms, self._windows)
        if throttle_ms and not self.throttle_ms:
            self._throttles.add(throttle_ms)
            self._usage.throttles.add(throttle_ms)
        self.throttle_ms = max(self.throttle_ms, throttle_ms)
        return throttle_ms > 0
