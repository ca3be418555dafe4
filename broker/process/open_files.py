"""How many files and connections the process may have open."""

from __future__ import annotations

import logging
from typing import Final

from shareq.broker.log.segments.files import DEFAULT_OPEN_FILES

logger = logging.getLogger(__name__)

FILES_FOR_THE_REST: Final = 64  # besides connections and segments: modules, the database, indexes being made
UNLIMITED_FILES: Final = 2**31 - 1


def connections_with_files(limit: int) -> int:
    """How many connections may be open when so many files may: logs must never be without, or they could not go on."""
    return max(limit - DEFAULT_OPEN_FILES - FILES_FOR_THE_REST, limit // 4)


def file_limit() -> int:
    """How many files this process may have open."""
    try:
        import resource
    except ImportError:  # Windows
        return UNLIMITED_FILES
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return UNLIMITED_FILES if soft == resource.RLIM_INFINITY else soft


def raise_file_limit() -> None:
    """Take as many file descriptors as the system lets this process have: connections and segments need them."""
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
