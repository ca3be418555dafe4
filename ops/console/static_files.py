"""The files of the pages, as they are in the package: read once, and served by exact name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final, NamedTuple

from shareq.ops.console.state_style import state_script, state_style

INDEX: Final = "/"
TYPES: Final[Mapping[str, str]] = {
    "html": "text/html",
    "css": "text/css",
    "js": "text/javascript",
    "svg": "image/svg+xml",
}


class StaticFile(NamedTuple):
    """A file, and the tag by which a browser knows that it already has it."""

    body: bytes
    content_type: str
    etag: str


def static_files() -> dict[str, StaticFile]:
    """Return all files by their paths: those in `static/`, and those made from the names of the states."""
    found = {f"/{name}": _file(name, each.read_bytes()) for name, each in _walk(files(__package__) / "static", "")}
    found["/states.css"] = _file("states.css", state_style().encode())
    found["/state_meanings.js"] = _file("state_meanings.js", state_script().encode())
    found[INDEX] = found.pop("/index.html")
    return found


def _walk(folder: Traversable, above: str) -> Iterator[tuple[str, Traversable]]:
    for each in folder.iterdir():
        if each.is_dir():
            yield from _walk(each, f"{above}{each.name}/")
        elif each.name.rpartition(".")[2] in TYPES:
            yield f"{above}{each.name}", each


def _file(name: str, body: bytes) -> StaticFile:
    etag = hashlib.sha256(body).hexdigest()[:16]
    return StaticFile(body, TYPES[name.rpartition(".")[2]], etag)
