"""Limits on the process's open files and connections."""

from __future__ import annotations

import logging
from typing import Final, NamedTuple

from shareq.broker.log.segments.files import DEFAULT_OPEN_FILES
from shareq.broker.process.sockets import ServeError

logger = logging.getLogger(__name__)

FILES_FOR_THE_REST: Final = 40  # besides connections and segments: libraries, the database, files being made
LEAST_FILES: Final = 64
UNLIMITED_FILES: Final = 2**31 - 1


class FileShares(NamedTuple):
    """The shares of the file limit: files that logs may keep open, and connections."""

    logs: int
    connections: int


def file_shares(limit: int) -> FileShares:
    """Return the shares of so many open files. Logs always get some, since they cannot continue without.

    Raise ServeError below `LEAST_FILES`.
    """
    if limit < LEAST_FILES:
        raise ServeError(f"only {limit} files may be open at a time, and at least {LEAST_FILES} are needed (ulimit -n)")
    left = limit - FILES_FOR_THE_REST
    logs = min(DEFAULT_OPEN_FILES, left // 2)
    return FileShares(logs, left - logs)


def file_limit() -> int:
    """Return the number of files that this process may have open."""
    try:
        import resource
    except ImportError:  # Windows
        return UNLIMITED_FILES
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return UNLIMITED_FILES if soft == resource.RLIM_INFINITY else soft


def raise_file_limit() -> None:
    """Raise the limit of open files to the system's maximum for this process, for connections and segments."""
    try:
        import resource
    except ImportError:  # Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (OSError, ValueError):
            logger.debug("the limit of open files stays at %d", soft)
