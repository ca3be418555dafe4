"""Seeds of the client's core against a whole broker: `python -m tests.simulation.client [SEEDS] [FIRST]`."""

from __future__ import annotations

import logging
import sys

from tests.simulation.client.scene import Scene
from tests.simulation.ledger import InvariantBroken

logging.disable(logging.CRITICAL)
seeds, first = (int(each) for each in (*sys.argv[1:], *("100", "0")[len(sys.argv) - 1 :]))
failed = 0
for seed in range(first, first + seeds):
    try:
        Scene(seed).run()
    except InvariantBroken as error:
        failed += 1
        print(f"seed {seed}: {error}", flush=True)
print(f"{seeds} seeds, {failed} failed")
sys.exit(1 if failed else 0)
