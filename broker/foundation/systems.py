"""The operating systems that a broker runs on. Clients, commands about a cluster and workers run on Windows, too."""

from __future__ import annotations

from typing import Final

NOT_ON_WINDOWS: Final = (
    "a broker and its data folder want Linux or macOS: on Windows run it in WSL or a container, and connect to that"
)
