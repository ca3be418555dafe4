"""The commands of the broker and its data folder, and standard streams that may be closed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import click

from shareq.ops.cli.shared.exits import REFUSED, USAGE, exit_with


class EntryCommand(click.Command):
    """A command whose help and version, printed while options are parsed, may meet a closed stream."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        try:
            return super().make_context(info_name, args, parent, **extra)
        except OSError as error:
            drop_standard_output()
            exit_with(REFUSED, f"standard output cannot be written: {error.strerror}")


class UnixCommand(EntryCommand):
    """A command on a data folder, which brokers have only on Linux and macOS."""

    def invoke(self, ctx: click.Context) -> Any:
        if sys.platform == "win32":
            from shareq.broker.foundation.systems import NOT_ON_WINDOWS

            exit_with(USAGE, NOT_ON_WINDOWS)
        return super().invoke(ctx)


def own_command(
    name: str, epilog: str, cls: type[EntryCommand] = EntryCommand
) -> Callable[[Callable[..., None]], EntryCommand]:
    """Turn a function into a command, with its docstring as help."""
    return click.command(name, cls=cls, epilog=epilog)


def fill_standard_streams() -> None:
    """Open the null device for closed standard streams: other files would get their numbers, and so the output."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:  # the lowest free number is this one
            setattr(sys, name, open(os.devnull, "w" if number else "r"))  # noqa: SIM115


def drop_standard_output() -> None:
    """Discard all further output: otherwise Python would try again at exit, and report another error."""
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115
