"""Names of maximal length: an error message that repeats one would be longer, so it is truncated."""

from __future__ import annotations

import logging

import pytest

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.dispatch.response_errors import LONGEST_MESSAGE, shorten_messages
from shareq.protocol.api_keys import codec
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import alter_client_quotas
from shareq.protocol.generated.alter_client_quotas import AlterClientQuotasRequest
from shareq.protocol.generated.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from shareq.protocol.generated.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from shareq.protocol.generated.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from shareq.protocol.generated.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from shareq.protocol.generated.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from shareq.protocol.primitives import Message
from tests.fuzz.oracle import errors_in

LONG = "x" * 32_767


def of_a_kind(name: str) -> alter_client_quotas.AlterClientQuotasRequestEntryData:
    entity = alter_client_quotas.AlterClientQuotasRequestEntityData(name, "x")
    return alter_client_quotas.AlterClientQuotasRequestEntryData([entity], [])


REQUESTS: list[tuple[Message, int]] = [
    (UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey(LONG, 1)]), 0),
    (UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey(LONG, 1)]), 2),
    (DescribeClientQuotasRequest([ComponentData(LONG, 0, "x")]), 0),
    (DescribeClientQuotasRequest([ComponentData(LONG, 0, "x")]), 1),
    (AlterClientQuotasRequest([of_a_kind(LONG)]), 0),
    (AlterClientQuotasRequest([of_a_kind(LONG)]), 1),
    (DescribeUserScramCredentialsRequest([UserName(LONG), UserName(LONG)]), 0),
    (ConsumerGroupDescribeRequest([LONG]), 1),
]


@pytest.mark.parametrize(("request_", "version"), REQUESTS, ids=lambda value: getattr(value, "__class__", int).__name__)
def test_a_long_name_is_answered_with_an_error_of_its_own(
    request_: Message, version: int, caplog: pytest.LogCaptureFixture
) -> None:
    client = BrokerWorld().connect()
    with caplog.at_level(logging.ERROR):
        response = client.call(request_, version, codec(request_.API_KEY).response_class)
    assert set(errors_in(response)) - {ErrorCode.NONE, ErrorCode.UNKNOWN_SERVER_ERROR}
    assert ErrorCode.UNKNOWN_SERVER_ERROR not in set(errors_in(response))
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.parametrize("version", [1, 4])  # lengths of two bytes, and compact ones
def test_long_messages_of_an_answer_in_parts_are_cut(version: int) -> None:
    client = BrokerWorld().connect()
    named = [DescribeConfigsResource(kind, LONG, None) for kind in (2, 4)]
    resources = [*named, *(DescribeConfigsResource(99, str(i)) for i in range(400))]
    client.send(DescribeConfigsRequest(resources), version)
    rows = client.receive(DescribeConfigsResponse).results
    assert len(rows) == 402
    assert {row.error_code for row in rows} & {ErrorCode.INVALID_REQUEST}
    assert all(len(row.error_message or "") <= 32_767 for row in rows)
    assert any((row.error_message or "").endswith("…") for row in rows)


def test_only_what_is_too_long_is_cut() -> None:
    groups = [DescribedGroup(error_message="short"), DescribedGroup(error_message="y" * 40_000)]
    response = ConsumerGroupDescribeResponse(groups=groups)
    assert shorten_messages(response)
    assert [group.error_message for group in groups] == ["short", "y" * (LONGEST_MESSAGE - 1) + "…"]
    assert not shorten_messages(response)
