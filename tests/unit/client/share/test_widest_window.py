"""The in-flight limit of a share group: the largest that a broker allows, unless an administrator has set one."""

from __future__ import annotations

import logging

import pytest

from shareq.client.admin import Admin
from shareq.client.errors import Unreachable
from shareq.client.share.widest_window import LARGEST, widen
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from shareq.protocol.generated.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from shareq.protocol.names import PARTITION_MAX_RECORD_LOCKS
from shareq.protocol.primitives import Message
from tests.support.fakes.scripted_peer import HangUp
from tests.support.fakes.scripted_world import World

GROUP, BROKER = 32, 4
OF_GROUP, BY_DEFAULT = 8, 5


class Cluster:
    """A broker with these configs. `refuses`: its error for changes; `hides`: its error for queries of its own
    configs.
    """

    def __init__(self, world: World, own: str | None = None, largest: str | None = "4000") -> None:
        self.own = own
        self.largest = largest
        self.refuses = ErrorCode.NONE
        self.hides = ErrorCode.NONE
        self.asked: list[str] = []
        broker = world.broker(1)
        broker.scripts[ApiKey.DESCRIBE_CONFIGS] = self.describe
        broker.scripts[ApiKey.INCREMENTAL_ALTER_CONFIGS] = self.alter
        self.admin = Admin(world.network(broker))

    def describe(self, request: Message) -> Message:
        assert isinstance(request, DescribeConfigsRequest)
        (row,) = request.resources
        if row.resource_type == GROUP:
            source = BY_DEFAULT if self.own is None else OF_GROUP
            value = self.own or "2000"
            found = [DescribeConfigsResourceResult(PARTITION_MAX_RECORD_LOCKS, value, config_source=source)]
            return DescribeConfigsResponse(results=[_result(GROUP, row.resource_name, ErrorCode.NONE, found)])
        assert (row.resource_type, row.resource_name, row.configuration_keys) == (BROKER, "1", [LARGEST])
        known = [] if self.largest is None else [DescribeConfigsResourceResult(LARGEST, self.largest)]
        return DescribeConfigsResponse(results=[_result(BROKER, "1", self.hides, known)])

    def alter(self, request: Message) -> Message:
        assert isinstance(request, IncrementalAlterConfigsRequest)
        (row,) = request.resources
        (config,) = row.configs
        assert (row.resource_type, config.name) == (GROUP, PARTITION_MAX_RECORD_LOCKS)
        self.asked.append(config.value or "")
        return IncrementalAlterConfigsResponse(
            responses=[AlterConfigsResourceResponse(self.refuses, None, GROUP, row.resource_name)]
        )


def _result(
    kind: int, name: str, error: ErrorCode, configs: list[DescribeConfigsResourceResult]
) -> DescribeConfigsResult:
    return DescribeConfigsResult(error, None, kind, name, [] if error else configs)


@pytest.mark.parametrize("largest", ["4000", "1000000"])
def test_a_group_gets_what_the_broker_allows(world: World, largest: str) -> None:
    cluster = Cluster(world, largest=largest)
    assert widen(cluster.admin, "g") == int(largest)
    assert cluster.asked == [largest]


def test_a_window_that_was_set_stays(world: World) -> None:
    cluster = Cluster(world, own="500")
    assert widen(cluster.admin, "g") is None
    assert cluster.asked == []


@pytest.mark.parametrize("largest", ["10000", None], ids=["not to be asked", "not known there"])
def test_what_is_usual_is_asked_for_where_the_broker_does_not_say(world: World, largest: str | None) -> None:
    cluster = Cluster(world, largest=largest)
    cluster.hides = ErrorCode.CLUSTER_AUTHORIZATION_FAILED if largest else ErrorCode.NONE
    assert widen(cluster.admin, "g") == 4000
    assert cluster.asked == ["4000"]


@pytest.mark.parametrize("code", [ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.INVALID_CONFIG])
def test_a_refusal_is_quiet(world: World, code: ErrorCode, caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster(world)
    cluster.refuses = code
    with caplog.at_level(logging.INFO, "shareq.client.share.widest_window"):
        assert widen(cluster.admin, "g") is None
    (line,) = caplog.records
    assert line.levelno == logging.INFO
    assert code.name in line.getMessage()


def test_a_lost_broker_is_reported(world: World) -> None:
    cluster = Cluster(world)

    def hang_up(request: Message) -> Message:
        raise HangUp

    world.nodes[1].scripts[ApiKey.INCREMENTAL_ALTER_CONFIGS] = hang_up
    with pytest.raises(Unreachable):
        widen(cluster.admin, "g")
