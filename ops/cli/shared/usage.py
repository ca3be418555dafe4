"""What all commands share: texts of options, and the end with one line and an exit code."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable
from typing import Final, NoReturn

import click

USAGE_ERROR: Final = 2  # bad usage or configuration
FAILURE: Final = 1  # the broker could not start or go on
HIGHEST_PORT: Final = 65_535


class CommandEnd(SystemExit):
    """Ends a command with an exit code, once its line is on standard error (`say_why`)."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(code)
        self.message = message

    def say_why(self) -> None:
        """Print the line."""
        click.echo(f"shareq: {self.message}", err=True)


def exit_with(code: int, message: str) -> NoReturn:
    """End the command with one line on standard error."""
    raise CommandEnd(code, message)


def warn_of_readers(option: str, path: str) -> None:
    """Say so on standard error if a file with a secret may be read by every user of the machine."""
    with contextlib.suppress(OSError):
        mode = os.stat(path).st_mode
        if stat.S_ISREG(mode) and mode & stat.S_IROTH:
            click.echo(f"shareq: {option} {path}: other users can read it: chmod 600 {path}", err=True)


def read_properties(path: str, option: str = "--config") -> dict[str, str]:
    """A file of properties as Kafka's tools read it; `option` is what named it."""
    import javaproperties

    try:
        with open(path, "rb") as file:
            loaded: dict[str, str] = javaproperties.load(file)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        exit_with(USAGE_ERROR, f"{option} {path}: {reason}")
    return loaded


def pairs(option: str, texts: Iterable[str], form: str = "KEY=VALUE") -> dict[str, str]:
    """Texts of that form; the last of a key wins."""
    result: dict[str, str] = {}
    for text in texts:
        key, separator, value = text.partition("=")
        if not separator or not key.strip():
            exit_with(USAGE_ERROR, f"{option} {text}: must be {form}")
        result[key.strip()] = value.strip()
    return result


def host_and_port(option: str, text: str, usual_port: int) -> tuple[str, int]:
    """The host without brackets, "" for all addresses, and the port."""
    host, separator, port = text.rpartition(":")
    if not separator or not port.isdecimal():
        exit_with(USAGE_ERROR, f"{option} {text}: must be HOST:PORT, for example 127.0.0.1:{usual_port}")
    if int(port) > HIGHEST_PORT:
        exit_with(USAGE_ERROR, f"{option} {text}: the port must be at most {HIGHEST_PORT}")
    bracketed = host.startswith("[") and host.endswith("]")
    if ":" in host and not bracketed:
        exit_with(USAGE_ERROR, f"{option} {text}: an IPv6 address needs brackets, for example [::1]:{usual_port}")
    return host[1:-1] if bracketed else host, int(port)
