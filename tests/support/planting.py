"""Faults to plant in the product, to show that a harness notices them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any

Fault = Callable[[], AbstractContextManager[object]]
"""A context manager that replaces one part of the product while it is open."""

# Replacements stand in for methods of many signatures, so they pass on whatever they get.
Function = Callable[..., Any]


@contextmanager
def replaced(*places: tuple[object, str, Function | property]) -> Iterator[None]:
    with ExitStack() as stack:
        for owner, name, new in places:
            stack.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, new)
        yield


def in_place_of(owner: object, name: str) -> Callable[[Function], Fault]:
    """Return a decorator that makes a fault of a function.

    The function replaces `owner`'s `name`, and gets the original as its first argument.
    """

    def decorate(faulty: Function) -> Fault:
        @wraps(faulty)
        def fault() -> AbstractContextManager[object]:
            original = getattr(owner, name)

            def planted(*arguments: Any, **named: Any) -> Any:
                return faulty(original, *arguments, **named)

            async def planted_coroutine(*arguments: Any, **named: Any) -> Any:
                return await faulty(original, *arguments, **named)

            # A handler's kind is looked at: a coroutine stands in for a coroutine.
            return replaced((owner, name, planted_coroutine if iscoroutinefunction(faulty) else planted))

        return fault

    return decorate
