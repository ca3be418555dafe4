"""This project's codecs beside kio 0.6.5's, whose reader is native code: `python -m bench.codecs`.

A ShareAcknowledge v1 request: one partition, 40 batches of 25 records with one type for the range, and 25 types each.
"""

from __future__ import annotations

import io
import time
import uuid
from collections.abc import Callable

from kio.schema.share_acknowledge.v1.request import ShareAcknowledgeRequest as KioRequest
from kio.serial import entity_reader, entity_writer

from shareq.protocol.generated.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)

BATCHES, RECORDS = 40, 25
SECONDS = 0.3
REPEATS = 7


def best_us(call: Callable[[], object]) -> float:
    """The fastest of several averages, in microseconds."""
    best = float("inf")
    for _ in range(REPEATS):
        count, started = 0, time.perf_counter()
        while (elapsed := time.perf_counter() - started) < SECONDS / REPEATS:
            for _ in range(20):
                call()
            count += 20
        best = min(best, elapsed / count * 1e6)
    return best


def request(types: list[int]) -> ShareAcknowledgeRequest:
    batches = [
        AcknowledgementBatch(number * RECORDS, number * RECORDS + RECORDS - 1, list(types)) for number in range(BATCHES)
    ]
    topic = AcknowledgeTopic(uuid.uuid4().bytes, [AcknowledgePartition(0, batches)])
    return ShareAcknowledgeRequest("group", str(uuid.uuid4()), 7, topics=[topic])


def main() -> None:
    read, write = entity_reader(KioRequest), entity_writer(KioRequest)
    print(
        "| ShareAcknowledge, 40 batches | shareq, µs | kio, µs | ratio | target |\n| --- | ---: | ---: | ---: | --- |"
    )
    for label, types in (("1 type each", [1]), (f"{RECORDS} types each", [1] * RECORDS)):
        ours = request(types)
        data = ours.encode(1)
        theirs, size = read(data, 0)
        assert size == len(data)
        written = io.BytesIO()
        write(written, theirs)
        assert written.getvalue() == data
        assert ShareAcknowledgeRequest.decode(data, 1) == (ours, len(data))
        for name, our_call, their_call, target in (
            ("decode", lambda d=data: ShareAcknowledgeRequest.decode(d, 1), lambda d=data: read(d, 0), "<= 3x"),
            ("encode", lambda o=ours: o.encode(1), lambda t=theirs: write(io.BytesIO(), t), "<= 0.1x compiled"),
        ):
            mine, other = best_us(our_call), best_us(their_call)
            print(f"| {name}, {label} | {mine:.1f} | {other:.1f} | {mine / other:.2f}x | {target} |")


if __name__ == "__main__":
    main()
