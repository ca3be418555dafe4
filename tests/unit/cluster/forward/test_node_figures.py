"""A node's figures in tagged fields of ReadShareGroupStateSummary."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shareq.broker.topics.nodes import NodeFigures
from shareq.cluster.forward.node_figures import answer, are_asked_for, figures_in, request
from shareq.cluster.forward.state_changes import TAG, Reach
from shareq.protocol.generated.read_share_group_state_summary import (
    ReadShareGroupStateSummaryRequest,
    ReadShareGroupStateSummaryResponse,
)
from shareq.protocol.primitives import Tags

INT32, INT64 = st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1)


@given(st.builds(NodeFigures, INT32, INT32, INT64, INT64, INT32, INT64))
def test_figures_arrive_as_they_were(figures: NodeFigures) -> None:
    assert figures_in(answer(figures)) == figures


def test_only_a_request_that_asks_is_answered_with_them() -> None:
    assert are_asked_for(request())
    assert not are_asked_for(ReadShareGroupStateSummaryRequest("", []))
    assert not are_asked_for(ReadShareGroupStateSummaryRequest("", [], ((TAG, b"\2"),)))


@pytest.mark.parametrize("tags", [(), ((TAG, b""),), ((TAG, b"\1"),), Reach(1, 2).tags(), ((TAG, b"\2" + bytes(36)),)])
def test_what_is_not_understood_is_no_figures(tags: Tags) -> None:
    assert figures_in(ReadShareGroupStateSummaryResponse([], tags)) is None
