"""DescribeClientQuotas: nothing is limited here, and filters are checked all the same. KIP-546."""

from __future__ import annotations

import pytest

from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from tests.support.worlds.admin_world import World


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize(
    "components",
    [
        [],
        [ComponentData("user", 0, "alice")],
        [ComponentData("user", 1, None), ComponentData("client-id", 2, None)],
        [ComponentData("ip", 0, "1.2.3.4")],
    ],
)
def test_there_are_no_quotas(version: int, components: list[ComponentData]) -> None:
    answer = World().call(DescribeClientQuotasResponse, DescribeClientQuotasRequest(components, False), version)
    assert (answer.error_code, answer.error_message, answer.entries) == (ErrorCode.NONE, None, [])


@pytest.mark.parametrize(
    ("components", "error"),
    [
        ([ComponentData("", 2, None)], ErrorCode.INVALID_REQUEST),
        ([ComponentData("user", 2, None)] * 2, ErrorCode.INVALID_REQUEST),
        ([ComponentData("user", 2, None), ComponentData("ip", 2, None)], ErrorCode.INVALID_REQUEST),
        ([ComponentData("user", 0, None)], ErrorCode.INVALID_REQUEST),
        ([ComponentData("user", 1, "alice")], ErrorCode.INVALID_REQUEST),
        ([ComponentData("user", 3, None)], ErrorCode.INVALID_REQUEST),
        ([ComponentData("planet", 2, None)], ErrorCode.UNSUPPORTED_VERSION),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused(components: list[ComponentData], error: ErrorCode) -> None:
    answer = World().call(DescribeClientQuotasResponse, DescribeClientQuotasRequest(components, False), 1)
    assert (answer.error_code, answer.entries) == (error, None)
