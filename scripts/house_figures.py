"""Counts how the rooms of `broker/` hang together: `make house`, and the figures in ARCHITECTURE.md.

A room is a folder or a file directly in `broker/`. An arrow is an import from one room to another; imports for type
checkers and inside functions count. A floor is a step of the longest chain of arrows; a circle is a set of files that
reach each other by imports.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

PACKAGE: Final = "shareq.broker"


class Figures(NamedTuple):
    """The counted figures, in the order in which they are printed."""

    rooms: int
    floors: int
    arrows: int
    circles_of_rooms: int
    largest_circle_of_files: int
    files_at_the_top: int
    fullest_folder: tuple[str, int]


Graph = Mapping[str, set[str]]


def figures(root: Path) -> Figures:
    """Return the figures of the package in the folder `root`."""
    files = {_module(path, root): path for path in sorted(root.rglob("*.py")) if path.name != "__init__.py"}
    imports = {module: set(_imports(path)) & files.keys() - {module} for module, path in files.items()}
    rooms = {_room(module) for module in files} - {"__main__"}
    between: dict[str, set[str]] = {room: set() for room in rooms}
    for module, imported in imports.items():
        if _room(module) in rooms:
            between[_room(module)] |= {_room(each) for each in imported} - {_room(module)}
    counts = [
        (str(folder.relative_to(root)), _modules_in(folder))
        for folder in [root, *root.rglob("*")]
        if _is_package(folder)
    ]
    circles = [circle for circle in _circles(imports) if len(circle) > 1]
    return Figures(
        rooms=len(rooms),
        floors=_floors(between),
        arrows=sum(map(len, between.values())),
        circles_of_rooms=sum(len(circle) > 1 for circle in _circles(between)),
        largest_circle_of_files=max(map(len, circles), default=0),
        files_at_the_top=_modules_in(root),
        fullest_folder=max(counts, key=lambda each: each[1]),
    )


def _module(path: Path, root: Path) -> str:
    return ".".join((PACKAGE, *path.relative_to(root).with_suffix("").parts))


def _room(module: str) -> str:
    return module.removeprefix(f"{PACKAGE}.").partition(".")[0]


def _is_package(folder: Path) -> bool:
    return folder.is_dir() and (folder / "__init__.py").exists()


def _modules_in(folder: Path) -> int:
    return sum(path.name != "__init__.py" for path in folder.glob("*.py"))


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _circles(graph: Graph) -> list[set[str]]:
    """Return the strongly connected components: for each node, the nodes that it reaches and that reach it."""
    reached = {node: _reached(graph, node) for node in graph}
    left, circles = set(graph), []
    while left:
        node = min(left)
        circle = {each for each in reached[node] if node in reached[each]} | {node}
        circles.append(circle)
        left -= circle
    return circles


def _reached(graph: Graph, start: str) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for each in graph[waiting.pop()] - found:
            found.add(each)
            waiting.append(each)
    return found


def _floors(graph: Graph) -> int:
    """Return the floors of a graph with circles, which count as one floor."""
    circles = _circles(graph)
    part = {node: index for index, circle in enumerate(circles) for node in circle}
    below = [{part[each] for node in circle for each in graph[node]} - {index} for index, circle in enumerate(circles)]
    heights: dict[int, int] = {}

    def height(index: int) -> int:
        if index not in heights:
            heights[index] = 1 + max(map(height, below[index]), default=0)
        return heights[index]

    return max(map(height, range(len(circles))), default=0)


def main() -> None:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else "broker")
    for name, value in figures(root)._asdict().items():
        text = f"{value[1]} ({value[0]})" if isinstance(value, tuple) else str(value)
        print(f"{name.replace('_', ' '):<26}{text}")


if __name__ == "__main__":
    main()
