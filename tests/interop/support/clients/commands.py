"""The commands that every client program of the suite understands, in whatever language it is written.

`call(do, bootstrap=..., login=..., **arguments)` returns a dictionary; a failure raises. `login` is None or has
`mechanism`, `username`, `password`. What a program is not given it leaves at the client's own default. Topics have one
partition, but where `partitions` says so.

| do | arguments | answer |
| --- | --- | --- |
| `produce` | topic, values; headers, compression, idempotent, transaction (an id), abort | |
| `fetch` | topic, count, committed (read_committed); from the first record on | records: offset, value, headers |
| `offsets` | topic | earliest, latest |
| `group` | topic, group, protocol (classic or consumer), count, instance; reads, commits, closes | values |
| `share` | topic, group, count; see below | deliveries: (value, delivery count) |
| `create_topic`, `describe_topic`, `delete_topic` | topic, partitions | describe: partitions, 0 when there is none |
| `configs` | topic | configs: value by name |
| `groups` | group | listed: group ids; state: of that group |
| `delete_records` | topic, before (an offset) | |

`share` releases values that begin with `release` when they come for the first time, rejects those that begin with
`reject`, accepts all others, and ends when `count` records are accepted or rejected, and the broker has confirmed it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class Client(Protocol):
    """One client library or tool."""

    def call(self, do: str, **arguments: object) -> dict[str, Any]:  # JSON, of a shape that `do` decides
        """Raises whatever the client raises."""
        ...

    def close(self) -> None:
        """End its process, if it has one."""
        ...


class Unavailable(Exception):
    """What is missing on this machine to run the client."""


def python_login(login: Mapping[str, str] | None) -> dict[str, str]:
    """`login` as the settings of kafka-python, which are aiokafka's, too."""
    if login is None:
        return {}
    return {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": login["mechanism"],
        "sasl_plain_username": login["username"],
        "sasl_plain_password": login["password"],
    }
