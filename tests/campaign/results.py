"""The results of campaigns, a line of JSON for each round, in a file that grows: campaigns resume there."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

R = TypeVar("R", bound="DataclassInstance")


def append(path: Path, row: DataclassInstance) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab", buffering=0) as file:
        file.write((json.dumps(asdict(row), separators=(",", ":")) + "\n").encode())


def read(path: Path, kind: type[R]) -> list[R]:
    return [kind(**json.loads(line)) for line in path.read_text().splitlines()] if path.exists() else []
