"""The error of a test's broker, and the environment in which its child processes find the package."""

from __future__ import annotations

import os
from typing import Final

import shareq

START_TIMEOUT_S: Final = 30.0
STOP_TIMEOUT_S: Final = 15.0
CALL_TIMEOUT_S: Final = 30.0


class BrokerFailed(Exception):
    """An error: the broker did not start, or did not stop as it should. The text has its last log lines."""


def child_environment() -> dict[str, str]:
    """Return this process's environment, changed so that a child finds the same `shareq`."""
    environment = dict(os.environ)
    package = os.path.dirname(os.path.dirname(os.path.abspath(shareq.__file__)))
    paths = [package, *environment.get("PYTHONPATH", "").split(os.pathsep)]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))  # an empty one is the working directory to Python
    return environment
