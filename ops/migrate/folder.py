"""A data folder as one side of a migration: another process serves it as a broker while the command runs."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from typing import Final, Literal

from shareq.client.config import Address
from shareq.client.errors import ClientError
from shareq.client.security.config import SaslConfig

Use = Literal["from", "to", "pretend"]
"""The role of a folder: a source must exist, a target may be new.

A new target is created only when something is written; before that, a temporary folder stands for it.
"""
USER: Final = "shareq-migrate"
STOP_S: Final = 60.0
"""The seconds that the broker has for writing everything at its end."""


class FolderRefused(ClientError):
    """A folder that cannot be served. The message is one line with the reason."""


def is_folder(text: str) -> bool:
    """Return True if FROM or TO names a folder: an existing one, or a path with a separator, for a new one."""
    return os.path.isdir(text) or ("/" in text and "://" not in text)


class FolderBroker:
    """The broker of a folder. Only clients with its `login` can use it; other users of the machine do not know it."""

    def __init__(self, folder: str, use: Use) -> None:
        """Start the broker. Raises FolderRefused."""
        password = secrets.token_urlsafe(32)
        self.login = SaslConfig("PLAIN", USER, password)
        command = [sys.executable, "-P", "-m", "shareq.ops.migrate.folder_process"]
        # Not in the group of this process: a terminal's SIGINT would end the broker under the command.
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0)
        try:
            self.address = self._started({"folder": os.path.abspath(folder), "use": use, "password": password})
        except BaseException:
            self.close()
            raise

    def _started(self, wanted: dict[str, str]) -> Address:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(wanted).encode() + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        said = json.loads(line) if line else {"error": f"data folder {wanted['folder']}: its broker ended at once"}
        if "error" in said:
            raise FolderRefused(said["error"])
        host, _, port = said["bootstrap"].rpartition(":")
        return Address(host, int(port))

    def close(self) -> None:
        """Stop the broker after it has written everything to disk."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
