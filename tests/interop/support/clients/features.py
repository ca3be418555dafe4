"""The features of the table in `docs/evidence/clients.md`, the clients, and what they lack.

The table combines this with the results of the suite (`--update-clients-table`): `test_every_client.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

from devtools.kafka.apache_kafka import TOOLS_VERSION

HERE: Final = Path(__file__).parents[2]
DOCUMENT: Final = HERE.parents[1] / "docs" / "evidence" / "clients.md"
BEGIN: Final = "<!-- made by: pytest tests/interop/test_every_client.py --update-clients-table -->"
END: Final = "<!-- end of what is made -->"

FEATURES: Final = {
    "produce": "produce",
    "gzip": "produce, gzip",
    "snappy": "produce, snappy",
    "lz4": "produce, lz4",
    "zstd": "produce, zstd",
    "idempotent": "idempotent produce",
    "fetch": "fetch",
    "headers": "headers",
    "offsets": "list offsets",
    "classic_group": "classic group: consume, commit",
    "static_member": "static member",
    "consumer_group": "consumer group (KIP-848)",
    "share_group": "share group: accept, release, reject",
    "transactions": "transactions: commit, abort",
    "transactional_id": "a transactional id used again",
    "read_committed": "`read_committed`",
    "topics": "create, describe, delete topics",
    "configs": "describe configs",
    "groups": "list, describe groups",
    "delete_records": "delete records",
    "PLAIN": "SASL PLAIN",
    "SCRAM-SHA-256": "SASL SCRAM-SHA-256",
    "SCRAM-SHA-512": "SASL SCRAM-SHA-512",
}
COMPRESSIONS: Final = ("gzip", "snappy", "lz4", "zstd")
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")

_NO_SHARE = "has no share consumer"
_NO_848 = "speaks the classic protocol only"
_NO_CODEC = "has gzip alone; other codecs are other packages"
_PYTHON_CODEC = "needs other packages for it, not installed here"
_NO_ADMINISTRATION = "does not administer"
_OLD_SCRAM = (
    "sends a wrong SCRAM nonce with librdkafka before 2.6.1, which Apache Kafka refuses as well (CVE-2024-56128)"
)

# (client, feature) -> what the client lacks. Everything else is tested.
LACKING: Final[Mapping[tuple[str, str], str]] = {
    ("kafka-python", "snappy"): _PYTHON_CODEC,
    ("kafka-python", "lz4"): _PYTHON_CODEC,
    ("kafka-python", "zstd"): _PYTHON_CODEC,
    ("kafka-python", "consumer_group"): _NO_848,
    ("kafka-python", "share_group"): _NO_SHARE,
    ("aiokafka", "share_group"): _NO_SHARE,
    ("aiokafka", "consumer_group"): _NO_848,
    ("kafkajs", "snappy"): _NO_CODEC,
    ("kafkajs", "lz4"): _NO_CODEC,
    ("kafkajs", "zstd"): _NO_CODEC,
    ("kafkajs", "static_member"): "cannot be given a `group.instance.id`",
    ("kafkajs", "consumer_group"): _NO_848,
    ("kafkajs", "share_group"): _NO_SHARE,
    ("platformatic", "zstd"): "has zstd with Node 22.15 or later; tested with Node 20",
    ("platformatic", "static_member"): "leaves the group when it closes, static member or not",
    ("platformatic", "share_group"): _NO_SHARE,
    ("platformatic", "transactional_id"): (
        "asks to keep producer id 0 instead of asking for a new one, and is fenced, by Apache Kafka as well"
    ),
    ("kcat", "consumer_group"): _NO_848,
    ("kcat", "share_group"): _NO_SHARE,
    ("kcat", "topics"): _NO_ADMINISTRATION,
    ("kcat", "configs"): _NO_ADMINISTRATION,
    ("kcat", "groups"): _NO_ADMINISTRATION,
    ("kcat", "delete_records"): _NO_ADMINISTRATION,
    ("kcat", "SCRAM-SHA-256"): _OLD_SCRAM,
    ("kcat", "SCRAM-SHA-512"): _OLD_SCRAM,
}


def _go_version() -> str:
    found = re.search(r"franz-go (v\S+)", (HERE / "go" / "go.mod").read_text())
    assert found is not None
    return found[1].removeprefix("v")


def kafka_go_version() -> str:
    found = re.search(r"kafka-go v(\S+)", (HERE / "kafka_go" / "go.mod").read_text())
    assert found is not None
    return found[1]


def _node_version(package: str) -> str:
    pinned: str = json.loads((HERE / "node" / "package.json").read_text())["dependencies"][package]
    return pinned


def clients() -> dict[str, str]:
    """Return name -> column heading with the tested version."""
    return {
        "java": f"Java clients and tools {TOOLS_VERSION}",
        "librdkafka": f"librdkafka {version('confluent-kafka')} (confluent-kafka)",
        "kafka-python": f"kafka-python {version('kafka-python')}",
        "aiokafka": f"aiokafka {version('aiokafka')}",
        "franz-go": f"franz-go {_go_version()}",
        "kafkajs": f"kafkajs {_node_version('kafkajs')}",
        "platformatic": f"@platformatic/kafka {_node_version('@platformatic/kafka')}",
        "kcat": "kcat 1.7.1 (librdkafka 2.0.2)",  # as Debian 12 has it
    }


def table(outcome: Mapping[tuple[str, str], str]) -> str:
    """Return Markdown: the clients, the features, and all failures, by reason.

    `outcome` has "pass" or the failure of each tested feature; failed and untested features have a ✗.
    """
    others: dict[str, dict[str, list[str]]] = {}
    for client in clients():
        for feature, title in FEATURES.items():
            lacking = LACKING.get((client, feature))
            result = outcome.get((client, feature), "not tested")
            if lacking is not None or result != "pass":
                of_reason = others.setdefault(f"✗ {result}" if lacking is None else lacking, {})
                of_reason.setdefault(client, []).append(title)
    lines = [
        f"Clients: {'; '.join(clients().values())}.",
        "",
        f"Features: {'; '.join(FEATURES.values())}.",
        "",
        f"{sum(result == 'pass' for result in outcome.values())} of {len(clients()) * len(FEATURES)} pass. The others:",
        "",
        *(f"* {reason}: {_listed(by_client)}" for reason, by_client in others.items()),
    ]
    return "\n".join([BEGIN, "", *lines, "", END])


def _listed(by_client: Mapping[str, Sequence[str]]) -> str:
    by_features: dict[str, list[str]] = {}
    for client, titles in by_client.items():
        by_features.setdefault("; ".join(titles), []).append(client)
    return ", ".join(f"{', '.join(names)} (*{features}*)" for features, names in by_features.items())


def everything_passes() -> dict[tuple[str, str], str]:
    return {
        (client, feature): "pass" for client in clients() for feature in FEATURES if (client, feature) not in LACKING
    }
