"""A runner of a file's scenarios side by side: they mostly wait. Each test waits for the end of its own."""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack
from typing import Any, Final

import pytest

from tests.interop.aio_scenarios.scene import Scene, admin_of
from tests.interop.support.broker_under_test import BrokerUnderTest

AT_ONCE: Final = 10

Scenario = Callable[..., Coroutine[Any, Any, None]]


def redoes(
    *scenarios: str, differs: str = "", alone: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Make a test of a coroutine function whose first argument is a `Scene`; further ones are pytest's parameters.

    `scenarios`: the originals, by name without `test_`. `differs`: what is expected here instead, and why. `alone`:
    nothing else runs meanwhile. A function may have several of these decorators, with different texts.
    """

    def wrap(function: Callable[..., Any]) -> Callable[..., None]:
        scenario: Scenario = getattr(function, "scenario", function)

        def test(request: pytest.FixtureRequest, stage: Stage, broker: BrokerUnderTest, **_: Any) -> None:
            stage.outcome(request.node, _of_file(request.node))

        functools.update_wrapper(test, scenario)
        del test.__wrapped__  # type: ignore[attr-defined]
        parameters = [*inspect.signature(scenario).parameters][1:]
        plain = inspect.Parameter.POSITIONAL_OR_KEYWORD
        test.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [inspect.Parameter(name, plain) for name in ("request", "stage", "broker", *parameters)]
        )
        test.scenario = scenario  # type: ignore[attr-defined]
        test.redoes = getattr(function, "redoes", {}) | dict.fromkeys(scenarios, differs)  # type: ignore[attr-defined]
        test.alone = alone or getattr(function, "alone", False)  # type: ignore[attr-defined]
        return test

    return wrap


def _of_file(item: pytest.Item) -> list[pytest.Item]:
    return [one for one in item.session.items if one.path == item.path]


class Stage:
    """An event loop in a thread that runs the scenarios of one file at a time."""

    def __init__(self, broker: BrokerUnderTest) -> None:
        self._broker = broker
        self._admin = admin_of(broker)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="scenarios")
        self._thread.start()
        self._room = asyncio.Semaphore(AT_ONCE)
        self._started: dict[str, Future[None]] = {}

    def outcome(self, item: pytest.Item, of_file: Sequence[pytest.Item]) -> None:
        """Raise the exception of this test's scenario, if any. The first test of a file starts all its scenarios."""
        if item.nodeid not in self._started and not _function(item).alone:
            for one in of_file:
                if not _function(one).alone:
                    self._started[one.nodeid] = self._start(one)
        if _function(item).alone:
            for each in self._started.values():
                each.exception()
            self._start(item).result()
        else:
            self._started[item.nodeid].result()

    def close(self) -> None:
        for each in self._started.values():
            each.cancel()
        asyncio.run_coroutine_threadsafe(self._loop.shutdown_default_executor(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._admin.network.close()

    def _start(self, item: pytest.Item) -> Future[None]:
        callspec = getattr(item, "callspec", None)
        parameters = dict(callspec.params) if callspec is not None else {}
        return asyncio.run_coroutine_threadsafe(self._play(_function(item).scenario, parameters), self._loop)

    async def _play(self, scenario: Scenario, parameters: dict[str, Any]) -> None:
        async with self._room, AsyncExitStack() as stack:
            await scenario(Scene(self._broker, self._admin, stack), **parameters)


def _function(item: pytest.Item) -> Any:
    return getattr(item, "function")  # noqa: B009 - of items of functions, as all are here
