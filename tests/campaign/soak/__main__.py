"""`make soak`: a broker under mixed load, with clock steps, stopped processes, slow disks and clients without rights.

Exit code 1 unless memory, open files and stalls stay flat, and log, history, stop and files are sound.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from devtools.documents import add_write_option, show_and_write
from devtools.kafka.certificates import why_unavailable
from tests.campaign.command import show
from tests.campaign.soak.planted import Fault
from tests.campaign.soak.report import BEGIN, END, markdown, plots
from tests.campaign.soak.soak import Soak

PLANTED_MINUTES: Final = 1.0
NOTICED_BY: Final = {
    Fault.LEAK: "memory",
    Fault.DESCRIPTOR: "descriptors",
    Fault.STALL: "stalls",
    Fault.LOST: "history",
}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign.soak", description=__doc__)
    parser.add_argument("minutes", type=float, nargs="?", default=30, help="of load (default 30)")
    parser.add_argument("--seed", type=int, default=1, help="of clients and disturbances (default 1)")
    add_write_option(parser, BEGIN, END)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where data and log go if it was not sound")
    parser.add_argument(
        "--planted", action="store_true", help="instead: short runs of brokers with a planted fault, each to be noticed"
    )
    options = parser.parse_args(arguments)
    if (missing := why_unavailable()) is not None:
        parser.error(missing)
    if options.planted:
        return _planted(options.seed)
    result = Soak(options.seed, options.minutes, show=show, keep=options.keep).run()
    for turn in result.turns:
        show(f"{turn.began_s - result.began_s:6.1f} s {turn.name}: {turn.text}")
    print("\n".join(plots(result)))
    show_and_write(markdown(result), options.write, BEGIN, END)
    for anomaly in [*result.anomalies[:12], *result.failures[:5]]:
        show(f"  {anomaly}")
    return 0 if result.sound else 1


def _planted(seed: int) -> int:
    """Run a short soak of each faulty broker; return 1 if a fault is not noticed by the verdict that is meant for
    it.
    """
    missed = 0
    for fault, name in NOTICED_BY.items():
        result = Soak(seed, PLANTED_MINUTES, fault=fault).run()
        (verdict,) = [one for one in result.verdicts if one.name == name]
        noticed = verdict.judged and not verdict.sound
        missed += not noticed
        show(f"{fault.value}: {'noticed' if noticed else 'NOT NOTICED'}; {name}: {verdict.found}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
