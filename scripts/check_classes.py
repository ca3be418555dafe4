"""Check that no class of the product changes more attributes than a reader can keep in mind, from `make lint`.

`python scripts/check_classes.py` exits with 1 and a line for each class that assigns or deletes more than `MOST`
attributes of its own outside `__init__`. Attributes that are set once do not count: they are the class's foundation. An
exception is named in `MORE`, with its number and its reason, and must still be needed.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[1]
PACKAGES: Final = (
    *("aio", "broker", "client", "cluster", "coordinator", "integrations", "ops", "protocol", "spark", "testing"),
    *("bench", "devtools", "examples", "scripts"),
)
MOST: Final = 15
MORE: Final[Mapping[str, tuple[int, str]]] = {}
"""The number of attributes that a class may change, and the reason."""


class Changed(NamedTuple):
    """The attributes that a class changes after it was made."""

    path: Path
    name: str
    attributes: frozenset[str]


def changed(path: Path) -> Iterator[Changed]:
    """Yield the classes of a file, nested ones too."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ClassDef):
            yield Changed(path, node.name, frozenset(_attributes(node)))


def _attributes(of: ast.ClassDef) -> Iterator[str]:
    for method in of.body:
        if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)) and method.name != "__init__":
            own = _own(method)
            for node in ast.walk(method):
                if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load) and _is(node.value, own):
                    yield node.attr


def _is(node: ast.expr, name: str | None) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _own(method: ast.FunctionDef | ast.AsyncFunctionDef) -> str | None:
    """Return the name of a method's first parameter, by which it knows its object; None without one."""
    arguments = [*method.args.posonlyargs, *method.args.args]
    static = any(isinstance(each, ast.Name) and each.id == "staticmethod" for each in method.decorator_list)
    return None if static or not arguments else arguments[0].arg


def complaints(classes: list[Changed], more: Mapping[str, tuple[int, str]] = MORE) -> Iterator[str]:
    """Yield a line for each class that changes too many attributes, and for each exception without need."""
    for each in classes:
        most = more[each.name][0] if each.name in more else MOST
        if len(each.attributes) > most:
            names = ", ".join(sorted(each.attributes))
            yield f"{each.path}: {each.name} changes {len(each.attributes)} attributes, at most {most}: {names}"
    largest = {name: max((len(each.attributes) for each in classes if each.name == name), default=0) for name in more}
    for name, (most, _reason) in more.items():
        if largest[name] < most:
            yield f"{Path(__file__).name}: {name} may change {most} attributes and changes {largest[name]}"


def main() -> int:
    """Print the complaints; return the exit status."""
    paths = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    classes = [each._replace(path=path.relative_to(ROOT)) for path in paths for each in changed(path)]
    found = list(complaints(classes))
    for line in found:
        print(line, file=sys.stderr)
    if not found:
        print(f"{len(classes)} classes, none of which changes more than {MOST} attributes")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
