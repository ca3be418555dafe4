"""The commands of the broker and its data folder, and standard streams that may be closed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import click

from shareq.ops.cli.shared.exits import REFUSED, exit_with


class EntryCommand(click.Command):
    """A command whose help and version may have nowhere to go. They are printed while its options are parsed."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        try:
            return super().make_context(info_name, args, parent, **extra)
        except OSError as error:
            drop_standard_output()
            exit_with(REFUSED, f"standard output cannot be written: {error.strerror}")


def own_command(name: str, epilog: str) -> Callable[[Callable[..., None]], EntryCommand]:
    """Make a command of a function, whose docstring is its help."""
    return click.command(name, cls=EntryCommand, epilog=epilog)


def fill_standard_streams() -> None:
    """Open the null device where a standard stream is closed: other files would get its number, and what is printed."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:  # the lowest free number is this one
            setattr(sys, name, open(os.devnull, "w" if number else "r"))  # noqa: SIM115


def drop_standard_output() -> None:
    """Write what is printed from now on nowhere: else Python tries once more at the end, and complains."""
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115
