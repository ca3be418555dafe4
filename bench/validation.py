"""The cost of checking a producer's batch, compiled and as Python: `python -m bench.validation`.

Batches of 160 records of 100 bytes, as librdkafka fills them; the whole check (`Admission.check`: size, CRC, header,
decompression, every record), CPU per record, the best of several rounds. Then the most that one batch can cost: a batch
that decompresses to 8 MiB, and one with about as many records as allowed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from types import ModuleType

from devtools.pass_forms import as_python, compiled
from shareq.broker.log import admission
from shareq.broker.log.admission import LEAST_OPENED_BYTES, Admission
from shareq.broker.log.settings import LogSettings
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import Compression, RecordData, build_batch

RECORDS = 160
ROUNDS = 9
ROUND_S = 0.05
MANY = 250_000  # not many more may be in a batch
NOW_MS = 1_700_000_000_000
ADMISSION = Admission(LogSettings())


def main() -> None:
    """Print the tables."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    forms: dict[str, ModuleType] = {"as Python": as_python("records")}
    if (fast := compiled("records")) is not None:
        forms = {"compiled": fast, **forms}
    for name, form in forms.items():
        vars(admission)["records_walk"] = form
        for codec in Compression:
            batch = ordinary(codec)
            took = best(partial(check, batch))
            each = f"{took / RECORDS * 1e9:7.1f} ns a record  {took * 1e6:7.1f} us a batch"
            print(f"{name:9}  {codec.name.lower():6}  {each}")
        for codec in Compression:
            for what, batch in largest(codec).items():
                print(f"{name:9}  {codec.name.lower():6}  {best(partial(check, batch)) * 1e3:7.1f} ms  {what}")


def ordinary(codec: Compression) -> bytes:
    """Return a batch of values that compress to about a third."""
    values = [
        b"%08d " % index + bytes((index * 37 + at * at) % 64 + 32 for at in range(91)) for index in range(RECORDS)
    ]
    return bytes(build_batch([RecordData(None, value) for value in values], timestamp_ms=NOW_MS, compression=codec))


def largest(codec: Compression) -> dict[str, bytes]:
    """Return the batches that cost the most."""
    if codec is Compression.NONE:
        small = build_batch([RecordData(None, None)] * 115_000, timestamp_ms=NOW_MS)
        return {"115,000 records, 1 MB": bytes(small)}
    room = LEAST_OPENED_BYTES - 64
    zeros = build_batch([RecordData(None, bytes(room))], timestamp_ms=NOW_MS, compression=codec)
    many = build_batch([RecordData(None, None)] * MANY, timestamp_ms=NOW_MS, compression=codec)
    return {
        "8 MiB of zeros": bytes(zeros),
        f"{MANY:,} records": bytes(many),
    }


def check(batch: bytes) -> None:
    """Check the batch as the log of a topic with default settings does."""
    found = ADMISSION.check(batch, NOW_MS)
    assert not isinstance(found, ErrorCode), found


def best(work: Callable[[], None]) -> float:
    """Return the seconds of the fastest call."""
    rounds = []
    for _ in range(ROUNDS):
        calls, started = 0, time.process_time()
        while (took := time.process_time() - started) < ROUND_S:
            work()
            calls += 1
        rounds.append(took / calls)
    return min(rounds)


if __name__ == "__main__":
    main()
