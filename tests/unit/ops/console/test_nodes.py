"""The rows of nodes of the overview: owned slots as ranges, slots without an owner, nodes without an answer."""

from __future__ import annotations

from typing import Any

import pytest

from shareq.client.admin.groups import GroupListing
from shareq.client.errors import BrokerError, ClientError, Unreachable
from shareq.ops.console.views.nodes import groups_and_nodes
from shareq.ops.console.views.windows import Windows
from shareq.protocol.errors import ErrorCode

FIGURES = ("slots", "awaited", "take_overs", "lost", "share_partitions", "in_flight")


def node(node_id: int, *figures: int, problem: str | None = None) -> dict[str, Any]:
    known = dict(zip(FIGURES, figures or (None,) * len(FIGURES), strict=True))
    return {"node_id": node_id, "address": f"h:{node_id}", "version": "1", "zone": None, "problem": problem, **known}


class Groups:
    """The groups of an administrator, of whose brokers one is silent."""

    def found_soon(self, *, timeout_ms: int) -> tuple[list[GroupListing], dict[int, ClientError]]:
        return [GroupListing("g", "share", "Stable", "")], {2: Unreachable("broker 2 is silent")}


class OneAdmin:
    groups = Groups()


class Api:
    """A records API with one answer."""

    def __init__(self, answer: dict[str, Any] | ClientError) -> None:
        self._answer = answer

    def get(self, path: str, **query: str | int) -> dict[str, Any]:
        assert path == "/nodes"
        if isinstance(self._answer, ClientError):
            raise self._answer
        return self._answer


def slots(topic: str, *owners: int | None) -> list[dict[str, Any]]:
    return [{"topic": topic, "slot": slot, "node_id": owner, "epoch": 1} for slot, owner in enumerate(owners)]


def test_each_node_has_its_slots_and_the_last_row_those_of_nobody() -> None:
    seen = {
        "nodes": [node(1, 4, 0, 4, 0, 3, 7), node(2), node(3, 0, 2, 0, 0, 0, 0, problem="it is slow")],
        "slots": [*slots("__shareq_state", 1, 1, 2, 1), *slots("__shareq_groups", None, 1, 9)],
    }
    groups, silent, rows = groups_and_nodes(OneAdmin(), Windows(Api(seen)))  # type: ignore[arg-type]
    assert [each.group_id for each in groups] == ["g"]
    assert silent == {2: "broker 2 is silent"}
    shown = [(row["node"], row["slots"], row["in_flight"], row["owns"], row["problem"]) for row in rows]
    assert shown == [
        (1, 4, 7, "groups 1; state 0-1, 3", None),
        (2, None, None, "state 2", "broker 2 is silent"),
        (3, 0, 0, "", "it is slow"),
        ("no node", None, None, "groups 0, 2", None),
    ]


@pytest.mark.parametrize(
    "windows",
    [
        Windows(),
        Windows(Api(BrokerError(ErrorCode.RESOURCE_NOT_FOUND, "records API", "it serves alone"))),
        Windows(Api(Unreachable("no answer"))),
    ],
    ids=["no API", "no node", "no answer"],
)
def test_there_are_no_rows_without_an_answer_of_a_node(windows: Windows) -> None:
    assert groups_and_nodes(OneAdmin(), windows)[2] == []  # type: ignore[arg-type]


def test_partitions_say_whose_rows_are_missing() -> None:
    class Partial:
        def get(self, path: str, **query: str | int) -> dict[str, Any]:
            missing = [{"node_id": 2, "address": "h:2", "problem": "it is slow"}]
            return {"partitions": [{"topic": "t", "partition": 1}], "missing": missing}

    rows, missing = Windows(Partial()).partitions("g")
    assert list(rows) == [("t", 1)]
    assert missing == ["node 2 at h:2: it is slow"]
    assert Windows().partitions("g") == ({}, [])
