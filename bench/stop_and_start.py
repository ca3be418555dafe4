"""The time that a broker with many partitions takes to stop and to start: after a clean stop, and after kill -9.

    python -m bench.stop_and_start [--partitions 20000] [--records 10] [--bytes 100] [--data-dir DIR]

Every partition gets a batch of records first. The broker then is stopped (SIGTERM), started, given one more batch for
each partition, killed (SIGKILL), started, and stopped again. A start counts until the broker has answered ApiVersions,
a stop until its process is gone.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from devtools.clients.requests import batch
from devtools.clients.wire import WireClient
from shareq.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from shareq.protocol.generated.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from shareq.testing import Broker

MOST_PER_TOPIC = 10_000  # partitions that one CreateTopics request may ask for
PER_REQUEST = 1_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, default=20_000)
    parser.add_argument("--records", type=int, default=10, help="in each batch")
    parser.add_argument("--bytes", type=int, default=100, help="of each record")
    parser.add_argument("--data-dir", type=Path, help="an empty folder; by default a temporary one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="shareq-bench-") as folder:
        run(options.data_dir or Path(folder) / "data", options.partitions, options.records, options.bytes)


def run(data_dir: Path, partitions: int, records: int, size: int) -> None:
    """Print a line for each step."""
    broker = Broker(data_dir=data_dir, mode="command", start_timeout_s=600, stop_timeout_s=600)
    records_of_one = batch(*[b"x" * size] * records, timestamp_ms=int(time.time() * 1000))
    with timed("first start"):
        broker.start()
    topics = [min(MOST_PER_TOPIC, partitions - at) for at in range(0, partitions, MOST_PER_TOPIC)]
    with timed(f"{partitions} partitions made, {records} records of {size} bytes in each"):
        fill(broker, topics, records_of_one, create=True)
    with timed("clean stop"):
        broker.stop()
    with timed("start after a clean stop"):
        broker.start()
    fill(broker, topics, records_of_one, create=False)
    broker.kill()
    with timed("start after kill -9"):
        broker.start()
    with timed("clean stop, nothing written since the start"):
        broker.stop()
    with timed("start after that"):
        broker.start()
    broker.stop()


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Print how long it took."""
    began = time.perf_counter()
    yield
    print(f"{what}: {time.perf_counter() - began:.2f} s", flush=True)


def fill(broker: Broker, topics: list[int], records: bytes, *, create: bool) -> None:
    """Write one batch into each partition."""
    with WireClient(broker.address, timeout_s=120) as client:
        for number, partitions in enumerate(topics):
            name = f"topic-{number}"
            if create:
                request = CreateTopicsRequest([CreatableTopic(name, partitions, 1)])
                assert client.call(request, 7, CreateTopicsResponse).topics[0].error_code == 0
            for some in in_pieces(range(partitions), PER_REQUEST):
                data = TopicProduceData(name, partition_data=[PartitionProduceData(each, records) for each in some])
                answer = client.call(ProduceRequest(None, 1, 60_000, [data]), 9, ProduceResponse)
                assert not any(part.error_code for part in answer.responses[0].partition_responses)


def in_pieces(numbers: range, size: int) -> Iterator[range]:
    for at in range(0, len(numbers), size):
        yield numbers[at : at + size]


if __name__ == "__main__":
    main()
