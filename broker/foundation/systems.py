"""The operating systems on which a broker runs. Clients, workers and commands about a cluster also run on Windows."""

from __future__ import annotations

from typing import Final

NOT_ON_WINDOWS: Final = (
    "a broker and its data folder want Linux or macOS: on Windows run it in WSL or a container, and connect to that"
)
