"""A disk that takes its time for a sync, the same for every broker: a library that is loaded before the C library."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

SYNC_MS: Final = 20
_SOURCE: Final = """
#define _GNU_SOURCE
#include <time.h>
static int wait_for_disk(void) {
    struct timespec left = {0, SYNC_MS * 1000000L};
    nanosleep(&left, 0);
    return 0;
}
int fsync(int fd) { return wait_for_disk(); }
int fdatasync(int fd) { return wait_for_disk(); }
"""


@contextmanager
def slow_syncs(folder: Path) -> Iterator[None]:
    """Let the processes that are started meanwhile wait `SYNC_MS` for each sync, and not for the disk."""
    source, library = folder / "slow.c", folder / "slow.so"
    source.write_text(_SOURCE.replace("SYNC_MS", str(SYNC_MS)))
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    os.environ["LD_PRELOAD"] = str(library)
    try:
        yield
    finally:
        del os.environ["LD_PRELOAD"]
