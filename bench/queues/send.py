"""`python -m bench.queues.send APP COUNT RATE SECONDS`: sends jobs, and prints the number of each accepted one.

RATE: jobs a second, 0 for as fast as they are accepted. Refused jobs are not sent again. The last line has the
duration.
"""

from __future__ import annotations

import importlib
import sys
import time
from typing import Final

PAUSE_S: Final = 0.05  # after one that was refused


def main(app: str, count: int, rate: float, seconds: float) -> None:
    module = importlib.import_module(f"bench.queues.apps.{app}")
    taken = []
    with module.sending() as send:
        began = time.monotonic()
        for number in range(count):
            if rate:
                time.sleep(max(0.0, began + number / rate - time.monotonic()))
            try:
                send(number, time.monotonic(), seconds)
            except Exception as error:
                print(f"refused {number}: {error!r}", file=sys.stderr)
                time.sleep(PAUSE_S)
            else:
                taken.append(number)
        took = time.monotonic() - began
    print("\n".join(map(str, taken)))
    print(f"took {took}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]))
