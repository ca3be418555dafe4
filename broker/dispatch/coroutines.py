"""Handlers that are coroutines: `async def handle`, where an RPC may have to wait or to pause."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.loop.coroutines import Driven, Waiting, begin
from shareq.broker.foundation.loop.turns import Turn
from shareq.broker.foundation.pending import Pending

if TYPE_CHECKING:
    from shareq.broker.foundation.handler_rows import HandlerRow

T = TypeVar("T")

_IS_COROUTINE: Final = 0x80  # CO_COROUTINE, see the module `inspect`, which takes long to import


def is_coroutine(handle: Callable[..., Any]) -> bool:
    """Return True if a handler was written as `async def`."""
    code = getattr(handle, "__code__", None)
    return code is not None and bool(code.co_flags & _IS_COROUTINE)


def plain_handler(row: HandlerRow) -> Callable[[RequestContext, Any], Any]:  # Any: of one RPC, by its module
    """Return the function `handle` of a row's module; if that is a coroutine function, return a plain one that
    drives its coroutines.
    """
    handle = import_module(row.module).handle
    if not is_coroutine(handle):
        return cast(Callable[..., Any], handle)
    return driven(handle, ends_with_client=row.ends_with_client)


def driven(
    handle: Callable[[RequestContext, Any], Waiting[T]], *, ends_with_client: bool
) -> Callable[[RequestContext, Any], T | Pending[T | None]]:
    """Return a plain handler that drives the coroutines of `handle`.

    The time of later turns counts towards the client's quota. A coroutine continues after its client has left, so
    that its changes are complete, unless it `ends_with_client`: then its result is None. A fault in its first step
    is raised, so the RPC's error is answered; a later one closes the connection.
    """

    def start(ctx: RequestContext, request: Any) -> T | Pending[T | None]:
        coroutine, budget = handle(ctx, request), ctx.services.env.budget
        budget.begin()
        try:
            waits_for = coroutine.send(None)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]  # without a cast, which costs a call
        answer: Driven[T | None] = Driven(coroutine, budget, partial(run_in_turns, ctx), ctx.failed)
        answer.suspend(waits_for)
        if ends_with_client:
            _end_with_client(ctx, answer)
        return answer.result

    return start


def begin_for(ctx: RequestContext, coroutine: Waiting[T]) -> Pending[T]:
    """Drive a coroutine, and charge the time of its later turns to the client's quota, as for a handler."""
    return begin(coroutine, ctx.services.env.budget, partial(run_in_turns, ctx), ctx.failed)


def run_in_turns(ctx: RequestContext, turn: Turn) -> None:
    """Run work in turns of the loop. Where there are quotas, the time of each turn counts for its client."""
    services = ctx.services
    if services.quotas.active:
        from shareq.broker.dispatch.metering import Metering

        turn = Metering(services).begin(ctx).metered(turn)
    services.turns.run(turn, ctx.failed)


def _end_with_client(ctx: RequestContext, answer: Driven[T | None]) -> None:
    """Cancel a coroutine when its connection has closed, because no client waits for its result."""

    def end() -> None:
        if not answer.result.done:
            answer.cancel()
            answer.result.complete(None)

    if ctx.connection.closed:
        end()
        return
    forget = ctx.connection.on_close(end)
    answer.result.on_complete(lambda _value: forget())
