"""Makes the page of the Python interfaces from their docstrings: the names are those that are promised
(`tests/unit/compatibility/promised.json`), so other names are not shown.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Iterator
from enum import Enum
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final, ForwardRef

ROOT: Final = Path(__file__).resolve().parents[1]
RECORD: Final = ROOT / "tests" / "unit" / "compatibility" / "promised.json"
_HEAD: Final = """\
# Python interfaces

The public names of each module, with their docstrings. [What is promised](../../docs/compatibility.md) of them."""


def interfaces() -> Iterator[str]:
    """Yield the lines of the page: modules, their names, and the members of classes."""
    yield from _HEAD.splitlines()
    names = _promised()
    modules = sorted({".".join(name.split(".")[:2]) for name in names})
    for module in map(import_module, modules):
        yield from ("", f"## {module.__name__}", "", *_prose(module.__doc__))
        for name in (each for each in names if each.rpartition(".")[0] == module.__name__):
            yield from _entry(module, name, [each for each in names if each.startswith(f"{name}.")])


def _promised() -> list[str]:
    return sorted(json.loads(RECORD.read_text())["python"])


def _entry(module: ModuleType, name: str, members: list[str]) -> Iterator[str]:
    short = name.rpartition(".")[2]
    of = getattr(module, short)
    shown = _signature(of) if callable(of) else f" = {of!r}"
    yield from ("", f"### {short}", "", f"`{short}{shown}`", "", *_prose(_docstring(of)))
    for member in members:
        label, value = member.rpartition(".")[2], inspect.getattr_static(of, member.rpartition(".")[2], None)
        called = inspect.unwrap(getattr(value, "__func__", value)) if value is not None else None
        arrow = "async " if inspect.iscoroutinefunction(called) else ""
        text = _docstring(called) if inspect.isroutine(called) or isinstance(called, property) else None
        head = f"* `{arrow}{label}{_signature(called) if inspect.isroutine(called) else ''}`"
        body = textwrap.indent("\n".join(_prose(text or _attribute(of, label))), "    ").strip()
        yield f"{head}: {body}" if body else head


def _docstring(of: Any) -> str | None:
    return None if isinstance(of, (str, int)) else inspect.getdoc(of)


def _signature(of: Any) -> str:
    """Return a callable's parameters and return type; an empty string for a class without a constructor of its own."""
    if isinstance(of, type) and (issubclass(of, Enum) or of.__init__ in (object.__init__, Exception.__init__)):
        return ""
    try:
        found = inspect.signature(of)
    except (TypeError, ValueError):
        return ""
    shown = [
        each.replace(annotation=_Text.of(each.annotation, bare=True), default=_Text.of(each.default))
        for each in found.parameters.values()
        if each.name != "self" and not each.name.startswith("_")
    ]
    answer = inspect.Signature.empty if isinstance(of, type) else _Text.of(found.return_annotation, bare=True)
    return str(found.replace(parameters=shown, return_annotation=answer))


class _Text(str):
    """A piece of a signature whose repr is its own text, so annotations show no quotes, and enums no long repr."""

    __slots__ = ()

    @classmethod
    def of(cls, value: Any, *, bare: bool = False) -> Any:
        """Return the text to show for a default; with `bare`, for an annotation."""
        if value is inspect.Parameter.empty:
            return value
        if isinstance(value, Enum):
            return cls(f"{type(value).__name__}.{value.name}")
        if bare and isinstance(value, str):
            return cls(value)
        if isinstance(value, ForwardRef):
            return cls(value.__forward_arg__)
        return value

    def __repr__(self) -> str:
        return str(self)


def _attribute(of: type, name: str) -> str | None:
    """Return the string literal behind an attribute, of the class or of a base."""
    return next((text for base in of.__mro__ if (text := _literals(base).get(name))), None)


@cache
def _literals(of: type) -> dict[str, str]:
    if not of.__module__.startswith("shareq."):
        return {}
    (found,) = ast.parse(textwrap.dedent(inspect.getsource(of))).body
    assert isinstance(found, ast.ClassDef)
    texts = {}
    for line, behind in zip(found.body, found.body[1:], strict=False):
        if isinstance(line, ast.AnnAssign | ast.Assign) and isinstance(behind, ast.Expr):
            target = line.target if isinstance(line, ast.AnnAssign) else line.targets[0]
            if isinstance(target, ast.Name) and isinstance(behind.value, ast.Constant):
                texts[target.id] = inspect.cleandoc(str(behind.value.value))
    return texts


def _prose(text: str | None) -> list[str]:
    """Return a docstring as Markdown: what looks like a program is a block, `Raises ...:` begins a line."""
    lines: list[str] = []
    for part in (text or "").strip().split("\n\n"):
        if re.match(r"(?:    |import |from \w+ import |\w+ = |async def |@)", part):
            lines += ["```python", *textwrap.dedent(part).splitlines(), "```", ""]
        else:
            lines += [re.sub(r"^(?=Raises )", "\n", each) for each in part.splitlines()] + [""]
    return lines
