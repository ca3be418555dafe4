"""The format of a data folder, which its marker and its metadata name. A release reads no format later than its own."""

from __future__ import annotations

from typing import Final

FORMAT_VERSION: Final = 2
