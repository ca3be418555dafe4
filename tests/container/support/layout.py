"""The paths of files in the checkout that the container tests use."""

from __future__ import annotations

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[3]
DOCKER: Final = ROOT / "docker"
CACHE: Final = ROOT / ".cache" / "docker"
EXAMPLE: Final = ROOT / "examples" / "orders.py"
CLIENT: Final = Path(__file__).with_name("client.py")
