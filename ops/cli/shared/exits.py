"""How a command ends: one line on standard error, and an exit code that says why."""

from __future__ import annotations

import os
import stat
from typing import Final, NoReturn

import click

from shareq.client.errors import (
    AuthenticationFailed,
    BrokerError,
    ClientError,
    ConfigError,
    Unintelligible,
    Unreachable,
)
from shareq.ops.cli.output.progress import Progress
from shareq.protocol.errors import ErrorCode

OK: Final = 0
REFUSED: Final = 1
USAGE: Final = 2
NO_CONNECTION: Final = 3
NOT_FOUND: Final = 4
NOT_CONFIRMED: Final = 5
INTERRUPTED: Final = 130

EXIT_CODES: Final = (
    "Exit codes: 0 done, 1 the cluster refused, 2 wrong options or configuration, 3 no connection or login, "
    "4 not found, 5 not confirmed, 130 interrupted."
)
_MISSING: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.RESOURCE_NOT_FOUND,
        ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
    }
)


def exit_code(error: ClientError) -> int:
    """The exit code that a failure of the client stands for."""
    if isinstance(error, ConfigError):
        return USAGE
    if isinstance(error, Unreachable | AuthenticationFailed | Unintelligible):
        return NO_CONNECTION
    if isinstance(error, BrokerError) and error.code in _MISSING:
        return NOT_FOUND
    return REFUSED


def say(message: str) -> None:
    """One line on standard error."""
    Progress.clear()
    click.echo(f"shareq: {message}", err=True)


def warn_of_readers(option: str, path: str) -> None:
    """Say so if a file with a secret may be read by other users of the machine."""
    try:
        mode = os.stat(os.path.expanduser(path)).st_mode
    except OSError:
        return
    if stat.S_ISREG(mode) and mode & stat.S_IROTH:
        say(f"{option} {path}: other users can read it: chmod 600 {path}")


def exit_with(code: int, message: str) -> NoReturn:
    """End the command with one line on standard error."""
    say(message)
    raise SystemExit(code)


def wrong(option: str, value: object, allowed: str) -> NoReturn:
    """End the command for a value it cannot take."""
    exit_with(USAGE, f"{option} {value}: {allowed}")
