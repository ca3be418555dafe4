"""Error codes and messages in a response, wherever its schema has a field for them: at the top, or in nested arrays."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

from shareq.broker.foundation.turn_budget import PIECE, Breath
from shareq.protocol.primitives import Message, Structure

_ERROR_CODE: Final = "error_code"  # and what ends with it

_MESSAGE: Final = "error_message"  # and what ends with it
LONGEST_MESSAGE: Final = 1_000
"""The most characters kept of a message that is too long to be written, since a name in it may be as long as a
string can be.
"""

Reader = Callable[[Message], list[int]]
Walker = Callable[[Message], Iterator[int]]

_WALKERS: Final[dict[type[Message], Walker]] = {}


def error_reader(response_class: type[Message]) -> Reader:
    """Return a function that returns all error codes of a response of that class, except NONE (0).

    It is called for every answer, so it is generated once for each class, and only loops and compares:

        def errors(e0):
            found = []
            for e1 in e0.responses or ():
                for e2 in e1.partitions or ():
                    if e2.error_code: found.append(e2.error_code)
            return found
    """
    looked_at = "if e{0}.{1}: found.append(e{0}.{1})"
    reader: Reader = _made(["    found = []", *_lines(response_class, 0, looked_at), "    return found"])
    return reader


async def count_errors(response: Message, errors: dict[int, int], breathe: Callable[[int], Breath]) -> None:
    """Add the error codes of a response that may be long to `errors`, with pauses."""
    for at, error_code in enumerate(_walker(type(response))(response), 1):
        if error_code:
            errors[error_code] = errors.get(error_code, 0) + 1
        if at % PIECE == 0:
            await breathe(PIECE)


def _walker(response_class: type[Message]) -> Walker:
    """Return a generator function that yields all error codes, including NONE, of a long response of that class."""
    walker = _WALKERS.get(response_class)
    if walker is None:
        walker = _made(["    yield from ()", *_lines(response_class, 0, "yield e{0}.{1}")])
        _WALKERS[response_class] = walker
    return walker


def _made(lines: list[str]) -> Any:  # Any: what exec defines
    names: dict[str, Any] = {}
    exec("\n".join(("def errors(e0):", *lines)), names)  # names of our own schemas, and nothing else
    return names["errors"]


def _lines(structure: type[Structure], depth: int, looked_at: str) -> list[str]:
    """Return source lines for the element `e<depth>`, and for those of its arrays in which there may be an error.

    `looked_at` returns the lines for an error code, from the depth and the field.
    """
    indent = "    " * (depth + 1)
    lines = [f"{indent}{looked_at.format(depth, name)}" for name in structure.FIELDS if name.endswith(_ERROR_CODE)]
    annotations = structure.__init__.__annotations__
    for name in structure.FIELDS:
        array = annotations[name].removesuffix(" | None")
        element_name = array[5:-1] if array.startswith("list[") else ""
        element = getattr(sys.modules[structure.__module__], element_name, None)
        inside = _lines(element, depth + 1, looked_at) if element is not None else []
        if inside:
            lines += [f"{indent}for e{depth + 1} in e{depth}.{name} or ():", *inside]
    return lines


def shorten_messages(part: Structure) -> bool:
    """Cut error messages, at the top and below, to `LONGEST_MESSAGE`. Return True if one was longer."""
    shortened = False
    for name in part.FIELDS:
        value = getattr(part, name)
        if isinstance(value, Structure):
            shortened |= shorten_messages(value)
        elif isinstance(value, list) and value and isinstance(value[0], Structure):
            for element in value:
                shortened |= shorten_messages(element)
        elif name.endswith(_MESSAGE) and value is not None and len(value) > LONGEST_MESSAGE:
            setattr(part, name, f"{value[: LONGEST_MESSAGE - 1]}…")
            shortened = True
    return shortened
