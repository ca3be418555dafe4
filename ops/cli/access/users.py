"""`shareq users`: users that log in with SCRAM."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator
from typing import Annotated, Final, NamedTuple

import click

from shareq.client.admin.users import DEFAULT_ITERATIONS, MECHANISMS
from shareq.client.errors import BrokerError, ClientError
from shareq.ops.cli.shared.command import Session, cluster_command, cluster_group, dry_run_option, yes_option
from shareq.ops.cli.shared.exits import USAGE, exit_with, wrong
from shareq.protocol.errors import ErrorCode

command = cluster_group("users")

SALT_BYTES: Final = 16
_MECHANISMS = click.option(
    "--mechanism",
    "mechanisms",
    type=click.Choice(tuple(MECHANISMS), case_sensitive=False),
    multiple=True,
    help="The mechanism. Repeatable [default: both for set, all existing ones for delete].",
)


class UserRow(NamedTuple):
    user: Annotated[str, "The user."]
    mechanism: Annotated[str, "SCRAM-SHA-256 or SCRAM-SHA-512."]
    iterations: Annotated[int, "How often the password is hashed."]


class UserChangeRow(NamedTuple):
    user: Annotated[str, "The user."]
    mechanism: Annotated[str, "SCRAM-SHA-256 or SCRAM-SHA-512."]
    done: Annotated[bool, "False with --dry-run."]


@cluster_command(command, "list", "  shareq users list\n  shareq users list packer", row=UserRow, empty="no users")
@click.argument("names", metavar="[USER]...", nargs=-1)
def list_users(session: Session, names: tuple[str, ...]) -> Iterator[UserRow]:
    """List users that can log in with SCRAM."""
    found = session.admin.users.find(names or None)
    yield from (UserRow(*each) for each in found)
    for name in names:
        if all(each.user != name for each in found):
            session.failed(BrokerError(ErrorCode.RESOURCE_NOT_FOUND, f"user {name}", "There is no such user."))


@cluster_command(
    command,
    "set",
    "  shareq users set packer --password-file /run/secrets/packer\n  pwgen 24 1 | shareq users set packer",
    row=UserChangeRow,
)
@click.argument("user")
@click.option(
    "--password-file",
    metavar="FILE",
    help="The file whose first line is the password [default: standard input, or a prompt].",
)
@_MECHANISMS
@click.option("--iterations", type=click.IntRange(4096, 16384), default=DEFAULT_ITERATIONS, show_default=True)
def set_password(
    session: Session, user: str, password_file: str | None, mechanisms: tuple[str, ...], iterations: int
) -> Iterator[UserChangeRow]:
    """Add a user, or give one another password. The password is never on the command line, and never sent."""
    password = _password(password_file)
    chosen = mechanisms or tuple(MECHANISMS)
    for mechanism in chosen:
        salt = secrets.token_bytes(SALT_BYTES)
        outcome = session.admin.users.set_password(user, password, mechanism, salt, iterations)
        if isinstance(outcome, ClientError):
            raise outcome
        yield UserChangeRow(user, mechanism, True)


def _password(path: str | None) -> str:
    if path is not None:
        try:
            with open(path, encoding="utf-8") as file:
                text = file.readline()
        except (OSError, ValueError) as error:
            wrong("--password-file", path, str(error.strerror if isinstance(error, OSError) else error))
    elif sys.stdin.isatty():
        text = str(click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
    else:
        text = sys.stdin.readline()
    password = text.removesuffix("\n").removesuffix("\r")
    if not password:
        exit_with(USAGE, "users set: the password is empty")
    return password


@cluster_command(
    command,
    "delete",
    "  shareq users delete packer --dry-run\n  shareq users delete packer --mechanism SCRAM-SHA-256 --yes",
    row=UserChangeRow,
)
@click.argument("user")
@_MECHANISMS
@yes_option
@dry_run_option
def delete(
    session: Session, user: str, mechanisms: tuple[str, ...], yes: bool, dry_run: bool
) -> Iterator[UserChangeRow]:
    """Delete a user's passwords."""
    known = [each.mechanism for each in session.admin.users.find([user])]
    chosen = [each for each in known if not mechanisms or each in mechanisms]
    if not chosen:
        raise BrokerError(ErrorCode.RESOURCE_NOT_FOUND, f"user {user}", "There is no such user.")
    if not dry_run:
        session.confirm(f"delete user {user} ({', '.join(chosen)})", yes)
    for mechanism in chosen:
        outcome = True if dry_run else session.admin.users.delete(user, mechanism)
        if isinstance(outcome, ClientError):
            raise outcome
        yield UserChangeRow(user, mechanism, not dry_run)
