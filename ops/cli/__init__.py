"""Every command, by name. Nothing is imported before a command is called."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import click


class Entry(NamedTuple):
    """The module that has a command as `command`, or in `commands` by name, and the first sentence of the command's
    help.
    """

    module: str
    summary: str


COMMANDS: Final = {
    "backup": Entry(
        "data_folder", "Back up the data folder DATA into DEST, a folder of backups; the broker may be running."
    ),
    "check": Entry("check", "Ask a running broker for ApiVersions, as any client does first."),
    "export-logs": Entry(
        "data_folder",
        "Fill KAFKA, a folder that Apache Kafka 4.3 has formatted, with the topics of the data folder DATA.",
    ),
    "import-logs": Entry(
        "data_folder", "Make DATA, an absent or empty folder, of the data folder KAFKA of Apache Kafka 4."
    ),
    "restore": Entry("data_folder", "Restore a backup in DEST to DATA, an absent or empty folder."),
    "serve": Entry("serve", "Run the broker until SIGTERM, SIGINT or, without TLS, SIGHUP."),
    "verify": Entry(
        "data_folder",
        "Check every file of the data folder DATA: checksums, indexes, offsets, internal records, metadata.",
    ),
    "migrate": Entry(
        "migrate",
        "Move topics with their records, and groups, from the cluster FROM to the cluster TO: HOST:PORT, or a data "
        "folder.",
    ),
    "topics": Entry("topics", "Topics: list, describe, create, alter, delete, trim."),
    "share": Entry(
        "share.command",
        "Share groups: list, describe, members, offsets, lag, records, pause, resume, reset, delete, consume, peek.",
    ),
    "groups": Entry("groups.command", "Consumer groups: list, describe, members, offsets, lag, reset, delete."),
    "produce": Entry("records.command", "Write records: each line of standard input is one, without its line feed."),
    "consume": Entry("records.command", "Print records, from the beginning up to the current end."),
    "tail": Entry(
        "records.command",
        "Print the last records of each partition, and end, as tail does; with -f continue with new records.",
    ),
    "dlq": Entry("dlq.command", "Dead letters: queues, letters, redrives."),
    "configs": Entry("cluster.configs", "Properties of topics, groups, brokers and client metrics."),
    "acls": Entry("access.acls", "Who may do what: list, create, delete."),
    "users": Entry("access.users", "Users that log in with SCRAM: list, set, delete."),
    "quotas": Entry("access.quotas", "What users, client ids and addresses may use: list, alter."),
    "cluster": Entry("cluster.brokers", "The cluster and its brokers: describe, brokers."),
    "features": Entry("cluster.features", "Features and their levels: list, set."),
    "transactions": Entry("cluster.transactions", "Transactions: list, describe, abort."),
    "top": Entry(
        "top.command", "Show share groups at work: lag, rates, records in flight, the age of the oldest; and topics."
    ),
    "console": Entry("console", "Serve a web console of a cluster, or of several: shareq, or any of Apache Kafka."),
    "export": Entry("export", "Serve share groups of any Kafka cluster as metrics, for Prometheus."),
    "json-schema": Entry("meta", "Print the JSON Schema of a command's --json; without a command, of all, by command."),
    "completion": Entry("meta", "Print a script that completes commands and options in a shell."),
    "worker": Entry("worker", "Functions that work on the records of topics, as members of a share group."),
}


def command_of(name: str) -> click.Command:
    """Return the command named `name` in `COMMANDS`."""
    module = import_module(f"shareq.ops.cli.{COMMANDS[name].module}")
    found: click.Command = module.commands[name] if hasattr(module, "commands") else module.command
    return found


_WHOLE: Final = 1_000


def write_commands(group: click.Group, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """Write a group's commands, each with the whole first sentence of its help, which click would cut off."""
    found = [(name, group.get_command(ctx, name)) for name in group.list_commands(ctx)]
    rows = [(name, one.get_short_help_str(_WHOLE)) for name, one in found if one is not None and not one.hidden]
    with formatter.section("Commands"):
        formatter.write_dl(rows)
