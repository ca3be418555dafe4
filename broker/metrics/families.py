"""Every metric that is exposed, declared once; here those of the process, its listeners and requests.

Names are derived from Apache Kafka's by one rule: domain, type and name of the MBean in snake case, `PerSec` and
totals as counters that end in `_total`, times in seconds, sizes in bytes. Names of metrics that Apache Kafka does
not have begin with `shareq_`. A page of the site lists them (`scripts/reference.py`). A new metric of an existing
counter takes one line here. A broker's ground has its own metrics.

A snapshot is plain values, taken on the loop with pauses, so that many rows delay no request. Each row shows one
moment, but different rows may show different ones. Services that were not used are not created for a snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from shareq import __version__
from shareq.broker.metrics.coordinators import COORDINATORS, take_coordinators
from shareq.broker.metrics.family import (
    COUNTER,
    GAUGE,
    HISTOGRAM,
    NS_PER_S,
    Family,
    Table,
    distribution,
    itself,
)
from shareq.broker.metrics.rows import GroundMetrics, Snapshot
from shareq.broker.metrics.shares import SHARES, take_shares
from shareq.broker.services import Services
from shareq.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from shareq.broker.foundation.turn_budget import Breathe
    from shareq.broker.network.counters import Requests
    from shareq.broker.network.listener import Listener
    from shareq.broker.quotas.clients import ClientQuotas
    from shareq.protocol.api_keys import ApiKey

_LISTENER: Final = "kafka_server_socket_server_metrics"
_REQUEST: Final = "kafka_network_request_metrics"


class Moment(NamedTuple):
    """The broker at the beginning of the snapshot."""

    services: Services
    now_ns: int
    uptime_ns: int


class QuotaUsage(NamedTuple):
    """One quota of an entity."""

    bound: float
    used: float
    throttled_ms: int


BUILD: Final = Table(
    ("version",),
    (GAUGE, "shareq_build_info", "Always 1; the version is in the label.", itself),
)
PROCESS: Final = Table(
    (),
    (GAUGE, "shareq_uptime_seconds", "Since the broker began to listen.", lambda it: it.uptime_ns / NS_PER_S),
    (
        HISTOGRAM,
        "shareq_event_loop_stall_seconds",
        "How long the event loop was held, looked at a hundred times a second.",
        lambda it: distribution(it.services.stalls.durations),
    ),
    (
        GAUGE,
        "shareq_event_loop_longest_stall_seconds",
        "The longest of the last 30 to 60 seconds.",
        lambda it: it.services.stalls.longest.of(it.now_ns) / NS_PER_S,
    ),
    (
        GAUGE,
        "shareq_long_requests",
        "Long requests that are under way or wait for their turn.",
        lambda it: len(it.services.turns),
    ),
    (
        GAUGE,
        "shareq_held_reply_bytes",
        "Bytes of answers in memory that clients do not take.",
        attrgetter("services.answer_budget.held"),
    ),
    (
        GAUGE,
        "kafka_network_socket_server_memory_pool_used_bytes",
        "Bytes of requests in memory that were received and are not handled, or large and not answered.",
        attrgetter("services.request_budget.held"),
    ),
    (
        GAUGE,
        "shareq_connections_waiting_for_room",
        "Connections that are not read until there is room for their requests.",
        attrgetter("services.request_budget.waiting"),
    ),
    (
        GAUGE,
        "shareq_muted_connections",
        "Connections of which nothing is read for a while, because their client is over a quota.",
        attrgetter("services.quotas.muted"),
    ),
)
LISTENERS: Final = Table(
    ("listener",),
    (GAUGE, f"{_LISTENER}_connection_count", "Open client connections.", len),
    (COUNTER, f"{_LISTENER}_connection_creation_total", "Client connections accepted.", attrgetter("accepted")),
    (
        COUNTER,
        "shareq_connections_refused_total",
        "Client connections closed at once because of a limit of connections or open files.",
        attrgetter("refused"),
    ),
    (COUNTER, f"{_LISTENER}_incoming_byte_total", "Bytes read from clients.", attrgetter("bytes_in")),
    (COUNTER, f"{_LISTENER}_outgoing_byte_total", "Bytes written to clients.", attrgetter("bytes_out")),
    (
        COUNTER,
        f"{_LISTENER}_successful_authentication_total",
        "Clients that logged in with SASL, or shook hands on a listener of SSL.",
        attrgetter("authentications.succeeded"),
    ),
    (
        COUNTER,
        f"{_LISTENER}_failed_authentication_total",
        "Logins with SASL and handshakes of TLS that failed.",
        attrgetter("authentications.failed"),
    ),
    (
        GAUGE,
        "shareq_certificate_end_timestamp_seconds",
        "When the listener's certificate ends, since the epoch.",
        lambda it: None if it.certificate_ends_s is None else it.certificate_ends_s(),
    ),
)
QUOTAS: Final = Table(
    ("quota",),
    (
        COUNTER,
        "shareq_throttled_requests_total",
        "Requests whose client had to wait because of a quota.",
        attrgetter("number"),
    ),
    (
        COUNTER,
        "shareq_throttle_time_seconds_total",
        "How long clients had to wait because of a quota.",
        lambda it: it.total_ms / 1000,
    ),
)
QUOTA_USAGES: Final = Table(
    ("quota", "user", "client_id"),
    (
        GAUGE,
        "shareq_quota_limit",
        "A quota as it was set: <default> stands for all that have none, an empty name for any.",
        attrgetter("bound"),
    ),
    (
        COUNTER,
        "shareq_quota_used_total",
        "What all clients of the entity used: bytes, partitions, or hundredths of seconds of the one thread.",
        attrgetter("used"),
    ),
    (
        COUNTER,
        "shareq_quota_throttle_time_seconds_total",
        "How long clients of the entity had to wait because of the quota.",
        lambda it: it.throttled_ms / 1000,
    ),
)
REQUESTS: Final = Table(
    ("request",),
    (
        COUNTER,
        f"{_REQUEST}_requests_total",
        "Requests that were answered, or that wanted no answer.",
        lambda it: sum(it.durations.buckets) + it.unanswered,
    ),
    (
        HISTOGRAM,
        f"{_REQUEST}_total_time_seconds",
        "From taking up a request to handing over its answer, the time a fetch waits for records included.",
        lambda it: distribution(it.durations),
    ),
)
REQUEST_ERRORS: Final = Table(
    ("request", "error"),
    (COUNTER, f"{_REQUEST}_errors_total", "Errors in answers; each error of an answer counts.", itself),
)
LEFT_OUT: Final = Table(
    ("metric",),
    (
        GAUGE,
        "shareq_metrics_left_out_samples",
        "Samples of a metric that this scrape leaves out: each metric has 5000, "
        "of the first groups, topics or partitions; with shareq.metrics.names=false one sample stands for all.",
        itself,
    ),
)


def families_with(ground: Iterable[Table]) -> tuple[Family, ...]:
    """Return every metric of a broker whose ground has these tables."""
    tables = (
        *(BUILD, PROCESS, LISTENERS, QUOTAS, QUOTA_USAGES, REQUESTS, REQUEST_ERRORS),
        *ground,
        *COORDINATORS,
        *SHARES,
        LEFT_OUT,  # the last: it counts what the others left out
    )
    return tuple(family for table in tables for family in table)


MOST_QUOTA_ROWS: Final = 1_000
"""The most quotas that have their own samples; they are the ones set first."""


async def take(
    into: Snapshot,
    services: Services,
    metrics: GroundMetrics,
    requests_by_api: Mapping[ApiKey, Requests],
    listeners: Sequence[Listener],
    started_ns: int,
) -> None:
    """Fill the snapshot. `metrics` are the ground's; `started_ns` is a time of the clock's `now_ns`."""
    now_ns = services.env.clock.now_ns()
    into.take(BUILD, (__version__,), 1)
    into.take(PROCESS, (), Moment(services, now_ns, now_ns - started_ns))
    for listener in listeners:
        into.take(LISTENERS, (listener.name,), listener)
    for api_key, requests in requests_by_api.items():
        name = _rpc_name(api_key.name)
        into.take(REQUESTS, (name,), requests)
        for code, number in requests.errors.items():
            into.take(REQUEST_ERRORS, (name, ErrorCode(code).name), number)
    for key, throttles in services.quotas.throttles.items():
        into.take(QUOTAS, (key,), throttles)
    await _take_quota_usages(into, services.quotas, services.env.budget.breathe)
    ends = await metrics.take(into, services)
    await take_coordinators(into, services, ends)
    await take_shares(into, services, ends)


async def _take_quota_usages(into: Snapshot, quotas: ClientQuotas, breathe: Breathe) -> None:
    for (key, entity), usage in list(quotas.usages.items())[:MOST_QUOTA_ROWS]:
        bound = quotas.bound_of(key, entity)
        if bound is not None:  # it was not removed since the last pause
            names = key, _entity_name(entity.user), _entity_name(entity.client_id)
            into.take(QUOTA_USAGES, names, QuotaUsage(bound, usage.amount, usage.throttles.total_ms))
        await breathe()


def _entity_name(name: str | None) -> str:
    """Return the name of an entity as it was set: "<default>" for a default, "" if it does not matter."""
    return "" if name is None else name or "<default>"


def _rpc_name(name: str) -> str:
    """Return the name of an RPC: ShareFetch for SHARE_FETCH."""
    return name.title().replace("_", "")
