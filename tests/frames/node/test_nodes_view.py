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
from shareq.cluster.forward.node_figures import figures_in, question, reply_in, request
from shareq.cluster.node.state_topics import GROUPS, STATES
from shareq.cluster.node.view import PATIENCE_MS, SILENT_MS
from shareq.protocol.generated.read_share_group_state_summary import ReadShareGroupStateSummaryResponse
from tests.frames.node.test_node import acquired, assigned
from tests.frames.node.test_several_owners import Two, coordinator_of
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


def asked(node: NodeWorld, path: str = "nodes", query: str = "", within_ms: int = PATIENCE_MS) -> Answer:
    async def ask() -> Answer:
        api = RecordsApi(node.services, TOKEN)
        request = Request("GET", f"/api/v1/{path}", query, {"authorization": f"Bearer {TOKEN}"})
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


def shown(node: NodeWorld, path: str = "nodes", query: str = "", kind: str = "nodes") -> Any:
    answer = asked(node, path, query)
    assert answer.status == "200 OK", answer
    value = json.loads(answer.body)
    Draft202012Validator({"$ref": f"#/$defs/{kind}", "$defs": SCHEMA["$defs"]}).validate(value)
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


# -- share groups over all nodes


def in_hand(two: Two) -> ShareClient:
    """Have a member hold three records of the topic, which is led by one node and coordinated by the other."""
    client = two.member()
    append(two.leader, two.topic, 5)
    at_leader = ShareClient(two.leader, client.member_id, two.group)
    assert acquired(at_leader, two.place, max_records=3) == [(0, 2, 1)]
    return client


def without_time(value: Any) -> Any:
    return {name: each for name, each in value.items() if name != "at_ms"}


def test_any_node_shows_a_group_with_what_the_leaders_of_its_topics_know(two: Two) -> None:
    client = in_hand(two)
    group = f"share-groups/{two.group}"
    records = f"{group}/topics/{two.topic}/partitions/0/records"
    answers = []
    for node in two.nodes:
        groups = shown(node, "share-groups", kind="share_groups")
        (row,) = groups["groups"]
        assert (row["group"], row["state"], row["members"], row["partitions"]) == (two.group, "Stable", 1, 1)
        assert (row["in_flight"], row["held"], row["lag"], row["deliveries"]) == (5, 3, 5, 3)
        assert (groups["missing"], groups["next"]) == ([], None)
        (member,) = shown(node, group, kind="share_group")["members"]
        assert (member["member"], member["assignment"]) == (client.member_id, {two.topic: [0]})
        partitions = shown(node, f"{group}/partitions", kind="partitions")
        (row,) = partitions["partitions"]
        assert (row["topic"], row["states"], row["held"]) == (
            two.topic,
            {"acquired": 3, "available": 2},
            {client.member_id: 3},
        )
        assert partitions["members"] == {client.member_id: {"client_id": member["client_id"], "host": member["host"]}}
        ranges = shown(node, records, "state=acquired", kind="records")
        assert [(each["first"], each["last"], each["member"]) for each in ranges["ranges"]] == [
            (0, 2, client.member_id)
        ]
        assert ranges["members"] == partitions["members"]
        del row["oldest_age_ms"]  # by the time of the question
        answers.append([without_time(each) for each in (groups, partitions, ranges)])
    assert answers[0] == answers[1]


def names_of(world: NodeWorld, count: int, skip: str) -> list[str]:
    """Return names of groups, of which either node coordinates some."""
    found = [f"g{number:02}" for number in range(count) if f"g{number:02}" != skip]
    assert len({coordinator_of(world, name) for name in found}) == 2
    return found


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_pages_over_all_nodes_have_each_group_once_and_in_order(two: Two, limit: int) -> None:
    names = names_of(two.first, 10, two.group)
    for name in names:
        owner = next(node for node in two.nodes if node.config.node_id == coordinator_of(two.first, name))
        assigned(ShareClient(owner, f"m-{name}", name), two.topic)
    for node in two.nodes:
        seen: list[str] = []
        after = ""
        while after is not None:
            answer = shown(node, "share-groups", f"after={after}&limit={limit}", kind="share_groups")
            assert len(answer["groups"]) <= limit
            seen += [row["group"] for row in answer["groups"]]
            after = answer["next"]
        assert seen == names


def test_pages_of_partitions_over_all_nodes_have_each_once_and_in_order(two: Two) -> None:
    other = two._topic_of(two.second)
    assigned(ShareClient(two.coordinator, "m", two.group), two.topic)
    assigned(ShareClient(two.coordinator, "n", two.group), other)
    for node in two.nodes:
        seen: list[tuple[str, int]] = []
        after = ""
        while after is not None:
            answer = shown(node, f"share-groups/{two.group}/partitions", f"after={after}&limit=1", kind="partitions")
            seen += [(row["topic"], row["partition"]) for row in answer["partitions"]]
            after = answer["next"]
        assert seen == sorted([(two.topic, 0), (other, 0)])


def test_a_node_without_an_answer_is_named_and_the_rest_is_shown(two: Two) -> None:
    in_hand(two)
    own = names_of(two.first, 10, two.group)
    mine = next(name for name in own if coordinator_of(two.first, name) == NODE_ID)
    assigned(ShareClient(two.first, "m", mine), two.topic)
    links = two.first.stands_on._nodes
    assert isinstance(links, AmongNodes)
    links.loses = 1
    answer = shown(two.first, "share-groups", kind="share_groups")
    assert [row["group"] for row in answer["groups"]] == [mine], "the other group's coordinator is missing"
    (missing,) = answer["missing"]
    assert (missing["node_id"], missing["address"]) == (OTHER, f"node-{OTHER}:9092")
    assert missing["problem"]
    sent = len(links.sent)
    refused = asked(two.first, f"share-groups/{two.group}")
    assert refused.status == "503 Service Unavailable"
    assert f"node {OTHER} at node-{OTHER}:9092: {missing['problem']}" in json.loads(refused.body)["error"]["message"]
    assert len(links.sent) == sent, "a silent node is not asked again at once"
    two.clock.advance(SILENT_MS)
    assert len(shown(two.first, "share-groups", kind="share_groups")["groups"]) == 2


def test_what_no_node_knows_is_not_found(two: Two) -> None:
    for node in two.nodes:
        for path in (
            "share-groups/none",
            "share-groups/none/partitions",
            "share-groups/none/topics/t/partitions/0/records",
        ):
            assert asked(node, path).status == "404 Not Found"
        assert asked(node, "share-groups", "limit=0").status == "400 Bad Request"
        assert asked(node, f"share-groups/{two.group}/partitions", "after=nowhere").status == "400 Bad Request"


def test_a_client_without_the_right_of_nodes_is_given_no_part_of_an_answer() -> None:
    node = NodeWorld(properties={"authorizer.class.name": STANDARD, "super.users": "User:nodes"})
    node.until_it_serves()
    answer = node.connect().call(question("/api/v1/share-groups?"), 1, ReadShareGroupStateSummaryResponse)
    assert reply_in(answer) is None
