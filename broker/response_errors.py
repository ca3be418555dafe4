"""The error codes in a response, wherever its schema has a place for one: at the top, or in nested arrays."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Final

from shareq.protocol.primitives import Message, Structure

_ARRAY: Final = re.compile(r"list\[(\w+)\]( \| None)?")
_ERROR_CODE: Final = "error_code"  # and what ends with it

Collect = Callable[[Sequence[Any], list[int]], None]  # Any: elements of one class, as the schema has it


def error_reader(response_class: type[Message]) -> Callable[[Message], list[int]]:
    """What finds all error codes of a response of that class; NONE (0) is left out."""
    collect = _collector(response_class)

    def errors(response: Message) -> list[int]:
        found: list[int] = []
        if collect is not None:
            collect((response,), found)
        return found

    return errors


def _collector(structure: type[Structure]) -> Collect | None:
    """What adds the error codes of elements, and of arrays in them, to a list; None when they have no place for any."""
    code_getters = [attrgetter(name) for name in structure.FIELDS if name.endswith(_ERROR_CODE)]
    arrays = _arrays(structure)
    if not code_getters and not arrays:
        return None

    def collect(elements: Sequence[Any], found: list[int]) -> None:
        for code_of in code_getters:
            found += filter(None, map(code_of, elements))
        for array_of, collect_in_array in arrays:
            for element in elements:
                collect_in_array(array_of(element) or (), found)

    return collect


def _arrays(structure: type[Structure]) -> list[tuple[Callable[[Any], Sequence[Any] | None], Collect]]:
    """The arrays of structures that have a place for an error code."""
    arrays: list[tuple[Callable[[Any], Sequence[Any] | None], Collect]] = []
    annotations = structure.__init__.__annotations__
    for name in structure.FIELDS:
        array = _ARRAY.fullmatch(annotations[name])
        element = getattr(sys.modules[structure.__module__], array[1], None) if array else None
        collect = _collector(element) if element is not None else None
        if collect is not None:
            arrays.append((attrgetter(name), collect))
    return arrays
