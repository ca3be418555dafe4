"""Error codes and messages in a response, wherever its schema has a place for one: at the top, or in nested arrays."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

from shareq.protocol.primitives import Message, Structure

_ERROR_CODE: Final = "error_code"  # and what ends with it

_MESSAGE: Final = "error_message"  # and what ends with it
LONGEST_MESSAGE: Final = 1_000
"""Characters of a message that could not be written: a name in it may be as long as a string can be, and then the
message is longer.
"""

Reader = Callable[[Message], list[int]]
Walker = Callable[[Message], Iterator[int]]


def error_reader(response_class: type[Message]) -> Reader:
    """What finds all error codes of a response of that class; NONE (0) is left out.

    It looks at every answer, so it is made for the class once, and does nothing but loop and compare:

        def errors(e0):
            found = []
            for e1 in e0.responses or ():
                for e2 in e1.partitions or ():
                    if e2.error_code: found.append(e2.error_code)
            return found
    """
    reader: Reader = _made(["    found = []", *_lines(response_class, 0, "found.append({})"), "    return found"])
    return reader


def error_walker(response_class: type[Message]) -> Walker:
    """As `error_reader`, for long answers: what it makes finds one error after the other."""
    walker: Walker = _made(["    yield from ()", *_lines(response_class, 0, "yield {}")])
    return walker


def _made(lines: list[str]) -> Any:  # Any: what exec defines
    names: dict[str, Any] = {}
    exec("\n".join(("def errors(e0):", *lines)), names)  # names of our own schemas, and nothing else
    return names["errors"]


def _lines(structure: type[Structure], depth: int, found: str) -> Iterator[str]:
    """What looks at the element `e<depth>`, and at those of its arrays in which there may be an error. `found` is what
    is done with one.
    """
    indent = "    " * (depth + 1)
    for name in structure.FIELDS:
        if name.endswith(_ERROR_CODE):
            yield f"{indent}if e{depth}.{name}: {found.format(f'e{depth}.{name}')}"
    annotations = structure.__init__.__annotations__
    for name in structure.FIELDS:
        array = annotations[name].removesuffix(" | None")
        element_name = array[5:-1] if array.startswith("list[") else ""
        element = getattr(sys.modules[structure.__module__], element_name, None)
        inside = list(_lines(element, depth + 1, found)) if element is not None else []
        if inside:
            yield f"{indent}for e{depth + 1} in e{depth}.{name} or ():"
            yield from inside


def shorten_messages(part: Structure) -> bool:
    """Cut error messages down to `LONGEST_MESSAGE`, at the top and below; whether any was longer."""
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
