"""kafka-go's own tests, as released, on this broker: all pass except those named here with reasons.

They use localhost:9092 and, with SASL, localhost:9093: nothing else may listen there. A failed test is repeated alone
and counts only if it fails every time: several of them have races (kafka-go says so). docs/evidence/kafka-go.md has the
figures, which this test checks.
"""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from devtools.ports import free_port
from tests.interop.support.broker_under_test import BrokerUnderTest, Kind
from tests.interop.support.clients.commands import SCRAM_MODULE, Unavailable
from tests.interop.support.clients.programs import KAFKA_GO, kafka_go_suite
from tests.interop.support.go_suite import Outcome, Program, listed
from tests.support.clients.access import STANDARD
from tests.support.clients.sasl import PLAIN_MODULE

pytestmark = pytest.mark.interop

ENVIRONMENT: Final = {"KAFKA_VERSION": "4.0.0", "KAFKA_SKIP_NETTEST": "1"}
"""The variables of kafka-go's own CI for Kafka 4.0.0, the newest version that its tests know."""
PLAIN_USER: Final = 'user_adminplain="admin-secret"'
PORTS: Final = (9092, 9093)

NO_FUNCTION = "calls a function that it has not set: a panic with every broker, which ends the program"
IMPOSSIBLE: Final = {
    "TestReaderConsumerGroup/verify_offset_committed": NO_FUNCTION,
    "TestReaderConsumerGroup/verify_offset_committed_when_using_interval_committer": NO_FUNCTION,
    "TestReaderConsumerGroup/consumer_group_commits_on_close": NO_FUNCTION,
    "TestReaderConsumerGroup/consumer_group_rebalance": "wants 12 records from a partition that has 8",
    "TestReaderReadCompactedMessage": "segment.bytes=200, below the 1048576 that Apache Kafka wants since 4.0",
}
"""The tests that are left out because Apache Kafka 4.3.1 fails them as well."""
AS_CREATED = "a topic that is asked for is created in the same answer; Apache Kafka creates it after the answer"
OURS: Final = {
    "TestConn/test_delete_topics": AS_CREATED,
    "TestConn/test_delete_topics_with_an_invalid_topic": AS_CREATED,
}
"""The tests that are left out here, and passed by Apache Kafka 4.3.1."""
APACHES: Final = {
    "TestClientElectLeaders": "REQUEST_TIMED_OUT, where an election is unnecessary",
    "TestRebalanceTooManyConsumers": "no message within 10 s of a rebalance",
}
"""The tests that are left out at Apache Kafka, and passed here."""
SKIPS_ITSELF: Final = {
    "TestClientAddOffsetsToTxn": "fails on Kafka 3.0.0 or later, as kafka-go says",
    "TestClientAddPartitionsToTxn": "fails on Kafka 3.0.0 or later, as kafka-go says",
    "TestClientInitProducerId": "fails on Kafka 3.0.0 or later, as kafka-go says",
    "TestClientTxnOffsetCommit": "fails on Kafka 3.0.0 or later, as kafka-go says",
    "TestConsumerGroupWithMissingTopic": "wants a broker that creates no topics by itself",
    "TestReadTruncatedMessages": "skipped without a reason",
    "TestConn/nettest": "KAFKA_SKIP_NETTEST, as in its own CI",
}
SHARDS: Final = {
    "kafka-go.test": ("^TestReaderConsumerGroup$", "^Test(Writer|Dialer|Conn)", "^TestClient", ""),
    "compress.test": ("",),
    "sasl.test": ("",),
    "topics.test": ("",),
}
"""The patterns of tests that run side by side, by program; the empty one runs the tests that match no other."""
PASSED: Final = 590
ASKED_AGAIN: Final[Mapping[Kind, int]] = {"ours": 1, "apache": 3}
"""The number of times that failed tests are repeated. Apache Kafka knows a new topic later than kafka-go's readers
look: a reader that looks too early has no partition for the rest of its generation.
"""


@pytest.fixture(scope="module")
def suite() -> Path:
    try:
        return kafka_go_suite()
    except Unavailable as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def broker(broker_kind: Kind) -> Iterator[BrokerUnderTest]:
    for port in PORTS:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                pytest.skip(f"port {port}, which kafka-go's tests talk to, is taken")
    users = [f"SCRAM-SHA-{size}=[name=adminscram{size},password=admin-secret-{size}]" for size in (256, 512)]
    broker = BrokerUnderTest(broker_kind, settings(broker_kind), port=PORTS[0], scram_users=users)
    try:
        broker.start()
        yield broker
    finally:
        broker.remove()


def settings(kind: Kind) -> Mapping[str, str]:
    """Return the settings of kafka-go's docker-compose-400.yml."""
    plain, sasl = PORTS
    listeners = f"PLAINTEXT://127.0.0.1:{plain},SASL_PLAINTEXT://127.0.0.1:{sasl}"
    shared = {
        "listeners": listeners,
        "advertised.listeners": listeners.replace("127.0.0.1", "localhost"),
        "auto.create.topics.enable": "true",
        "message.max.bytes": "200000000",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": f"{PLAIN_MODULE} required {PLAIN_USER};",
        "authorizer.class.name": STANDARD,
        "allow.everyone.if.no.acl.found": "true",
        "super.users": "User:adminscram256;User:adminscram512;User:adminplain;User:ANONYMOUS",
        "group.initial.rebalance.delay.ms": "0",
    }
    if kind == "ours":
        return shared
    controller = free_port()
    return {
        **shared,
        "listeners": f"{listeners},CONTROLLER://127.0.0.1:{controller}",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        **{
            f"listener.name.sasl_plaintext.scram-sha-{size}.sasl.jaas.config": f"{SCRAM_MODULE} required;"
            for size in (256, 512)
        },
    }


def test_the_suite_of_kafka_go(broker: BrokerUnderTest, suite: Path) -> None:
    left_out = {**IMPOSSIBLE, **(OURS if broker.kind == "ours" else APACHES)}
    outcome = run(suite, left_out)
    for _ in range(ASKED_AGAIN[broker.kind]):
        flaws = sorted(outcome.causes)
        print(*(f"failed, asked again: {name}:\n{outcome.reported(name)}" for name in flaws), sep="\n\n")
        again = run_alone(suite, flaws, left_out)
        outcome.failed -= again.passed
        outcome.passed |= again.passed
        outcome.output |= again.output
    assert not outcome.failed, "\n\n".join(f"{name}:\n{outcome.reported(name)}" for name in sorted(outcome.causes))
    assert outcome.skipped == set(SKIPS_ITSELF)
    everything = {name for program in SHARDS for name in listed(suite / program, folder_of(suite, program))}
    tops = {name for name in outcome.passed | outcome.skipped if "/" not in name}
    assert everything - tops == {name for name in left_out if "/" not in name}
    if broker.kind == "ours":
        assert len(outcome.passed) == PASSED


def run(suite: Path, left_out: Mapping[str, str]) -> Outcome:
    programs = []
    outcome = Outcome()
    try:
        for name, shards in SHARDS.items():
            for only in shards:
                others = [shard for shard in shards if shard and not only]
                programs.append(program(suite, name, only or ".", [*others, *map(exactly, left_out)]))
        for each in programs:
            outcome.add(each.outcome())
    finally:
        for each in programs:
            each.kill()
    return outcome


def run_alone(suite: Path, names: list[str], left_out: Mapping[str, str]) -> Outcome:
    outcome = Outcome()
    for name in names:
        for file in SHARDS:
            if name.partition("/")[0] in listed(suite / file, folder_of(suite, file)):
                outcome.add(program(suite, file, exactly(name), map(exactly, left_out)).outcome())
    return outcome


def program(suite: Path, name: str, only: str, leave_out: Iterable[str]) -> Program:
    return Program(suite / name, folder_of(suite, name), ENVIRONMENT, only=only, leave_out=leave_out)


def exactly(name: str) -> str:
    """Return Go's pattern for exactly this test: each part separately."""
    return "/".join(f"^{re.escape(part)}$" for part in name.split("/"))


def folder_of(suite: Path, program_name: str) -> Path:
    package = program_name.removesuffix(".test")
    path = KAFKA_GO if package == "kafka-go" else f"{KAFKA_GO}/{package}"
    found = subprocess.run(
        ["go", "list", "-mod=readonly", "-f", "{{.Dir}}", path], cwd=suite, check=True, capture_output=True, text=True
    )
    return Path(found.stdout.strip())
