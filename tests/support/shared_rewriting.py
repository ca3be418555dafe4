"""Test modules, whose asserts pytest rewrites when they are imported for the first time.

Each process of a run collects all of them, in one order. In a fresh checkout each would rewrite all of them, too; so
each imports a share of its own first, and finds what the others have rewritten beside the sources.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest


def share_of(worker: Mapping[str, Any], arguments: Iterable[str], ignored: Sequence[str], root: Path) -> list[str]:
    """Return the names of the modules that a process of pytest-xdist imports first; `worker` is its `workerinput`."""
    places = [root / argument.partition("::")[0] for argument in arguments]
    without = [root / path for path in ignored]
    files = {
        file
        for place in places
        for file in ([place] if place.is_file() else place.rglob("test_*.py"))
        if not any(file.is_relative_to(path) for path in without)
    }
    names = sorted(".".join(file.relative_to(root).with_suffix("").parts) for file in files)
    at, processes = int(worker["workerid"].removeprefix("gw")), int(worker["workercount"])
    return names[at::processes]


def import_all(names: Iterable[str]) -> None:
    """Import modules; the collection reports what is wrong with one, or why it is skipped."""
    for name in names:
        with contextlib.suppress(Exception, pytest.skip.Exception):
            importlib.import_module(name)
