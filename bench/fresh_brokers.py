"""How long 200 tests take, each on a broker of its own, and what 1,000 brokers leave behind.

python -m bench.fresh_brokers            both
python -m bench.fresh_brokers --tests 200 --brokers 0
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Final

from shareq.testing import Broker
from shareq.testing.broker import Mode, child_environment

SUITE: Final = """
import pytest
from confluent_kafka import Consumer, Producer

@pytest.mark.parametrize("number", range({tests}))
@pytest.mark.shareq(topics=["orders"])
def test_an_order(shareq_broker, number):
    producer = Producer({{"bootstrap.servers": shareq_broker.bootstrap}})
    producer.produce("orders", str(number))
    assert producer.flush(20) == 0
    assert [each.text for each in shareq_broker.records("orders")] == [str(number)]
"""


def suite(mode: Mode, tests: int, workers: int) -> tuple[float, float, str]:
    """Seconds for the tests, pytest's own start included, by the clock and of CPU, and pytest's last line."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_fresh.py").write_text(SUITE.format(tests=tests))
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--shareq-mode={mode}"]
        began, cpu_s = time.perf_counter(), children_s()
        result = subprocess.run(
            [*command, "-n", str(workers)],
            cwd=folder,
            env=child_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        took, cpu_s = time.perf_counter() - began, children_s() - cpu_s
    if result.returncode:
        raise SystemExit(result.stdout + result.stderr)
    return took, cpu_s, result.stdout.splitlines()[-1]


def children_s() -> float:
    """Seconds of CPU of processes that were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def starts(mode: Mode, count: int) -> list[float]:
    """Milliseconds until each of some brokers listens, after a first one; sorted."""
    with Broker(mode=mode):
        pass
    took = []
    for _ in range(count):
        began = time.perf_counter()
        with Broker(mode=mode):
            took.append((time.perf_counter() - began) * 1000)
    return sorted(took)


def resident_kb() -> int:
    """Of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


def leftovers(mode: Mode, brokers: int) -> None:
    """Start and stop brokers, each with a topic and a record, and print what is left of them every hundred."""
    print(f"mode={mode}: brokers  descriptors  threads  resident KB")
    for number in range(brokers + 1):
        if number % max(1, brokers // 10) == 0:
            gc.collect()
            print(f"{number:7} {len(os.listdir('/proc/self/fd')):12} {threading.active_count():8} {resident_kb():12}")
        with Broker(mode=mode) as broker:
            topic = broker.topic()
            broker.produce(topic, "x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--brokers", type=int, default=1000)
    arguments = parser.parse_args()
    modes: tuple[Mode, ...] = ("thread", "process")
    for mode in modes:
        if arguments.tests:
            took = starts(mode, 20)
            print(f"mode={mode}: start in ms: lowest {took[0]:.0f}, median {took[10]:.0f}, highest {took[-1]:.0f}")
            seconds, cpu_s, line = suite(mode, arguments.tests, arguments.workers)
            print(f"mode={mode}: {arguments.tests} tests in {seconds:.1f} s with {arguments.workers} workers")
            print(f"    {cpu_s:.1f} s of CPU; pytest says {line}")
        if arguments.brokers:
            leftovers(mode, arguments.brokers)


if __name__ == "__main__":
    main()
