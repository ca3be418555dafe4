"""Commands about a running cluster, ours or any of Apache Kafka. Nothing is imported before a command is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import click

MODULES: Final[dict[str, str]] = {
    "topics": "topics",
    "share": "share.command",
    "groups": "groups.command",
    "produce": "records.command",
    "consume": "records.command",
    "tail": "records.command",
    "dlq": "dlq.command",
    "configs": "cluster.configs",
    "acls": "access.acls",
    "users": "access.users",
    "quotas": "access.quotas",
    "cluster": "cluster.brokers",
    "features": "cluster.features",
    "transactions": "cluster.transactions",
    "top": "top.command",
    "console": "console",
    "json-schema": "meta",
    "completion": "meta",
}
"""Commands, and the modules that have them as `command`, or as `commands` by name."""


_WHOLE: Final = 1_000


def command_of(name: str) -> click.Command:
    """The command of a name in `MODULES`."""
    module = import_module(f"shareq.ops.cli.{MODULES[name]}")
    found: click.Command = module.commands[name] if hasattr(module, "commands") else module.command
    return found


def write_commands(group: click.Group, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """Write the commands of a group with the whole first sentence of each, which click would cut off."""
    found = [(name, group.get_command(ctx, name)) for name in group.list_commands(ctx)]
    rows = [(name, one.get_short_help_str(_WHOLE)) for name, one in found if one is not None and not one.hidden]
    with formatter.section("Commands"):
        formatter.write_dl(rows)
