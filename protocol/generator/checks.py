"""Limits on schemas' names and sizes, so that accepted schemas give code that works.

Names follow Kafka's form: ASCII letters and digits; classes begin with a capital. A name is refused if the generated
code uses its Python form itself, or if two fields or classes would share that form. Texts and defaults are not limited:
`emit` escapes them.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from shareq.protocol import primitives
from shareq.protocol.generator.names import snake

LONGEST_NAME: Final = 100
MOST_VERSIONS: Final = 1_000
"""The most versions of a message; Apache Kafka's have 20 at most."""
DEEPEST: Final = 32
"""The most levels of nested structs; Apache Kafka's have 4 at most."""
TABLES: Final = frozenset(("index", "error_codes"))
"""The generated modules that belong to no message."""

_CLASS: Final = re.compile(rf"[A-Z][A-Za-z0-9]{{0,{LONGEST_NAME - 1}}}")
_FIELD: Final = re.compile(rf"[A-Za-z][A-Za-z0-9]{{0,{LONGEST_NAME - 1}}}")
_CONSTANT: Final = re.compile(rf"[A-Z][A-Z0-9_]{{0,{LONGEST_NAME - 1}}}")
_USED_CLASSES: Final = frozenset((*dir(builtins), *vars(primitives), "Rows", "Sequence", "Struct"))
_USED_FIELDS: Final = frozenset(
    (*dir(primitives.Message), *vars(primitives), "self", "unknown_tags", "isinstance", "rows", "put_rows", "_")
)


def shown(value: object) -> str:
    """Return a value for an error's text: in one line, no longer than a name may be."""
    text = ascii(value)
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 3]}..."


def class_name_problem(name: str) -> str | None:
    """Return why a message or struct cannot have this name; None if it can."""
    if not _CLASS.fullmatch(name):
        return f"name must be a capital, then letters and digits, {LONGEST_NAME} at most, of ASCII; it is {shown(name)}"
    if name in _USED_CLASSES:
        return f"{name!r} is a name of the generated code"
    return None


def field_name_problem(name: str) -> str | None:
    """Return why a field cannot have this name; None if it can."""
    if not _FIELD.fullmatch(name):
        return f"name must be a letter, then letters and digits, {LONGEST_NAME} at most, of ASCII; it is {shown(name)}"
    if snake(name) in _USED_FIELDS:
        return f"{name!r} is {snake(name)!r} in Python, a name of the generated code"
    return None


def constant_name_problem(name: str) -> str | None:
    """Return why an error code cannot have this name; None if it can."""
    if not _CONSTANT.fullmatch(name):
        return f"name must be a capital, then capitals, digits and underscores of ASCII; it is {shown(name)}"
    return None


def shared_name(names: Sequence[str]) -> tuple[str, str] | None:
    """Return two fields of one struct that would share a local variable, for their values or for the counts of their
    arrays; None if no fields would.
    """
    taken: dict[str, str] = {}
    for name in names:
        other = taken.setdefault(snake(name), name)
        if other is not name:
            return other, name
    for name in names:
        counted = taken.get(f"{snake(name)}_n")
        if counted is not None:
            return name, counted
    return None


Nesting = Mapping[str, Sequence[tuple[str, str]]]
"""The fields of each struct, by its name, that have structs: (field, struct), both by name."""


def cycle(nesting: Nesting) -> list[tuple[str, str]] | None:
    """Return the fields, as (struct, field), by which a struct contains itself, ending with the field that closes the
    cycle; None without a cycle. Every struct that a field names must be a key.
    """
    done: set[str] = set()
    for start in nesting:
        stack = [(start, iter(nesting[start]))]
        path: list[tuple[str, str]] = []  # the fields that lead to the structs of the stack, but for the first
        on_stack = {start: 0}
        while stack and start not in done:
            name, fields = stack[-1]
            field, element = next(fields, ("", ""))
            if not field:
                stack.pop()
                done.add(name)
                del on_stack[name]
                del path[-1:]
            elif element in on_stack:
                return [*path[on_stack[element] :], (name, field)]
            elif element not in done:
                path.append((name, field))
                on_stack[element] = len(stack)
                stack.append((element, iter(nesting[element])))
    return None


def depth(nesting: Nesting) -> int:
    """Return the number of levels of nested structs. No struct may contain itself."""
    known: dict[str, int] = {}
    stack = list(nesting)
    while stack:
        inner = [element for _, element in nesting[stack[-1]]]
        missing = [element for element in inner if element not in known]
        if missing:
            stack.extend(missing)
        else:
            known[stack.pop()] = 1 + max((known[element] for element in inner), default=0)
    return max(known.values())


def defined_twice(text: str) -> str | None:
    """Return a name that a generated module defines twice; None if there is none. Raises SyntaxError."""
    names = Counter(name for statement in ast.parse(text).body for name in _defined(statement))
    return next((name for name, times in names.items() if times > 1), None)


def _defined(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.ClassDef() | ast.FunctionDef():
            yield statement.name
        case ast.Import() | ast.ImportFrom():
            yield from (alias.asname or alias.name for alias in statement.names)
        case ast.Assign():
            yield from (target.id for target in statement.targets if isinstance(target, ast.Name))
