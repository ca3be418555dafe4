"""The tools that consume: console share consumer, performance test, verifiable share consumer."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from tests.interop.support.tool_session import Session
from tests.interop.support.transcript import in_any_order, masked

TOOLS: Final = "org.apache.kafka.tools.consumer"
COMMON: Final = "org.apache.kafka.common.serialization"
MAY_1ST: Final = 1714521600000  # 2024, UTC

PRINT_ALL: Final = tuple(
    word
    for name in ("timestamp", "key", "offset", "delivery", "epoch", "partition", "headers", "value")
    for word in ("--formatter-property", f"print.{name}=true")
)
SEPARATORS: Final = (
    "key.separator= = ",
    "headers.separator=;",
    "null.literal=none",
    "print.headers=true",
    "print.key=true",
)
WRONG: Final[Sequence[Sequence[str]]] = (
    ("--group", "packers"),
    ("--topic", "orders", "--reject", "--release"),
    ("--topic", "orders", "--formatter", "no.such.Formatter"),
    ("--topic", "orders", "--group", "packers", "--command-property", "group.id=drivers"),
    ("--topic", "orders", "--group", "packers", "--command-property", "auto.offset.reset=earliest"),
    ("--topic", "orders", "--group", "packers", "--command-property", "enable.auto.commit=true"),
    ("--topic", "orders", "--group", "packers", "--command-property", "isolation.level=read_committed"),
    ("--topic", "orders", "--consumer-property", "a=b", "--command-property", "a=b"),
    ("--topic", "orders", "--property", "print.key=true", "--formatter-property", "print.key=true"),
    ("--topic", "orders", "--group", "", "--timeout-ms", "500"),
    ("--topic", "orders", "--no-such-option"),
    ("--topic", "orders", "--version"),
)


class Console:
    def __init__(self, run: Session, topic: str) -> None:
        self._run = run
        self._topic = topic

    def __call__(self, group: str, messages: int, *arguments: str) -> None:
        """Consume this many messages; with 0, whatever comes within 0.7 s."""
        options = ["--topic", self._topic] + (["--group", group] if group else [])
        options += ["--max-messages", str(messages), "--timeout-ms", "20000"] if messages else ["--timeout-ms", "700"]
        self._run.run("kafka-console-share-consumer.sh", *options, *arguments, view=in_any_order)


def console(run: Session) -> None:
    run.topic("orders", retention_ms="-1")
    run.topic("wide", 2)
    run.produce("orders", ((0, b"value %d" % number) for number in range(6)), time_ms=MAY_1ST)
    run.produce("wide", ((number % 2, b"value %d" % number) for number in range(6)))
    groups = ["packers", "drivers", "clerks", "strict", "lenient", "console-share-consumer"]
    run.read_from_start(*groups)
    take, take_wide = Console(run, "orders"), Console(run, "wide")
    take("packers", 6, "--release", *PRINT_ALL)
    take("packers", 6, "--release", "--formatter-property", "print.delivery=true", "--enable-systest-events")
    take("packers", 2, "--formatter-property", "print.delivery=true", "--command-property", "max.poll.records=2",
         "--command-property", "share.acquire.mode=record_limit")  # fmt: skip
    take("packers", 4, "--reject", "--formatter-property", "print.delivery=true")
    take("packers", 0)
    run.share_groups("--describe", "--group", "packers", "--verbose")
    take_wide("drivers", 6, "--formatter-property", "print.partition=true", "--formatter-property", "print.offset=true")
    run.share_groups("--describe", "--group", "drivers", "--verbose")
    take("", 6)
    _formatters(run, take)
    _errors(run, take)


def _formatters(run: Session, take: Console) -> None:
    release = ("--release",)
    take("clerks", 6, *release, *(word for value in SEPARATORS for word in ("--formatter-property", value)))
    limit = ("--command-property", "group.id=clerks")
    config = run.file("formatter.properties", "print.key=true\nprint.offset=true\nprint.value=false\n")
    take("clerks", 6, *limit, *release, "--formatter-config", config, "--formatter-property", "print.offset=false")
    deserializers = (
        "--key-deserializer",
        f"{COMMON}.StringDeserializer",
        "--value-deserializer",
        f"{COMMON}.BytesDeserializer",
    )
    take("clerks", 6, "--formatter", f"{TOOLS}.DefaultMessageFormatter", *deserializers, "--property", "print.key=true")
    run.produce("orders", ((0, b"late %d" % number) for number in range(3)), time_ms=MAY_1ST)
    take("clerks", 3, "--formatter", f"{TOOLS}.NoOpMessageFormatter")
    run.produce("orders", ((0, b"last %d" % number) for number in range(2)), time_ms=MAY_1ST)
    properties = run.file("consumer.properties", "client.id=a-clerk\ngroup.id=clerks\n")
    take("", 1, "--command-config", properties, "--command-property", "max.poll.records=1",
         "--command-property", "share.acquire.mode=record_limit")  # fmt: skip
    take("", 1, "--consumer-config", properties, "--consumer-property", "client.id=another")
    run.share_groups("--describe", "--group", "clerks")


def _errors(run: Session, take: Console) -> None:
    run.produce("orders", [(0, b"8 bytes.")], time_ms=MAY_1ST)
    longs = ("--value-deserializer", f"{COMMON}.LongDeserializer")
    take("strict", 12, *longs)
    take("lenient", 12, *longs, "--reject-message-on-error")
    for group in ("strict", "lenient"):
        run.share_groups("--describe", "--group", group)
    for arguments in WRONG:
        run.run("kafka-console-share-consumer.sh", *arguments)
    for topic in ("missing", "bad name"):
        Console(run, topic)("packers", 0)
    run.run("kafka-topics.sh", "--list", "--exclude-internal")


_KEPT = re.compile(r"(records-consumed|bytes-consumed|acknowledgements-send|acknowledgements-error)-total")
_DATE = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d{3}|\b20\d\d\b"
_RATES = r"(<date>, <date>, \S+), \S+, \S+, (\d+), \d+"


def _figures(lines: list[str]) -> list[str]:
    """Keep counts; mask dates, rates and most metrics, which depend on the machine."""
    lines = [re.sub(_DATE, "<date>", line) for line in lines]
    lines = [re.sub(_RATES, r"\1, <n>, <n>, \2, <n>", line) for line in lines]
    lines = [line if _KEPT.search(line) else re.sub(r"(\}\s+): .*", r"\1: <n>", line) for line in lines]
    return [re.sub(r"^<date>.* for share consumer", "<figures> for share consumer", line) for line in lines]


def _figures_by_thread(lines: list[str]) -> list[str]:
    pattern = r"(consumption metrics- <date>, <date>), .*"
    return [re.sub(pattern, r"\1, <n>", line) for line in _figures(lines)]


def _once(lines: list[str]) -> list[str]:
    return list(dict.fromkeys(_figures(lines)))


def performance(run: Session) -> None:
    """Use every option of the share consumer's performance test; 1,200 keyed records of 100 bytes."""
    run.topic("orders", 2)
    run.produce("orders", ((number % 2, b"%096d" % number) for number in range(1_200)))
    groups = [f"perf-{number}" for number in range(7)]
    run.read_from_start("perf-share-consumer", *groups)
    test, orders = "kafka-share-consumer-perf-test.sh", ("--topic", "orders", "--num-records", "1200")
    run.run(test, *orders, view=_figures)
    run.run(test, *orders, "--group", groups[0], "--print-metrics", "--show-consumer-stats", view=_figures)
    detailed = ("--show-detailed-stats", "--reporting-interval", "1", "--timeout", "20000")
    run.run(test, *orders, "--group", groups[1], *detailed, view=_once)
    threads = ("--threads", "2", "--show-consumer-stats", "--hide-header", "--date-format", "yyyy")
    run.run(test, *orders, "--group", groups[2], *threads, view=_figures_by_thread)
    sizes = ("--fetch-size", "20000", "--socket-buffer-size", "65536", "--command-property", "max.poll.records=100")
    run.run(test, *orders, "--group", groups[3], *sizes, view=_figures)
    config = run.file("perf.properties", "client.id=a-test\n")
    for number, option in ((4, "--command-config"), (5, "--consumer.config")):
        arguments = ("--topic", "orders", "--messages", "1200", "--group", groups[number], option, config)
        run.run(test, *arguments, "--show-consumer-stats", view=_figures)
    for group in groups:
        run.share_groups("--describe", "--group", group)
    run.run(test, "--topic", "orders")
    run.run(test, "--topic", "orders", "--num-records", "1", "--group", groups[6], "--reporting-interval", "0")
    run.run(test, "--topic", "orders", "--num-records", "1", "--command-property", "group.instance.id=a")


def _events(lines: list[str]) -> list[str]:
    """Keep single events in order; join consumed and acknowledged offsets by partition.

    Fields are sorted: a JVM with an archive of classes lists methods, and the tools fields, in another order.
    """
    offsets: dict[tuple[str, str, int], Counter[int]] = {}
    shown: list[str] = []
    for line in lines:
        if not line.startswith("{"):
            shown.append(line)
            continue
        event = {name: value for name, value in json.loads(line.replace("<time>", "0")).items() if name != "timestamp"}
        for one in event.get("partitions", ()):
            assert event.get("success", True), event
            place = (event["name"], one["topic"], one["partition"])
            offsets.setdefault(place, Counter()).update(one["offsets"])
        if "partitions" not in event:
            shown.append(json.dumps(event, sort_keys=True))
    rows = [f"{name} {topic}-{number}: {sorted(found.elements())}" for (name, topic, number), found in offsets.items()]
    records = sorted(line for line in shown if '"offset"' in line)
    return [line for line in shown if '"offset"' not in line] + records + sorted(rows)


def verifiable(run: Session) -> None:
    """Run the consumer of Apache Kafka's system tests in its three modes, with records of its producer."""
    run.topic("orders", 2)
    keys = ("--topic", "orders", "--max-messages", "20", "--repeating-keys", "4", "--value-prefix", "7")
    without_rate = masked(r'"avg_throughput": [^,]*, ', "")
    run.apart("kafka-verifiable-producer.sh", *keys, view=lambda lines: without_rate(_events(lines)))
    config = run.file(
        "consumer.properties", "client.id=a-consumer\nmax.poll.records=5\nshare.acquire.mode=record_limit\n"
    )
    for mode, more in (("auto", ("--command-config", config)), ("sync", ("--verbose",)), ("async", ("--verbose",))):
        arguments = ("--topic", "orders", "--group-id", mode, "--max-messages", "20", "--acknowledgement-mode", mode)
        consumer = "kafka-verifiable-share-consumer.sh"
        run.run(consumer, *arguments, "--offset-reset-strategy", "earliest", *more, view=_events)
        run.share_groups("--describe", "--group", mode, "--verbose")
        run.configs("--describe", "--group", mode)
