"""Configs of topics, groups, brokers and client metrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from shareq.client.admin.calls import Calls, Outcome, answered, batched, refused
from shareq.client.errors import BrokerError, ClientError
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from shareq.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from shareq.protocol.generated.list_config_resources import ListConfigResourcesRequest, ListConfigResourcesResponse
from shareq.protocol.primitives import Message

KINDS: Final[dict[str, int]] = {"topic": 2, "broker": 4, "broker-logger": 8, "client-metrics": 16, "group": 32}
"""Kinds of resources, by our names for Kafka's numbers. The broker named "" stands for all brokers."""
_NAMES: Final = {number: name for name, number in KINDS.items()}
_AT_BROKER: Final = (KINDS["broker"], KINDS["broker-logger"])
_LONGEST_ID: Final = 10  # of a broker, in digits: `int` refuses very long ones
SOURCES: Final[dict[int, str]] = {
    1: "topic",
    2: "broker",
    3: "all-brokers",
    4: "file",
    5: "default",
    6: "broker-logger",
    7: "client-metrics",
    8: "group",
}
TYPES: Final[dict[int, str]] = {
    1: "boolean",
    2: "string",
    3: "int",
    4: "short",
    5: "long",
    6: "double",
    7: "list",
    8: "class",
    9: "password",
}
_SET, _DELETE, _APPEND, _SUBTRACT = range(4)

Resource = tuple[str, str]
"""Kind and name."""


class Config(NamedTuple):
    """One config. `value` is None if it is null or secret; `source` says where it was set, `default` if nowhere."""

    name: str
    value: str | None
    source: str
    kind: str
    read_only: bool
    sensitive: bool
    documentation: str | None


class Change(NamedTuple):
    """The changes to a resource: values set, names deleted, and words added to or removed from lists."""

    set: Mapping[str, str] = {}
    delete: Sequence[str] = ()
    append: Mapping[str, str] = {}
    subtract: Mapping[str, str] = {}


class Configs:
    """The configs of a cluster's resources."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def describe(
        self, resources: Iterable[Resource], names: Sequence[str] | None = None, *, documentation: bool = False
    ) -> Iterator[tuple[Resource, Outcome[tuple[Config, ...]]]]:
        """Return configs of resources, by name; only those in `names`, if given."""

        def ask(some: list[Resource]) -> Message:
            wanted = None if names is None else list(names)
            rows = [DescribeConfigsResource(KINDS[kind], name, wanted) for kind, name in some]
            return DescribeConfigsRequest(rows, False, documentation)

        for some in batched(resources):
            described = answered(DescribeConfigsResponse, _described)
            yield from self._calls.each(some, self._routes, ask, described).items()

    def alter(self, changes: Mapping[Resource, Change], *, dry_run: bool = False) -> dict[Resource, Outcome[bool]]:
        """Change configs, all of a resource or none. `dry_run`: the broker checks everything and changes nothing."""

        def ask(some: list[Resource]) -> Message:
            rows = [AlterConfigsResource(KINDS[kind], name, _alterable(changes[kind, name])) for kind, name in some]
            return IncrementalAlterConfigsRequest(rows, dry_run)

        return self._calls.each(changes, self._routes, ask, answered(IncrementalAlterConfigsResponse, _altered))

    def resources(self, kinds: Sequence[str] = ()) -> list[Resource]:
        """Return resources of these kinds (default: all) that exist or have configs. Needs Apache Kafka 4.1."""
        answer = self._calls.any(
            ListConfigResourcesRequest([KINDS[kind] for kind in kinds]),
            ListConfigResourcesResponse,
            "config resources",
            min_version=1,
        )
        return [(_NAMES.get(row.resource_type, "unknown"), row.resource_name) for row in answer.config_resources]

    def _routes(
        self, resources: Sequence[Resource], left_ms: int
    ) -> tuple[dict[int, list[Resource]], dict[Resource, ClientError]]:
        """Send a broker's own configs to that broker, all others to one that accepts changes."""
        brokers = self._calls.network.brokers(timeout_ms=left_ms)
        anywhere = self._calls.network.controller()
        if anywhere not in brokers:
            anywhere = min(brokers)
        nodes: dict[int, list[Resource]] = {}
        failures: dict[Resource, ClientError] = {}
        for kind, name in resources:
            if KINDS[kind] not in _AT_BROKER or not name:
                nodes.setdefault(anywhere, []).append((kind, name))
            elif name.isdecimal() and len(name) <= _LONGEST_ID and int(name) in brokers:
                nodes.setdefault(int(name), []).append((kind, name))
            else:
                ids = ", ".join(map(str, sorted(brokers)))
                failures[kind, name] = BrokerError(
                    ErrorCode.INVALID_REQUEST, f"{kind} {name}", f"There is no such broker; there are {ids}."
                )
        return nodes, failures


def _alterable(change: Change) -> list[AlterableConfig]:
    rows = [AlterableConfig(name, _SET, value) for name, value in change.set.items()]
    rows += [AlterableConfig(name, _DELETE, None) for name in change.delete]
    rows += [AlterableConfig(name, _APPEND, value) for name, value in change.append.items()]
    return rows + [AlterableConfig(name, _SUBTRACT, value) for name, value in change.subtract.items()]


def _what(kind: int, name: str) -> str:
    return f"{_NAMES.get(kind, kind)} {name or 'default'}"


def _described(answer: DescribeConfigsResponse) -> dict[Resource, Outcome[tuple[Config, ...]]]:
    return {
        (_NAMES[row.resource_type], row.resource_name): refused(
            row.error_code, _what(row.resource_type, row.resource_name), row.error_message
        )
        or tuple(_config(each) for each in sorted(row.configs, key=lambda one: one.name))
        for row in answer.results
    }


def _config(row: DescribeConfigsResourceResult) -> Config:
    return Config(
        name=row.name,
        value=row.value,
        source=SOURCES.get(row.config_source, "unknown"),
        kind=TYPES.get(row.config_type, "unknown"),
        read_only=row.read_only,
        sensitive=row.is_sensitive,
        documentation=row.documentation or None,
    )


def _altered(answer: IncrementalAlterConfigsResponse) -> dict[Resource, Outcome[bool]]:
    return {
        (_NAMES[row.resource_type], row.resource_name): refused(
            row.error_code, _what(row.resource_type, row.resource_name), row.error_message
        )
        or True
        for row in answer.responses
    }
