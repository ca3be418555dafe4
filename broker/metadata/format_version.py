"""Which format a data folder has: its marker and its metadata say it, and a release reads none later than its own."""

from __future__ import annotations

from typing import Final

FORMAT_VERSION: Final = 2
