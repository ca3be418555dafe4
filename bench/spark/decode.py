"""Record batches to Arrow, as executors do it, on one core: `python -m bench.spark.decode` where pyarrow is installed.

CPU time of the best of several rounds, so that other work on the machine counts little. Logs are of some 10 MB.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import numpy as np
import pyarrow as pa

from bench.proc import machine
from shareq.protocol.records.batch import Compression, RecordData, build_batch
from shareq.spark.decode.arrow import decode

COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")
FIRST_TIME = 1_700_000_000_000
ROUNDS = 7


@dataclass(frozen=True, slots=True)
class Log:
    """The shape of the record batches. Random sizes have an exponential distribution around `value_bytes`."""

    label: str
    value_bytes: int
    batches: int
    records: int  # of a batch
    random_sizes: bool = False
    keys_and_headers: bool = False
    codec: Compression = Compression.NONE

    def build(self, seed: int) -> bytes:
        random = Random(seed)
        written = bytearray()
        for number in range(self.batches):
            records = [self._record(random, at) for at in range(self.records)]
            written += build_batch(records, timestamp_ms=0, base_offset=number * self.records, compression=self.codec)
        return bytes(written)

    def _record(self, random: Random, at: int) -> RecordData:
        size = int(random.expovariate(1 / self.value_bytes)) if self.random_sizes else self.value_bytes
        # what is compressed is text that a codec can do something with
        value = (
            random.randbytes(size) if not self.codec else (b"%020d;" % random.getrandbits(60) * (1 + size // 20))[:size]
        )
        key, headers = (b"key%07d" % at, (("trace", random.randbytes(16)),)) if self.keys_and_headers else (None, ())
        return RecordData(key, value, headers, FIRST_TIME + at // 10)


def logs() -> Iterator[Log]:
    for size, count in ((100, 10_000), (1000, 1000)):
        text = "100 B" if size == 100 else "1 KB"
        yield Log(f"{text}, one size", size, 10, count)
        yield Log(f"{text}, random sizes", size, 10, count, random_sizes=True)
        yield Log(
            f"{text}, random sizes, keys, a header each", size, 10, count, random_sizes=True, keys_and_headers=True
        )
        for codec in list(Compression)[1:]:
            yield Log(f"{text}, one size, {codec.name.lower()}", size, 10, count, codec=codec)
    yield Log("100 B, random sizes, batches of 140", 100, 700, 140, random_sizes=True)
    yield Log("100 B, random sizes, batches of 1", 100, 50_000, 1, random_sizes=True)


def measure(log: Log, seed: int) -> float:
    """Return nanoseconds of CPU per record."""
    data = log.build(seed)
    total = log.batches * log.records
    names = (*COLUMNS, "headers") if log.keys_and_headers else COLUMNS
    times: list[float] = []
    for _ in range(ROUNDS):
        began = time.thread_time()
        rows = sum(batch.num_rows for batch in decode(data, [(0, total, 1)], names, topic="flights", partition=3))
        times.append(time.thread_time() - began)
        assert rows == total
    return min(times) / total * 1e9


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.spark.decode", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    seed = parser.parse_args().seed
    print("| record batches | CPU a record | records/s of one core |\n| --- | ---: | ---: |")
    for log in logs():
        nanoseconds = measure(log, seed)
        print(f"| {log.label} | {nanoseconds:.0f} ns | {1e3 / nanoseconds:.2f} M |", flush=True)
    versions = f"Python {platform.python_version()}, numpy {np.__version__}, pyarrow {pa.__version__}"
    print(f"\n{machine()}; {versions}; seed {seed}")


if __name__ == "__main__":
    main()
