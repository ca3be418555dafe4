"""The names that users may rely on, collected from the code, and the record of promised ones.

`python -m tests.unit.compatibility.surface` adds new names to the record; it never removes one.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import click

from shareq.broker.config.group_config import GROUP_KEYS
from shareq.broker.config.keys.broker import BROKER_KEYS
from shareq.broker.config.topic_config import TOPIC_KEYS
from shareq.broker.dispatch.table import HANDLERS
from shareq.broker.metrics import data_folder
from shareq.cluster.node import metrics as node
from shareq.ops.cli import COMMANDS, command_of
from shareq.ops.cli.meta import leaves, schema
from shareq.ops.cli.shared import exits
from shareq.spark.options import KNOWN
from shareq.spark.sink.options import KNOWN as SINK

RECORD: Final = Path(__file__).with_name("promised.json")
SCHEMA: Final = Path(__file__).parents[3] / "docs" / "records-api.schema.json"
MODULES: Final = ("shareq.aio", "shareq.dramatiq", "shareq.kombu", "shareq.taskiq", "shareq.testing", "shareq.worker")
NAMES: Final = {
    "shareq.dramatiq": ("ShareqBroker",),  # the module has no __all__
    "shareq.kombu": ("SCHEME", "register"),  # the transport's methods are kombu's business
    "shareq.taskiq": ("ShareqBroker",),  # the module has no __all__
}
SEAMS: Final = {  # public for other modules of shareq alone
    "ShareBatch": {"count", "index"},  # of any sequence
    "ShareConsumer": {
        "acquire_ahead",
        "arrived",
        "give_back",
        "goes_on",
        "lock_s",
        "lost",
        "next_batch",
        "next_record",
        "next_records",
        "records_are_there",
        "refused",
        "renewed",
        "room",
        "settle",
        "settle_all",
        "take_ready",
    },
    "ShareRecord": {"is_of", "session"},
    "Worker": {"client_config", "open_lane", "prepare_group"},
}
STARS: Final[dict[object, str]] = {
    inspect.Parameter.VAR_POSITIONAL: "...",
    inspect.Parameter.KEYWORD_ONLY: "*",
    inspect.Parameter.VAR_KEYWORD: "**",
}

Names = Mapping[str, Any]
"""The promise by name; `None` if only the name is promised."""


def surface() -> dict[str, Names]:
    return {
        "exit codes": {
            name: value for name, value in vars(exits).items() if isinstance(value, int) and 0 <= value <= 255
        },
        "json": dict(_json()),
        "metrics": {each.name: [each.kind.value, *each.labels] for each in (*data_folder.FAMILIES, *node.FAMILIES)},
        "options": dict(_options()),
        "properties": {
            f"{of} {key.name}": None
            for of, keys in (("broker", BROKER_KEYS), ("group", GROUP_KEYS), ("topic", TOPIC_KEYS))
            for key in keys
        },
        "python": dict(_python()),
        "records api": dict(_records_api()),
        "requests": {key.name: [row.served.first, row.served.last] for key, row in HANDLERS.items()},
        "spark": dict.fromkeys((*KNOWN, *SINK)),
    }


def _json() -> Iterator[tuple[str, Any]]:
    """Yield the type of each field that commands print with --json, by command and path."""
    for words, command in leaves():
        for path, kind in _fields(schema(words, command)):
            yield f"{words}: {path}", kind


def _records_api() -> Iterator[tuple[str, Any]]:
    """Yield the type of each field of the records API; another test checks its answers against this schema."""
    for name, found in json.loads(SCHEMA.read_text())["$defs"].items():
        for path, kind in _fields(found):
            yield f"{name}: {path}", kind


def _fields(found: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for each in found.get("anyOf", ()):
        yield from _fields(each, path)
    if "items" in found:
        yield from _fields(found["items"], f"{path}[]")
    if found.get("additionalProperties"):
        yield from _fields(found["additionalProperties"], f"{path}{{}}")
    for name, field in found.get("properties", {}).items():
        yield f"{path}.{name}", _kind(field)
        yield from _fields(field, f"{path}.{name}")


def _kind(field: Mapping[str, Any]) -> list[str]:
    kinds = [kind for each in field.get("anyOf", ()) for kind in _kind(each)]
    own = field.get("type", [])
    return sorted({*kinds, *([own] if isinstance(own, str) else own)})


def _options() -> Iterator[tuple[str, Any]]:
    """Yield the options of each command, by its words; arguments have no promised names."""
    for name in COMMANDS:
        waiting: list[tuple[str, click.Command]] = [(name, command_of(name))]
        for words, command in waiting:
            if isinstance(command, click.Group):
                waiting += [(f"{words} {each}", one) for each, one in command.commands.items()]
            else:
                spellings = [opt for each in command.params for opt in (*each.opts, *each.secondary_opts)]
                yield words, sorted(opt for opt in spellings if opt.startswith("-"))


def _python() -> Iterator[tuple[str, Any]]:
    for module in MODULES:
        found = import_module(module)
        for name in NAMES.get(module) or found.__all__:
            each = getattr(found, name)
            yield (
                f"{module}.{name}",
                _parameters(each) if not inspect.isclass(each) or _is_made_by_users(each) else None,
            )
            if inspect.isclass(each):
                yield from ((f"{module}.{name}.{member}", value) for member, value in _members(each))


def _members(of: type) -> Iterator[tuple[str, Any]]:
    """Yield the public members of a class that shareq's own classes define."""
    for owner in _ours(of):
        for name in vars(owner):
            if not name.startswith("_") and name not in SEAMS.get(of.__name__, ()):
                member = getattr(of, name, None)
                yield name, _parameters(member) if inspect.isroutine(member) else None


def _ours(of: type) -> list[type]:
    return [owner for owner in of.__mro__ if owner.__module__.startswith("shareq.")]


def _is_made_by_users(of: type) -> bool:
    """Return True for a class with a constructor of shareq's; others differ between versions of Python."""
    return not issubclass(of, Enum) and any({"__init__", "__new__"} & {*vars(owner)} for owner in _ours(of))


def _parameters(of: Any) -> list[str] | None:
    """Return the parameters of a callable, or None for anything else.

    Forms: `name`, `name=` with a default, `*name` by keyword only, `...name` any number, `**name` any keywords.
    """
    if not callable(of):
        return None
    parameters = inspect.signature(of).parameters.values()
    return [_parameter(each) for each in parameters if each.name != "self" and not each.name.startswith("_")]


def _parameter(of: inspect.Parameter) -> str:
    return f"{STARS.get(of.kind, '')}{of.name}{'' if of.default is of.empty else '='}"


def recorded() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(RECORD.read_text())
    return found


def main() -> None:
    """Add new names to the record; existing ones stay, so a removed name keeps failing its test."""
    before = recorded() if RECORD.exists() else {}
    after = {of: {**before.get(of, {}), **names} for of, names in surface().items()}
    lines = [
        f" {json.dumps(of)}: {{\n"
        + ",\n".join(f"  {json.dumps(name)}: {json.dumps(after[of][name])}" for name in sorted(after[of]))
        + "\n }"
        for of in sorted(after)
    ]
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
