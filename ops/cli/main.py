"""The command line. A command is imported when it is called, including `serve`; --help imports none."""

from __future__ import annotations

import gc
from typing import Any

import click

from shareq import __version__
from shareq.ops.cli import COMMANDS, command_of
from shareq.ops.cli.shared.entry import EntryCommand, fill_standard_streams
from shareq.ops.cli.shared.exits import USAGE, CommandEnd, exit_with


class _Commands(EntryCommand, click.Group):
    """The command line over standard streams that may be closed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.summary) for name, each in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            from difflib import get_close_matches

            near = get_close_matches(args[0], self.list_commands(ctx), 1)
            hint = f"did you mean {near[0]}? " if near else ""
            exit_with(USAGE, f"there is no command {args[0][:40]}; {hint}--help shows them all")

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return command_of(cmd_name) if cmd_name in COMMANDS else None

    def main(self, *args: Any, **kwargs: Any) -> Any:
        gc.enable()  # it was disabled while modules were imported
        fill_standard_streams()
        try:
            return super().main(*args, **kwargs)
        except CommandEnd as end:
            end.say_why()
            raise


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="shareq", message="%(prog)s %(version)s")
def main() -> None:
    """A Kafka-wire-compatible broker for queues: share groups in one process.

    shareq serve runs the broker. topics, produce, consume, share, dlq and the others work on a running cluster, shareq
    or Apache Kafka, by default at 127.0.0.1:9092 (-b changes this). What is stuck is shown by shareq top, share lag and
    share records. Each command has --help with examples.
    """
