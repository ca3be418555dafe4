"""`shareq.unfinished`: the file of a data folder that a command has begun to create and has not finished.

It is on stable storage before the first byte of the folder's content, and is removed when all content is on stable
storage. It names the command:

    {"unfinished": 1, "command": ["shareq", "restore", "/mnt/backups", "/var/lib/shareq"]}
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import Final

from shareq.broker.foundation.environment import Fs

UNFINISHED_FILE: Final = "shareq.unfinished"
_NAMED: Final = 2  # words of a command that name it; arguments come behind them


def format_unfinished(command: Sequence[str]) -> bytes:
    """Return the file's content: the command that creates the folder, word by word."""
    return json.dumps({"unfinished": 1, "command": list(command)}).encode() + b"\n"


def is_unfinished(fs: Fs, data_dir: str) -> bool:
    """Return True if a command has begun to create the folder and has not finished."""
    return fs.exists(f"{data_dir}/{UNFINISHED_FILE}")


def command_of(fs: Fs, data_dir: str) -> list[str]:
    """Return the words of the command that creates the folder; an empty list if its file cannot be read."""
    try:
        return [str(word) for word in json.loads(fs.read_bytes(f"{data_dir}/{UNFINISHED_FILE}"))["command"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []


def run_again(data_dir: str, command: Sequence[str]) -> str:
    """Return one sentence about an unfinished folder: the interrupted command, and the command to run now."""
    name = " ".join(command[:_NAMED]) or "shareq restore, or shareq import-logs,"
    again = f": `{shlex.join(command)}`" if command else ""
    return f"{data_dir} is unfinished: {name} was cut short; run {name} again, which starts it over{again}"
