from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.http.server import Answer, Request
from shareq.broker.records_api.api import RecordsApi
from shareq.broker.topics.nodes import NodeFigures
from shareq.cluster.forward.node_figures import figures_in, request
from shareq.cluster.node.state_topics import GROUPS, STATES
from shareq.cluster.node.view import PATIENCE_MS
from shareq.protocol.generated.read_share_group_state_summary import ReadShareGroupStateSummaryResponse
from tests.frames.node.test_node import acquired
from tests.frames.node.test_several_owners import Two
from tests.support.clients.share_client import ShareClient, append
from tests.support.cluster.among_nodes import AmongNodes
from tests.support.cluster.node_world import NODE_ID, SLOTS, NodeWorld

STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
TOKEN = "0123456789abcdef-operator"
SCHEMA = json.loads((Path(__file__).parents[3] / "docs/records-api.schema.json").read_text())
OTHER = NODE_ID + 1


@pytest.fixture
def two() -> Two:
    return Two()


def asked(node: NodeWorld, within_ms: int = PATIENCE_MS) -> Answer:
    async def ask() -> Answer:
        api = RecordsApi(node.services, TOKEN)
        request = Request("GET", "/api/v1/nodes", "", {"authorization": f"Bearer {TOKEN}"})
        answer = asyncio.ensure_future(api.handle(request))
        for _ in range(within_ms):
            await asyncio.sleep(0)
            if answer.done():
                break
            node.clock.advance(1)
        await asyncio.sleep(0)
        assert answer.done(), f"no answer within {within_ms} ms"
        return answer.result()

    return asyncio.run(ask())


def shown(node: NodeWorld) -> Any:
    answer = asked(node)
    assert answer.status == "200 OK", answer
    value = json.loads(answer.body)
    Draft202012Validator({"$ref": "#/$defs/nodes", "$defs": SCHEMA["$defs"]}).validate(value)
    return value


def test_either_node_shows_both_with_what_is_in_flight_and_the_owners_of_all_slots(two: Two) -> None:
    client = two.member()
    append(two.leader, two.topic, 3)
    at_leader = ShareClient(two.leader, client.member_id, two.group)
    assert acquired(at_leader, two.place) == [(0, 2, 1)]
    views = [shown(node) for node in two.nodes]
    for view in views:
        first, second = view["nodes"]
        assert (first["node_id"], second["node_id"]) == (NODE_ID, OTHER)
        assert (first["in_flight"], first["share_partitions"]) == (3, 1)
        assert (second["in_flight"], second["share_partitions"]) == (0, 0)
        for each in (first, second):
            assert (each["problem"], each["slots"], each["awaited"]) == (None, SLOTS, 0)
        assert second["take_overs"] == SLOTS
        assert [row["topic"] for row in view["slots"]] == [GROUPS] * SLOTS + [STATES] * SLOTS
        for node in two.nodes:
            own = {(row["topic"], row["slot"]) for row in view["slots"] if row["node_id"] == node.config.node_id}
            assert own == set(node.stands_on.ownership.holds)
    assert views[0]["generation"] == views[1]["generation"] >= 1


def test_epochs_are_those_of_the_last_take_over(two: Two) -> None:
    (view,) = (shown(two.first),)
    epochs = {(row["topic"], row["slot"]): row["epoch"] for row in view["slots"]}
    for slot, epoch in two.first.stands_on.ownership.holds.items():
        assert epochs[slot] == epoch


def test_a_node_that_does_not_answer_is_shown_as_such_in_bounded_time(two: Two) -> None:
    links = two.first.stands_on._nodes
    assert isinstance(links, AmongNodes)
    links.loses = 1
    first, second = shown(two.first)["nodes"]
    assert (first["problem"], first["slots"]) == (None, SLOTS)
    assert second["problem"]
    assert {second[name] for name in NodeFigures._fields} == {None}
    assert second["address"] == f"node-{OTHER}:9092"
    assert shown(two.first)["nodes"][1]["problem"] is None, "the next question is answered"


def test_a_single_node_shows_itself() -> None:
    node = NodeWorld()
    node.until_it_serves()
    view = shown(node)
    (only,) = view["nodes"]
    assert (only["node_id"], only["slots"]) == (NODE_ID, 2 * SLOTS)
    assert {row["node_id"] for row in view["slots"]} == {NODE_ID}


def test_a_client_without_the_right_of_nodes_is_given_no_figures() -> None:
    """An operator's figures are shown to no other client, and neither are states."""
    node = NodeWorld(properties={"authorizer.class.name": STANDARD, "super.users": "User:nodes"})
    node.until_it_serves()
    answer = node.connect().call(request(), 1, ReadShareGroupStateSummaryResponse)
    assert figures_in(answer) is None


def test_a_broker_that_serves_alone_has_no_nodes() -> None:
    api = RecordsApi(BrokerWorld().services, TOKEN)
    asked_for = Request("GET", "/api/v1/nodes", "", {"authorization": f"Bearer {TOKEN}"})
    assert asyncio.run(api.handle(asked_for)).status == "404 Not Found"
