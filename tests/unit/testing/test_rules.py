from __future__ import annotations

import json

import pytest

from shareq.protocol.api_keys import ApiKey
from shareq.protocol.generated.offset_commit import OffsetCommitRequest, OffsetCommitRequestTopic
from shareq.protocol.generated.share_fetch import FetchTopic, ShareFetchRequest
from shareq.testing.inside.rules import Rule, api_of, code_of, names_group, names_topic


def test_apis_and_codes_have_kafkas_names() -> None:
    assert api_of("ShareFetch") is api_of("SHARE_FETCH") is ApiKey.SHARE_FETCH
    assert code_of("NOT_LEADER_OR_FOLLOWER") == code_of(6) == 6
    with pytest.raises(ValueError, match="ShareFetch,"):
        api_of("ShareFetching")
    with pytest.raises(ValueError, match="NO_SUCH_ERROR"):
        code_of("NO_SUCH_ERROR")


@pytest.mark.parametrize(
    ("nth", "times", "meant"), [(None, None, [1, 2, 3, 4]), (2, None, [2]), (None, 3, [1, 2, 3]), (4, None, [4])]
)
def test_which_of_the_requests_are_meant(nth: int | None, times: int | None, meant: list[int]) -> None:
    rule = Rule(1, ApiKey.PRODUCE, "disconnect", nth=nth, times=times)
    assert [seen for seen in range(1, 5) if rule.counts(seen)] == meant


def test_a_rule_is_the_same_when_it_arrives() -> None:
    rule = Rule(7, ApiKey.SHARE_FETCH, "delay", times=2, group="g", topic="t", client_id="c", seconds=1.5)
    assert Rule.from_json(json.loads(json.dumps(rule.to_json()))) == rule


def test_groups_and_topics_are_found_wherever_a_request_has_them() -> None:
    share = ShareFetchRequest(group_id="g", topics=[FetchTopic(topic_id=b"t" * 16, partitions=[])])
    assert names_group(share, "g")
    assert not names_group(share, "h")
    assert names_topic(share, "orders", b"t" * 16)
    assert not names_topic(share, "orders", b"u" * 16)
    commit = OffsetCommitRequest(group_id="g", topics=[OffsetCommitRequestTopic(name="orders", partitions=[])])
    assert names_topic(commit, "orders", None)
    assert not names_topic(commit, "parcels", None)
