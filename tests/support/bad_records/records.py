"""Records that no well-behaved program sends but every broker accepts; consumers must survive them.

Pure: a seed makes them. Header names are bytes here: code that logs them must not need text (`batch_of` writes them).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Final, NamedTuple

from shareq.protocol.records.batch import build_batch
from shareq.protocol.records.record_codec import RecordData

NOT_BEFORE: Final = b"shareq.not.before.ms"
DELAY: Final = b"delay"
MOST_HEADERS: Final = 5_000
DEEPEST: Final = 100_000
_INT64: Final = 2**63

Headers = list[tuple[bytes, bytes | None]]


class BadRecord(NamedTuple):
    """A malformed record. `timestamp` is in ms since the epoch: -1, or any other 64-bit value."""

    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp: int


def bad_records(random: Random, count: int, now_ms: int, largest: int = 100_000) -> Iterator[BadRecord]:
    """Yield `count` records, each malformed in one or more ways. `largest`: bytes of the largest value.

    Timestamps are at or before `now_ms`; a broker's `message.timestamp.after.max.ms` refuses later ones.
    """
    for _ in range(count):
        key = random.choice(_KEYS)(random)
        value = random.choice(_VALUES)(random, largest)
        headers = random.choice(_HEADERS)(random, now_ms)
        yield BadRecord(key, value, headers, random.choice((now_ms, now_ms, -1, 0, 1, now_ms // 2)))


def batch_of(records: Sequence[BadRecord], base_offset: int = 0) -> bytes:
    rows = [
        RecordData(
            each.key,
            each.value,
            tuple((name.decode("utf-8", "surrogateescape"), value) for name, value in each.headers),
            each.timestamp,
        )
        for each in records
    ]
    return bytes(build_batch(rows, timestamp_ms=0, base_offset=base_offset))


def _bytes(random: Random, least: int, most: int) -> bytes:
    return random.randbytes(random.randint(least, most))


_KEYS: Final[tuple[Callable[[Random], bytes | None], ...]] = (
    lambda _: None,
    lambda _: b"",
    lambda random: _bytes(random, 1, 40),
    lambda _: b"\xff\xfe\x00",
    lambda random: b"customer %d" % random.randrange(10),
)


def _nested(random: Random) -> bytes:
    depth = random.choice((1_000, 5_000, DEEPEST))
    opening, closing = random.choice(((b"[", b"]"), (b'{"a":', b"}")))
    return opening * depth + b"1" + (closing * depth if random.random() < 0.8 else b"")


def _taskiq(random: Random) -> bytes:
    """Return a task's envelope in which a field has the wrong type or is missing."""
    envelope: dict[str, object] = {
        "task_id": f"{random.getrandbits(128):032x}",
        "task_name": "tasks:add",
        "labels": {},
        "labels_types": {},
        "args": [1, 2],
        "kwargs": {},
    }
    name = random.choice(list(envelope))
    wrong: list[object] = [None, 7, -1.5, "text", "\ud800", [], [[[]]], {}, {"a": {"b": []}}, True, 10**400]
    if random.random() < 0.2:
        del envelope[name]
    else:
        envelope[name] = random.choice(wrong)
    labels: list[object] = [1e300, -1e300, "NaN", "soon", None, [], {}, -5, True, "1e999", 10**400]
    if isinstance(envelope.get("labels"), dict):
        envelope["labels"] = {random.choice(("delay", "timeout", "ack_type", "key")): random.choice(labels)}
    return json.dumps(envelope).encode()


_VALUES: Final[tuple[Callable[[Random, int], bytes | None], ...]] = (
    lambda *_: None,
    lambda *_: b"",
    lambda random, _: _bytes(random, 1, 300),
    lambda random, largest: random.randbytes(largest) if random.random() < 0.1 else b"\x00" * min(largest, 1_000),
    lambda random, _: _nested(random),
    lambda random, _: _taskiq(random),
    lambda *_: b'{"a": 1',
    lambda *_: b'"\\ud800"',
    lambda *_: b"1" + b"0" * 5_000,
    lambda *_: b"[NaN, Infinity, 1e999]",
    lambda *_: b"null",
    lambda *_: b"\xef\xbb\xbf{}",
)


def _odd_names(random: Random, _: int) -> Headers:
    names = (
        b"\xff",
        b"\xc3\x28",
        b"caf\xe9",
        b"\xed\xa0\x80",
        b"",
        b"\x00",
        b"a\nb",
        b"x" * 1_000,
        _bytes(random, 1, 20),
    )
    return [(random.choice(names), random.choice((None, b"", b"v", _bytes(random, 1, 20)))) for _ in range(4)]


def _no_delay(random: Random, now_ms: int) -> Headers:
    """Return delay headers whose times are invalid or too far in the future."""
    times = (
        *(b"", b"soon", b"-1", b"+5", b"1.5", b"NaN", b"1e18", b" 12 ", b"\xd9\xa1", b"0x10", b"9" * 30, b"9" * 5_000),
        *(b"%d" % (now_ms + 10**11), b"999999999999999", b"%d" % _INT64, None),
    )
    seconds = (b"1e300", b"-1e300", b"inf", b"nan", b"", b"later", b"1e9", b"-5", b"\xff", b"9" * 5_000, None)
    return [(NOT_BEFORE, random.choice(times)), (DELAY, random.choice(seconds))]


_HEADERS: Final[tuple[Callable[[Random, int], Headers], ...]] = (
    lambda *_: [],
    _odd_names,
    _odd_names,
    _no_delay,
    lambda random, _: [(b"%d" % at, b"") for at in range(random.choice((1_000, MOST_HEADERS)))],
    lambda random, _: [(b"same", _bytes(random, 0, 5))] * 50,
    lambda *_: [(b"traceparent", b"00-zz-zz-zz"), (b"tracestate", b"\xff" * 600), (b"baggage", None)],
    lambda *_: [(b"__dlq.errors.partition", b"9" * 5_000), (b"__dlq.errors.topic", b"\xff"), (b"__dlq.\xff", None)],
    lambda *_: [
        (b"__redrive.count", b"9" * 5_000),
        (b"__redrive.queue.offset", b"-1"),
        (b"__redrive.queue.topic", None),
    ],
)
