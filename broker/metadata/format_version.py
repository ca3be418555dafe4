"""The format of a data folder, named by its marker and its metadata; a release reads none later than its own."""

from __future__ import annotations

from typing import Final

FORMAT_VERSION: Final = 2
