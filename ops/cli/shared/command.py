"""The common part of all commands: options, a client, errors in one line, output, and a confirmation before destructive
changes.
"""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal, TypeVar

import click

from shareq.client.admin import Admin
from shareq.client.admin.calls import Outcome
from shareq.client.config import ClientConfig
from shareq.client.errors import ClientError, understood
from shareq.client.network import Network
from shareq.ops.cli import COMMANDS, write_commands
from shareq.ops.cli.output import printing
from shareq.ops.cli.shared.completion import name_parameters
from shareq.ops.cli.shared.exits import (
    EXIT_CODES,
    INTERRUPTED,
    NOT_CONFIRMED,
    USAGE,
    exit_with,
    say,
)
from shareq.ops.cli.shared.failures import exit_code
from shareq.ops.cli.shared.profile import FIRST_CONTACT_MS, client_config

K = TypeVar("K")
T = TypeVar("T")
Shape = Literal["rows", "object", "stream"]
CONTEXT: Final = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@dataclass
class Session:
    """One run of a command: its client, which is made on first use, and the failures so far."""

    config: ClientConfig
    as_json: bool
    profile: str | None = None
    code: int = field(default=0, init=False)
    columns: Sequence[str] | None = field(default=None, init=False)
    """The table's columns, if the command's options choose them."""
    afterwards: Callable[[], None] | None = field(default=None, init=False)
    """A function that prints text after the table."""
    empty: str | None = field(default=None, init=False)
    """The text printed if there are no rows, if the command's options choose it."""
    notes: list[str] = field(default_factory=list, init=False)
    """Lines printed on standard error after the rows, whatever the form of the output."""

    @cached_property
    def network(self) -> Network:
        """A connected network: an unreachable cluster is noticed sooner than by the timeout of a call."""
        network = Network(self.config)
        network.brokers(timeout_ms=min(FIRST_CONTACT_MS, self.config.default_api_timeout_ms))
        return network

    @cached_property
    def admin(self) -> Admin:
        return Admin(self.network)

    def failed(self, error: ClientError, remark: str = "") -> None:
        """Note that one of several items failed; the command continues, and ends with the exit code of the first
        failure.
        """
        say(printing.printable(str(error)) + remark)
        self.code = self.code or exit_code(error)

    def succeeded(self, outcomes: Iterable[tuple[K, Outcome[T]]]) -> Iterator[tuple[K, T]]:
        """Yield the successful items, in their order; note the others by `failed`."""
        for name, outcome in outcomes:
            if isinstance(outcome, ClientError):
                self.failed(outcome)
            else:
                yield name, outcome

    def confirm(self, question: str, yes: bool) -> None:
        """Ask before a destructive change, unless `yes`, the option, is set. Ends the command if the answer is no."""
        if yes:
            return
        if not sys.stdin.isatty():
            exit_with(NOT_CONFIRMED, f"{question}: nobody can be asked here; give --yes, or --dry-run to only look")
        if not click.confirm(f"{question}?", err=True):
            exit_with(NOT_CONFIRMED, "nothing was changed")

    def close(self) -> None:
        """Close the connections."""
        if "network" in self.__dict__:
            self.network.close()


def now_ms() -> int:
    """Return the time of day, in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


class ClusterGroup(click.Group):
    """The commands of one subject."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_commands(self, ctx, formatter)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        return _in_one_line(super().make_context, info_name, args, parent, extra)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            exit_with(USAGE, f"{_path(ctx)}: {error.format_message()} There are {', '.join(self.list_commands(ctx))}.")


class ClusterCommand(click.Command):
    """A command with its row, the shape of its output, and the common options."""

    row: type | None = None
    shape: Shape = "rows"

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        return _in_one_line(super().make_context, info_name, args, parent, extra)


def _path(ctx: click.Context) -> str:
    return ctx.command_path.removeprefix("shareq ")


def _in_one_line(
    make: Callable[..., click.Context],
    info_name: str | None,
    args: list[str],
    parent: click.Context | None,
    extra: dict[str, Any],
) -> click.Context:
    """Make a context whose errors about options are printed in one line, like every other error."""
    try:
        return make(info_name, args, parent, **extra)
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        where = _path(error.ctx) if error.ctx is not None else info_name
        exit_with(USAGE, f"{where}: {error.format_message()} (--help shows examples)")


def cluster_group(name: str) -> ClusterGroup:
    """Make the group of a subject's commands."""
    return ClusterGroup(name, help=COMMANDS[name].summary, context_settings=CONTEXT)


def common_options(*, addressed: bool = True) -> list[click.Parameter]:
    """Return the options for reaching the cluster, and for the form of the output.

    Without `addressed`, the option that names the cluster is left out.
    """
    where: list[click.Parameter] = [
        click.Option(
            ["--bootstrap-server", "-b", "bootstrap"],
            metavar="HOST:PORT",
            help="Brokers of the cluster, separated by commas [SHAREQ_BOOTSTRAP_SERVERS, else 127.0.0.1:9092].",
        ),
    ]
    return [
        *(where if addressed else ()),
        click.Option(["--config", "config_file"], metavar="FILE", help="Properties of a Kafka client: TLS, SASL."),
        click.Option(
            ["--property", "properties"], metavar="KEY=VALUE", multiple=True, help="One such property. Repeatable."
        ),
        click.Option(["--profile"], metavar="NAME", help="A profile in ~/.config/shareq/config.toml [SHAREQ_PROFILE]."),
        click.Option(
            ["--timeout", "timeout_s"],
            metavar="SECONDS",
            type=float,
            default=30.0,
            show_default=True,
            help="How long to try each call.",
        ),
        click.Option(["--json", "as_json"], is_flag=True, help="Print JSON, as shareq json-schema describes it."),
    ]


def cluster_command(
    group: click.Group | None,
    name: str,
    examples: str,
    *,
    row: type | None,
    shape: Shape = "rows",
    columns: Sequence[str] | None = None,
    empty: str | None = None,
    line: Callable[[Any], str] | None = None,
    addressed: bool = True,
) -> Callable[[Callable[..., Any]], ClusterCommand]:
    """Make a command of a function from a session and options to its rows (an iterable, or one object).

    `columns`: those of the table, if not all fields; `empty`: the text if there are no rows; `line`: the text of one
    row of a stream; without `addressed`, the command's own arguments name the cluster.
    """

    def decorate(function: Callable[..., Any]) -> ClusterCommand:
        def callback(
            config_file: str | None,
            properties: tuple[str, ...],
            profile: str | None,
            timeout_s: float,
            as_json: bool,
            bootstrap: str | None = None,
            **options: Any,
        ) -> None:
            _escape_what_output_cannot_hold()
            session = Session(client_config(bootstrap, config_file, profile, properties, timeout_s), as_json, profile)
            try:
                with understood():
                    result = function(session, **options)
                    if row is not None:
                        _print(
                            session=session,
                            result=result,
                            row=row,
                            shape=shape,
                            columns=columns,
                            empty=empty,
                            line=line,
                        )
            except ClientError as error:
                session.failed(error)
            except KeyboardInterrupt:
                raise SystemExit(INTERRUPTED) from None
            except BrokenPipeError:  # the reader, head for one, has seen enough
                _let_go_of_output()
            finally:
                session.close()
            if session.code:
                raise SystemExit(session.code)

        wrapped = ClusterCommand(
            name,
            callback=callback,
            params=[*reversed(getattr(function, "__click_params__", [])), *common_options(addressed=addressed)],
            help=function.__doc__,
            epilog=f"\b\nExamples:\n{examples.rstrip()}\n\n\b\n{EXIT_CODES}",
            context_settings=CONTEXT,
        )
        wrapped.row, wrapped.shape = row, shape
        name_parameters(name if group is None else f"{group.name} {name}", wrapped.params)
        if group is not None:
            group.add_command(wrapped)
        return wrapped

    return decorate


def _print(
    session: Session,
    result: Any,
    row: type,
    shape: Shape,
    columns: Sequence[str] | None,
    empty: str | None,
    line: Callable[[Any], str] | None,
) -> None:
    names = list(session.columns or columns or row._fields)  # type: ignore[attr-defined]  # a NamedTuple
    if shape == "object":
        if session.as_json:
            printing.print_json(result)
        else:
            printing.print_object(result, names)
    elif shape == "stream":
        _print_stream(result, session.as_json, line or (lambda one: "\t".join(map(str, one))))
    elif session.as_json:
        printing.print_json_rows(result)
    elif not printing.print_table(result, names) and (text := session.empty or empty) and not session.code:
        say(text)
    if session.afterwards is not None and not session.as_json:
        session.afterwards()
    sys.stdout.flush()
    for note in session.notes:
        say(note)


def _print_stream(rows: Iterable[Any], as_json: bool, line: Callable[[Any], str]) -> None:
    for one in rows:
        if as_json:
            printing.print_json_line(one)
        else:
            sys.stdout.write(line(one) + "\n")
            sys.stdout.flush()


def _escape_what_output_cannot_hold() -> None:
    """Escape characters that the terminal's encoding lacks: they would raise an error in the middle of the rows."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _let_go_of_output() -> None:
    """Detach standard output: otherwise Python would write the rest at exit, and report another error."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


yes_option = click.option("--yes", "-y", is_flag=True, help="Do it without asking.")
dry_run_option = click.option("--dry-run", is_flag=True, help="Show what would be done, and change nothing.")
