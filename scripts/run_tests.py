"""Run every test that needs only Python: `run_tests.py [ARGUMENT of pytest]...`, from `make test`."""

from __future__ import annotations

import os
import sys
from typing import Final

from within import main as within  # type: ignore[import-not-found] # beside this file

LIMIT_S: Final = 5_400
"""The seconds after which the tests are ended, long enough for a busy machine."""
PROCESSES: Final = min((os.cpu_count() or 1) + 4, 8)
"""The processes of pytest. More than the cores of a small machine: tests of brokers that are processes mostly wait."""
OPTIONS: Final = (
    *("-q", f"--numprocesses={PROCESSES}", "--dist=loadfile", "--no-loadscope-reorder", "--file-by-file"),
    "--ignore=tests/spark",
    *("-m", "not interop and not container and not spark and not browser"),
    *("-o", "tmp_path_retention_policy=failed"),  # all of them together would be gigabytes
)

if __name__ == "__main__":
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ.pop("SHAREQ_CACHE", None)  # brokers would log that it stands for no property
    sys.exit(within(LIMIT_S, [sys.executable, "-m", "pytest", *OPTIONS, *sys.argv[1:]], in_memory=True))
