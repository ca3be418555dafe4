"""Run every test that needs only Python, in both forms: `run_tests.py [ARGUMENT of pytest]...`, from `make test`.

What a record passes through runs as Python first, then compiled. The second form is tested also after a failure of the
first; the last lines have the result of each, and every test that failed. Exit code: 1 if anything failed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[1]
PROCESSES: Final = min(max(os.cpu_count() or 1, 4), 8)
"""Of pytest. More than the cores of a small machine: tests of brokers that are processes mostly wait."""
COMMON: Final = (
    *("-q", f"--numprocesses={PROCESSES}", "--dist=loadfile", "--no-loadscope-reorder"),
    *("-m", "not interop and not container and not spark and not browser"),
)
WHOLE_LIVES: Final = (
    "tests/simulation/test_simulation.py",
    "tests/simulation/test_deaths.py",
    "tests/simulation/test_jobs.py",
    "tests/simulation/test_redrives.py",
)
"""A whole broker's lives, which run compiled alone: as many seeds in less time."""
COMPILED: Final = (
    "tests/unit/broker/share",
    "tests/unit/broker/coordinator_runtime",
    "tests/unit/broker/fetch",
    "tests/unit/coordinator/share",
    "tests/unit/test_compiled.py",
    *(
        f"tests/frames/{each}"
        for each in ("dead_letters", "fetch", "share_fetch", "share_order", "share_state", "storage")
    ),
)


class Part(NamedTuple):
    """Tests that run together, and after how many seconds they are ended: a busy machine is no reason."""

    name: str
    limit_s: int
    environment: dict[str, str]
    arguments: tuple[str, ...]


class Result(NamedTuple):
    """How a part ended, and what pytest printed of it."""

    code: int
    summary: str
    failures: list[str]


def run(part: Part) -> Result:
    """Print what pytest prints, as it comes."""
    command = [sys.executable, str(ROOT / "scripts" / "within.py"), str(part.limit_s), sys.executable, "-m", "pytest"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    summary, failures = "", []
    with subprocess.Popen(
        [*command, *part.arguments],
        cwd=ROOT,
        env={**environment, **part.environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            if line.startswith(("FAILED ", "ERROR ")):
                failures.append(line.rstrip())
            summary = line.strip("= \n") or summary
    return Result(process.returncode, summary, failures)


def parts(arguments: tuple[str, ...]) -> tuple[Part, ...]:
    """Return the tests of each form; the arguments are for those of the first."""
    without = [f"--ignore={path}" for path in ("tests/spark", *WHOLE_LIVES)]
    return (
        Part("Python form", 3600, {}, (*COMMON, *without, *arguments)),
        Part("compiled form", 1800, {"TEST_FORM": "compiled"}, (*COMMON, *COMPILED, *WHOLE_LIVES)),
    )


def main(wanted: tuple[Part, ...]) -> int:
    """Run each part, and print what came of all of them."""
    began = time.monotonic()
    results = {part.name: run(part) for part in wanted}
    print()
    for name, result in results.items():
        for failure in result.failures:
            print(f"{name}: {failure}")
    for name, result in results.items():
        print(f"{name:14} {'ok' if result.code == 0 else f'FAILED ({result.code})'}: {result.summary}")
    print(f"{time.monotonic() - began:.0f} s in {PROCESSES} processes")
    return int(any(result.code != 0 for result in results.values()))


if __name__ == "__main__":
    try:
        sys.exit(main(parts(tuple(sys.argv[1:]))))
    except KeyboardInterrupt:
        sys.exit(130)
