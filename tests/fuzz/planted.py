"""Faults to plant in the broker, each as small as a mistake in a change would be. The fuzzer must notice them all.

A fault is a context manager that replaces one piece of the product while it is open.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Final

from shareq.broker.dispatch.coroutines import is_coroutine
from shareq.broker.dispatch.dispatcher import Dispatcher
from shareq.broker.dispatch.route import Route
from shareq.broker.foundation.pending import Pending
from shareq.broker.handlers.cluster import describe_cluster
from shareq.broker.handlers.configs import describe_configs
from shareq.broker.handlers.groups import list_groups, offset_commit, offset_fetch
from shareq.broker.handlers.share import share_fetch
from shareq.broker.network.answer_budget import AnswerBudget
from shareq.broker.network.connection import Connection
from shareq.coordinator.share.shard import ShareCoordinatorShard
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from tests.support.planting import Fault, Function, in_place_of, replaced

# Replacements stand in for functions of many signatures: Any is whatever they get.
FLEXIBLE_LIST_OFFSETS: Final = 6
SLOW_S: Final = 0.2
MANY_TOPICS: Final = 3
HUGE: Final = 200_000_000
MANY_CLOSED: Final = 20


def _before(module: Any, first: Callable[[Any], None]) -> AbstractContextManager[object]:
    original = module.handle

    def handle(ctx: Any, request: Any) -> Any:
        first(request)
        return original(ctx, request)

    async def waiting(ctx: Any, request: Any) -> Any:
        first(request)
        return await original(ctx, request)

    if is_coroutine(original):
        return replaced((module, "handle", waiting))

    return replaced((module, "handle", handle))


def handler_raises_on_null() -> AbstractContextManager[object]:
    def count(request: Any) -> None:
        sum(len(each.configuration_keys) for each in request.resources)

    return _before(describe_configs, count)


def handler_trusts_a_number() -> AbstractContextManager[object]:
    def take(request: Any) -> None:
        bytearray(min(max(request.max_bytes, request.max_records, request.max_wait_ms, 0), HUGE))

    return _before(share_fetch, take)


@in_place_of(Route, "frame")
def answer_in_another_version(original: Function, self: Route, response: Any, correlation_id: int) -> Any:
    version = self.version
    if self.api_key is ApiKey.LIST_OFFSETS and version >= FLEXIBLE_LIST_OFFSETS:
        self.version = FLEXIBLE_LIST_OFFSETS - 1
    try:
        return original(self, response, correlation_id)
    finally:
        self.version = version


@in_place_of(Route, "frame")
def answer_for_another_request(original: Function, self: Route, response: Any, correlation_id: int) -> Any:
    other = correlation_id + (self.api_key is ApiKey.LIST_GROUPS and correlation_id < 2**31 - 1)
    return original(self, response, other)


@in_place_of(describe_cluster, "handle")
def answer_swallowed(original: Function, ctx: Any, request: Any) -> Any:
    """Return an answer that nothing completes."""
    return original(ctx, request) if request.endpoint_type == 1 else Pending[Any]()


def slow_with_many() -> AbstractContextManager[object]:
    def burn(request: Any) -> None:
        if len(request.topics) > MANY_TOPICS:
            until = time.thread_time() + SLOW_S
            while time.thread_time() < until:
                pass

    return _before(offset_commit, burn)


def requests_kept() -> AbstractContextManager[object]:
    kept: list[object] = []
    return _before(list_groups, kept.append)


def connections_kept() -> AbstractContextManager[object]:
    original, kept = Dispatcher.handler_for, list[object]()

    def handler_for(self: Dispatcher, connection: Connection) -> Any:
        kept.append(connection)
        return original(self, connection)

    return replaced((Dispatcher, "handler_for", handler_for))


def closed_without_a_word() -> AbstractContextManager[object]:
    return replaced((Connection, "close", lambda self, _reason: self.finish()))


@in_place_of(offset_fetch, "handle")
async def unexplained_server_error(original: Function, ctx: Any, request: Any) -> Any:
    if any(index < 0 for topic in request.topics or () for index in topic.partition_indexes):
        return offset_fetch.failed(request, ErrorCode.UNKNOWN_SERVER_ERROR)
    return await original(ctx, request)


@in_place_of(ShareCoordinatorShard, "read_summary")
def state_changed_without_a_record(original: Function, self: ShareCoordinatorShard, key: Any) -> Any:
    state = self.state_of(key)
    if state is not None:
        state.snapshot_epoch += 1
    return original(self, key)


def strangers_starve_the_neighbour() -> AbstractContextManager[object]:
    """Plant a leak: a closed connection's memory allowance is never returned."""
    original, closed = Connection.close, list[str]()

    def close(self: Connection, reason: str) -> None:
        closed.append(reason)
        original(self, reason)

    return replaced((Connection, "close", close), (AnswerBudget, "has_room", lambda _self: len(closed) < MANY_CLOSED))


FAULTS: Final[dict[Fault, str]] = {
    handler_raises_on_null: "UNKNOWN_SERVER_ERROR in DescribeConfigs",
    handler_trusts_a_number: "of memory for",
    answer_in_another_version: "cannot be read",
    answer_for_another_request: "was due",
    answer_swallowed: "never answered",
    slow_with_many: "the loop was held",
    requests_kept: "left in memory",
    connections_kept: "left in memory",
    closed_without_a_word: "closed with 0 lines",
    unexplained_server_error: "UNKNOWN_SERVER_ERROR in OffsetFetch",
    state_changed_without_a_record: "at the end",
    strangers_starve_the_neighbour: "neighbour",
}
"""The words of the failure that each fault leads to."""
