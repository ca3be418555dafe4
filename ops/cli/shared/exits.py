"""The end of a command: a line on standard error, and an exit code for the reason. Also readers of options."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable
from typing import Final, NoReturn

import click

from shareq.ops.cli.output.progress import Progress

OK: Final = 0
REFUSED: Final = 1  # by the cluster; of the broker and its data folder: it failed
USAGE: Final = 2
NO_CONNECTION: Final = 3
NOT_FOUND: Final = 4
NOT_CONFIRMED: Final = 5
INTERRUPTED: Final = 130

EXIT_CODES: Final = (
    "Exit codes: 0 done, 1 the cluster refused, 2 wrong options or configuration, 3 no connection or login, "
    "4 not found, 5 not confirmed, 130 interrupted."
)
HIGHEST_PORT: Final = 65_535


class CommandEnd(SystemExit):
    """The end of a command with an exit code, after `say_why` has printed its line on standard error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(code)
        self.message = message

    def say_why(self) -> None:
        """Print the line on standard error."""
        say(self.message)


def say(message: str) -> None:
    """Print one line on standard error."""
    Progress.clear()
    click.echo(f"shareq: {message}", err=True)


def exit_with(code: int, message: str) -> NoReturn:
    """End the command with one line on standard error. Raises CommandEnd."""
    raise CommandEnd(code, message)


def wrong(option: str, value: object, allowed: str) -> NoReturn:
    """End the command for an invalid value of an option. Raises CommandEnd."""
    exit_with(USAGE, f"{option} {value}: {allowed}")


def warn_of_readers(option: str, path: str) -> None:
    """Warn on standard error if every user of the machine may read a file with a secret."""
    with contextlib.suppress(OSError):
        mode = os.stat(os.path.expanduser(path)).st_mode
        if stat.S_ISREG(mode) and mode & stat.S_IROTH:
            say(f"{option} {path}: other users can read it: chmod 600 {path}")


def read_properties(path: str, option: str = "--config") -> dict[str, str]:
    """Read a file of properties as Kafka's tools do; `option` named the file. Raises CommandEnd."""
    import javaproperties

    try:
        with open(path, "rb") as file:
            loaded: dict[str, str] = javaproperties.load(file)
    except (OSError, ValueError) as error:
        wrong(option, path, str(error.strerror if isinstance(error, OSError) else error))
    return loaded


def pairs(option: str, texts: Iterable[str], form: str = "KEY=VALUE") -> dict[str, str]:
    """Return texts such as KEY=VALUE by key; the last one of a key wins. `form` is for errors. Raises CommandEnd."""
    result: dict[str, str] = {}
    for text in texts:
        key, separator, value = text.partition("=")
        if not separator or not key.strip():
            wrong(option, text, f"must be {form}")
        result[key.strip()] = value.strip()
    return result


def host_and_port(option: str, text: str, usual_port: int) -> tuple[str, int]:
    """Return the host without brackets, "" for all addresses, and the port. Raises CommandEnd."""
    host, separator, port = text.rpartition(":")
    if not separator or not port.isdecimal():
        wrong(option, text, f"must be HOST:PORT, for example 127.0.0.1:{usual_port}")
    if int(port) > HIGHEST_PORT:
        wrong(option, text, f"the port must be at most {HIGHEST_PORT}")
    bracketed = host.startswith("[") and host.endswith("]")
    if ":" in host and not bracketed:
        wrong(option, text, f"an IPv6 address needs brackets, for example [::1]:{usual_port}")
    return host[1:-1] if bracketed else host, int(port)
