"""The version of PySpark that is needed, and a one-line error for others. Importable without PySpark."""

from __future__ import annotations

from importlib import metadata
from typing import Final

LOWEST: Final = (4, 2)
"""The first version that gives sources in Python the start and a limit (`latestOffset(start, limit)`)."""


class PySparkNeeded(ImportError):
    """An error: PySpark is not installed, or too old."""


def check_pyspark() -> None:
    """Raise PySparkNeeded unless a usable PySpark is installed."""
    needed = "shareq.spark needs PySpark 4.2 or newer: pip install 'shareq[spark]'"
    try:
        found = metadata.version("pyspark")
    except metadata.PackageNotFoundError:
        try:
            import pyspark  # from a Spark distribution, without package data
        except ImportError:
            raise PySparkNeeded(needed) from None
        found = str(pyspark.__version__)
    if version_of(found) < LOWEST:
        raise PySparkNeeded(f"{needed} (this is {found})")


def version_of(text: str) -> tuple[int, int]:
    """Return the major and minor version: (4, 2) for 4.2.0.dev1."""
    major, minor = text.split(".")[:2]
    return int(major), int(minor)
