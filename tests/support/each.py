"""Many values in one test: pytest's own work for a test takes longer than most of these tests."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any


def for_each(name: str, values: Iterable[object]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Call the test with each of the values, at least one, as its argument `name`, until one fails.

    Like `pytest.mark.parametrize`, which is applied above it, except that the values share the test's fixtures. A
    failure has the value as a note.
    """
    cases = list(values)
    if not cases:
        raise ValueError(f"no value of {name}")

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)
        others = [parameter for parameter in signature.parameters.values() if parameter.name != name]
        if len(others) == len(signature.parameters):
            raise TypeError(f"{test.__name__} takes no {name}")

        @functools.wraps(test)
        def each(**fixtures: Any) -> None:
            for value in cases:
                try:
                    test(**fixtures, **{name: value})
                except BaseException as failure:
                    failure.add_note(f"{name} = {value!r}")
                    raise

        vars(each)["__signature__"] = signature.replace(parameters=others)
        return each

    return decorate
