"""Bad records through every part of shareq that reads records.

    python -m tests.campaign.bad_records --records 20000
    python -m tests.campaign.bad_records --records 500 --surface worker --surface celery

Surfaces: worker, celery, taskiq, aio (`shareq.aio`), commands (those that print records), console, letters (dead
letters and redrives), spark. Each gets `--records` bad records, mixed with good ones, on its own broker. Exit code
1 unless each record ended as accepted, rejected or given up, each good one was handled, no process ended and nothing
stood still.
Surface spark needs PySpark: run it with the Python of .venv-spark.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final

from devtools.ports import free_port
from shareq.testing import Broker
from tests.campaign.bad_records.scene import RawRecord, Scene
from tests.support.bad_records.kombu_envelopes import kombu_envelopes
from tests.support.bad_records.records import bad_records

SURFACES: Final = ("worker", "celery", "taskiq", "aio", "commands", "console", "letters", "spark")


def plain(chance: Random) -> Iterator[RawRecord]:
    """Yield bad records of all kinds without end."""
    now_ms = round(time.time() * 1000)
    return (RawRecord(*each) for each in bad_records(chance, sys.maxsize, now_ms))


def envelopes(chance: Random) -> Iterator[RawRecord]:
    """Yield bad messages of kombu without end, and one bad record of another kind after every four of them."""
    others = plain(chance)
    for number, value in enumerate(kombu_envelopes(chance, sys.maxsize), 1):
        yield RawRecord(None, value)
        if number % 4 == 0:
            yield next(others)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.campaign.bad_records",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--records", type=int, default=500, help="bad records for each surface")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--surface", action="append", choices=SURFACES, help="repeatable; all but spark by default")
    parser.add_argument("--folder", type=Path, help="where logs and data are kept")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bad-records-") as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        failed = [name for name in given.surface or SURFACES[:-1] if not tried(name, given.records, given.seed, folder)]
    print(f"failed: {', '.join(failed)}" if failed else "all surfaces are sound")
    return 1 if failed else 0


def tried(name: str, records: int, seed: int, folder: Path) -> bool:
    """Run one surface on a broker of its own, print its verdict, and return True if it is sound."""
    port = free_port()
    began = time.monotonic()
    with Broker(options=["--console", f"127.0.0.1:{port}"], data_dir=folder / name / "data") as broker:
        bad = (envelopes if name == "celery" else plain)(Random(f"{seed}:{name}"))
        try:
            with Scene(broker, f"http://127.0.0.1:{port}", folder / name, records) as scene:
                verdict = importlib.import_module(f"tests.campaign.bad_records.surfaces.{name}").run(scene, bad)
        except Exception:
            traceback.print_exc()
            print(f"{name}: FAILED after {time.monotonic() - began:.0f} s", flush=True)
            return False
    print(f"{name}: {verdict}, {time.monotonic() - began:.0f} s", flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main())
