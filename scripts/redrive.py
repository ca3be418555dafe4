"""Sends dead letters back: `python scripts/redrive.py --bootstrap-server HOST:PORT start NAME --queue dlq.orders`.

    start NAME --queue TOPIC [filters] [--to-group] [--per-second N] [--wait]
    describe [NAME]...
    cancel NAME

Without filters all letters that are in the queue now go back to their topics; with `--to-group` those of `--group` go
to the topic redrive.GROUP. A redrive goes on in the broker when this command ends, and when the broker starts again;
--wait shows how far it is until it is over. TLS and SASL by --command-config, a file with properties of Kafka's Java
client.

Exit codes: 0 done, 1 the broker refused, cannot be reached, or the redrive has failed, 2 wrong options or properties.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from shareq.client.config import ClientConfig
from shareq.client.errors import ClientError, ConfigError
from shareq.client.network import Network
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.cancel_redrive import CancelRedriveRequest, CancelRedriveResponse
from shareq.protocol.generated.describe_redrives import (
    DescribedRedrive,
    DescribeRedrivesRequest,
    DescribeRedrivesResponse,
)
from shareq.protocol.generated.start_redrive import StartRedriveRequest, StartRedriveResponse

FAILURE: Final = 1
USAGE_ERROR: Final = 2
LOOK_EVERY_S: Final = 0.5

_NUMBERS: Final = (
    ("--queue-partition", "queue_partition", "only this partition of the queue"),
    ("--from-offset", "first_offset", "from this offset of the queue's partition on"),
    ("--to-offset", "last_offset", "up to this offset of it, inclusive"),
    ("--source-partition", "source_partition", "only letters of records of this partition"),
    ("--from-source-offset", "first_source_offset", "only of records from this offset on"),
    ("--to-source-offset", "last_source_offset", "only of records up to this offset, inclusive"),
    ("--died-from", "died_from_ms", "only letters made at this time or later, in milliseconds"),
    ("--died-until", "died_until_ms", "only letters made before this time, in milliseconds"),
)


def arguments() -> argparse.ArgumentParser:
    """What the command takes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bootstrap-server", required=True, metavar="HOST:PORT")
    parser.add_argument("--command-config", metavar="FILE", help="properties of a client, for TLS and SASL")
    commands = parser.add_subparsers(dest="command", required=True)
    start = commands.add_parser("start", help="begin a redrive")
    start.add_argument("name", help="each name serves once")
    start.add_argument("--queue", required=True, metavar="TOPIC", help="where the letters are")
    start.add_argument("--offset", type=int, help="one letter, by its offset in --queue-partition")
    start.add_argument("--group", dest="group_id", help="only letters of this group")
    start.add_argument("--source-topic", help="only letters of records of this topic")
    start.add_argument("--reason", help="only letters with this message, or this disposition")
    for option, field, text in _NUMBERS:
        start.add_argument(option, dest=field, type=int, default=-1, help=text)
    start.add_argument("--to-group", action="store_true", help="to redrive.GROUP, not to the topics")
    start.add_argument("--per-second", type=int, default=100, metavar="N", help="at most so many records (100)")
    start.add_argument("--wait", action="store_true", help="until it is over")
    describe = commands.add_parser("describe", help="how far redrives are")
    describe.add_argument("names", nargs="*", metavar="NAME")
    cancel = commands.add_parser("cancel", help="end a redrive where it is")
    cancel.add_argument("name")
    return parser


def start(network: Network, options: argparse.Namespace) -> int:
    """Begin a redrive."""
    request = StartRedriveRequest(
        options.name,
        options.queue,
        group_id=options.group_id,
        source_topic=options.source_topic,
        reason=options.reason,
        target=int(options.to_group),
        records_per_second=options.per_second,
        **{field: getattr(options, field) for _, field, _ in _NUMBERS},
    )
    if options.offset is not None:
        request.first_offset = request.last_offset = options.offset
    answer = network.request(None, request)
    assert isinstance(answer, StartRedriveResponse)
    if answer.error_code:
        return refused(answer.error_code, answer.error_message)
    return wait(network, options.name) if options.wait else 0


def wait(network: Network, name: str) -> int:
    """Show how far a redrive is until it is over; also while the broker starts again."""
    shown = ""
    while True:
        (row,) = described(network, [name])
        text = line_of(row)
        if text != shown:
            print(text, flush=True)
            shown = text
        if row.error_code or row.state != "RUNNING":
            return 0 if row.state in ("DONE", "CANCELLED") else FAILURE
        time.sleep(LOOK_EVERY_S)


def describe(network: Network, options: argparse.Namespace) -> int:
    """Show redrives, all without names."""
    rows = described(network, options.names or None)
    for row in rows:
        print(line_of(row))
    return FAILURE if any(row.error_code for row in rows) else 0


def cancel(network: Network, options: argparse.Namespace) -> int:
    """End a redrive."""
    answer = network.request(None, CancelRedriveRequest(options.name))
    assert isinstance(answer, CancelRedriveResponse)
    return refused(answer.error_code, answer.error_message) if answer.error_code else 0


def described(network: Network, names: list[str] | None) -> list[DescribedRedrive]:
    """Redrives by name, or all."""
    answer = network.request(None, DescribeRedrivesRequest(names))
    assert isinstance(answer, DescribeRedrivesResponse)
    return answer.redrives


def line_of(row: DescribedRedrive) -> str:
    """One redrive in one line."""
    if row.error_code:
        return f"{row.name}: {ErrorCode(row.error_code).name}: {row.error_message}"
    left = sum(each.end_offset - each.next_offset for each in row.partitions)
    counts = ", ".join(f"{each.what} {each.records}" for each in row.counts)
    target = f"redrive.{row.group_id}" if row.target else row.source_topic or "their topics"
    trouble = f"; {row.trouble}" if row.trouble else ""
    done = f"; {counts}" if counts else ""
    return f"{row.name}: {row.state}, {row.queue} to {target}, {left} letters to look at{done}{trouble}"


def refused(code: int, message: str | None) -> int:
    """Say why the broker refused; the exit code."""
    print(f"{ErrorCode(code).name}: {message}", file=sys.stderr)
    return FAILURE


def read_properties(path: str) -> dict[str, str]:
    """A file of properties, as Kafka's tools take it. Raises ConfigError."""
    import javaproperties

    try:
        loaded: dict[str, str] = javaproperties.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: {error}") from None
    return loaded


_COMMANDS: Final[Mapping[str, Callable[[Network, argparse.Namespace], int]]] = {
    "start": start,
    "describe": describe,
    "cancel": cancel,
}


def main(given: list[str] | None = None) -> int:
    """The command."""
    options = arguments().parse_args(given)
    try:
        properties = read_properties(options.command_config) if options.command_config else {}
        config = ClientConfig.from_properties({**properties, "bootstrap.servers": options.bootstrap_server})
        network = Network(config)
        try:
            return _COMMANDS[options.command](network, options)
        finally:
            network.close()
    except ConfigError as error:
        print(error, file=sys.stderr)
        return USAGE_ERROR
    except ClientError as error:
        print(error, file=sys.stderr)
        return FAILURE


if __name__ == "__main__":
    sys.exit(main())
