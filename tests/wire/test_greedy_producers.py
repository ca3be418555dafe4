"""Clients that create transactional and producer ids endlessly; two users at one address."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import pytest

from devtools.clients.requests import create_topic, produce
from devtools.clients.transactor import Transactor
from devtools.clients.wire import WireClient
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from shareq.protocol.generated.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from shareq.protocol.generated.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from shareq.protocol.records.batch import RecordData, build_batch
from shareq.testing import Broker
from tests.support.clients.sasl import PLAIN_MODULE
from tests.support.kafka.transactions import numbered

NONE: Final = ErrorCode.NONE
REFUSED: Final = ErrorCode.POLICY_VIOLATION
NO_GROUP: Final = ErrorCode.GROUP_MAX_SIZE_REACHED
MOST: Final = 3

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere 127.0.0.2 is no address")


def send(client: WireClient, topic: str, producer_id: int, sequence: int = 0, partition: int = 0) -> int:
    records = numbered(b"x", producer_id=producer_id, sequence=sequence)
    return produce(client, topic, records, partition=partition).error_code


def share(client: WireClient, group: str) -> int:
    request = ShareGroupHeartbeatRequest(group_id=group, member_id="m", member_epoch=0, subscribed_topic_names=["t"])
    return client.call(request, 1, ShareGroupHeartbeatResponse).error_code


@on_linux
def test_the_greedy_one_gets_no_more_transactional_ids_and_others_do() -> None:
    config = {"shareq.max.transactional.ids.per.principal": str(MOST)}
    with (
        Broker(config=config, mode="thread") as broker,
        WireClient(broker.address) as greedy,
        WireClient(broker.address) as greedy_too,
        WireClient(broker.address, source="127.0.0.2") as honest,
    ):
        create_topic(honest, "t")
        producers = [Transactor(greedy, transactional_id=f"id-{i}") for i in range(MOST)]
        assert [producer.init() for producer in producers] == [NONE] * MOST
        assert Transactor(greedy_too, transactional_id="another").init() == REFUSED
        assert producers[0].init() == NONE  # a new epoch of an id that exists
        assert producers[0].write("t", b"x") == NONE
        assert [Transactor(honest, transactional_id=f"mine-{i}").init() for i in range(2)] == [NONE, NONE]
        # Producers without one are not meant.
        assert greedy.call(InitProducerIdRequest(None), 4, InitProducerIdResponse).error_code == NONE


@on_linux
def test_the_greedy_one_gets_no_more_producers_remembered_and_others_do() -> None:
    config = {"shareq.max.producer.ids.per.principal": str(MOST)}
    with (
        Broker(config=config, mode="thread") as broker,
        WireClient(broker.address) as greedy,
        WireClient(broker.address, source="127.0.0.2") as honest,
    ):
        create_topic(honest, "t", partitions=2)
        assert [send(greedy, "t", 1_000 + i) for i in range(MOST)] == [NONE] * MOST
        # The second goes the short way of requests that are like an earlier one.
        assert [send(greedy, "t", 2_000), send(greedy, "t", 2_001)] == [REFUSED, REFUSED]
        assert send(greedy, "t", 1_000, partition=1) == REFUSED  # counted once a partition
        assert send(greedy, "t", 1_000, sequence=1) == NONE
        assert produce(greedy, "t", bytes(build_batch([RecordData(None, b"x")], timestamp_ms=1))).error_code == NONE
        assert [send(honest, "t", 3_000 + i) for i in range(MOST)] == [NONE] * MOST


def test_of_two_users_at_one_address_the_greedy_is_refused_and_the_other_served(tmp_path: Path) -> None:
    (tmp_path / "server.properties").write_text(
        "listeners=CLIENTS://127.0.0.1:0\n"
        "listener.security.protocol.map=CLIENTS:SASL_PLAINTEXT\n"
        "sasl.enabled.mechanisms=PLAIN\n"
        f'listener.name.clients.plain.sasl.jaas.config={PLAIN_MODULE} required user_greedy="g" user_honest="h";\n'
        f"shareq.max.groups.per.principal={MOST}\n"
        f"shareq.max.transactional.ids.per.principal={MOST}\n"
        f"shareq.max.producer.ids.per.principal={MOST}\n"
    )
    with (
        Broker(options=["--config", str(tmp_path / "server.properties")]) as broker,
        WireClient(broker.address) as greedy,
        WireClient(broker.address) as greedy_too,
        WireClient(broker.address) as honest,
    ):
        log_in(greedy, "greedy")
        log_in(greedy_too, "greedy")
        log_in(honest, "honest")
        create_topic(honest, "t")
        for user, again, wanted in ((greedy, greedy_too, [NO_GROUP, REFUSED, REFUSED]), (honest, honest, [NONE] * 3)):
            name = "honest" if user is honest else "greedy"
            most = MOST - (user is honest)
            made = [
                (
                    share(user, f"{name}-{i}"),
                    Transactor(user, transactional_id=f"{name}-{i}").init(),
                    send(user, "t", 1_000 * (1 + (user is honest)) + i),
                )
                for i in range(most)
            ]
            assert made == [(NONE, NONE, NONE)] * most
            one_more = [
                share(again, f"{name}-more"),
                Transactor(again, transactional_id=f"{name}-more").init(),
                send(again, "t", 5_000 + (user is honest)),
            ]
            assert one_more == wanted


def log_in(client: WireClient, user: str) -> None:
    assert client.call(SaslHandshakeRequest("PLAIN"), 1, SaslHandshakeResponse).error_code == NONE
    answer = client.call(SaslAuthenticateRequest(f"\0{user}\0{user[0]}".encode()), 2, SaslAuthenticateResponse)
    assert answer.error_code == NONE, answer
