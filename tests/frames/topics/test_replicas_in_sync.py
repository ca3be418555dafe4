"""One broker with Apache Kafka's default of two replicas in sync: all works, as on one broker of Apache Kafka."""

from __future__ import annotations

from devtools.clients.requests import batch, produce_request
from devtools.in_memory.mock_transport import BrokerWorld
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.generated.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from shareq.protocol.generated.produce import ProduceResponse
from tests.support.clients.share_client import ShareClient

TWO = {
    "min.insync.replicas": "2",
    "transaction.state.log.min.isr": "2",
    "share.coordinator.state.topic.min.isr": "2",
}


def coordinator_error(world: BrokerWorld, key: str, key_type: int) -> ErrorCode:
    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
    (row,) = world.connect().call(request, 4, FindCoordinatorResponse).coordinators
    return ErrorCode(row.error_code)


def test_share_groups_work() -> None:
    world = BrokerWorld(TWO)
    world.create_topic("t")
    assert coordinator_error(world, "g", 0) is ErrorCode.NONE
    assert ShareClient(world).join("t") == {"t": [0]}


def test_transactions_work() -> None:
    world = BrokerWorld(TWO)
    assert coordinator_error(world, "tx", 1) is ErrorCode.NONE
    answer = world.connect().call(InitProducerIdRequest("tx", 60_000), 4, InitProducerIdResponse)
    assert answer.error_code == ErrorCode.NONE


def test_records_of_topics_that_ask_for_two_are_taken_with_acks_all() -> None:
    world = BrokerWorld(TWO)
    topics = [world.create_topic("t"), world.create_topic("own", 1, **{"min.insync.replicas": "2"})]
    for topic in topics:
        request = produce_request(batch(b"x"), topic=topic.name, acks=-1)
        answer = world.connect().call(request, 11, ProduceResponse)
        assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE
