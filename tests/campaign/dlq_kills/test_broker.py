"""The moments of death and the faults of this campaign's broker, which patch parts of it by name."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support.processes import finished

PROGRAM = """
import sys
from tests.campaign.dlq_kills.broker import FAULTS, REMOVAL_FAULTS, Aim, die_at, fail_writes, note_handed_out

for aim in Aim:
    if aim is not Aim.ANY:
        die_at(aim, 1, in_removals=True)
fail_writes(["dlq.g"])
note_handed_out(sys.argv[1])
for fault in (FAULTS | REMOVAL_FAULTS).values():
    fault().__enter__()
"""


def test_every_moment_and_fault_finds_what_it_replaces(tmp_path: Path) -> None:
    """The test runs in a process of its own, because nothing is restored."""
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "handed-out")]
    done = finished(command)
    assert (done.returncode, done.stderr) == (0, "")
