"""The largest possible requests of every RPC with an array, and the longest turn of the loop that each causes.

    python -m tests.fuzz.largest [--part N] [--over MS] [API ...]

prints CPU, in ms, of the longest turn of each, without an authorizer and with one that allows or denies everything. A
request has one array of the length that `broker/dispatch/element_limits.py` allows (`--part`: an Nth of that), one
element in each array around it and within it, and none in the others.
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from devtools.clients.requests import batch
from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.dispatch.element_limits import largest_frame, most_elements
from shareq.broker.dispatch.table import HANDLERS
from shareq.broker.metadata.changes import PutAcl
from shareq.broker.security.acls import Acl, Operation, PatternType, Permission, ResourceKind
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.generated.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from shareq.protocol.generator.layout import FieldLayout, StructLayout
from shareq.protocol.generator.names import snake
from shareq.protocol.primitives import ZERO_UUID, Message, Structure
from tests.fuzz.facts import Facts
from tests.fuzz.pieces import fields_of
from tests.fuzz.requests import ValidRequests, known_request
from tests.fuzz.scenes import table as scenes
from tests.fuzz.scenes.picking import Scene
from tests.support.clients.access import STANDARD
from tests.support.kafka.random_messages import KnownMessage
from tests.support.metered_clock import MeteredClock

Path = tuple[str, ...]
"""The names of the fields that lead from the top to the long array."""

OFF, ALLOWS, DENIES = "off", "allows", "denies"
MODES: Final = (OFF, ALLOWS, DENIES)
HUGE: Final = "huge"
"""The name of a topic with `HUGE_PARTITIONS`; higher partitions do not exist."""
HUGE_PARTITIONS: Final = 10_000
NUMBERS: Final = 4  # in arrays, that count as one element
USER: Final = "User:alice"

_NO_LONGEST: Final = frozenset({ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE})
_TOPICS: Final = frozenset({"Topic", "TopicName", "Name", "ResourceName"})
_WAIT_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class Largest:
    """A request: the number of elements of its long array, and the frame, size included."""

    api: ApiKey
    version: int
    path: Path
    count: int
    frame: bytes

    def __str__(self) -> str:
        return f"{self.api.name} v{self.version} {'.'.join(self.path)} x {self.count:,}"


@dataclass(frozen=True, slots=True)
class Held:
    """The duration of the longest turn, and the request's outcome."""

    request: Largest
    mode: str
    longest_ns: int
    ticks: int
    outcome: str


def paths(api: ApiKey, version: int) -> list[Path]:
    def of(layout: StructLayout, before: Path) -> Iterator[Path]:
        for field in fields_of(layout):
            path = (*before, field.spec.name)
            if field.spec.type.array:
                yield path
            if field.struct is not None:
                yield from of(field.struct, path)

    return list(of(known_request(api).codec.layouts.by_version[version], ()))


class LargestRequests:
    def __init__(self, world: BrokerWorld) -> None:
        topic = world.services.metadata.topic(HUGE)
        assert topic is not None
        self._topic_id = topic.topic_id
        self._facts = Facts(Random(1))
        for known in self._facts.topics:
            known.name, known.topic_id, known.partitions = HUGE, topic.topic_id, topic.partitions
        self._valid = ValidRequests(self._facts)
        self._records = batch(b"x")

    def sized(self, connection: MockConnection, api: ApiKey, version: int, path: Path, count: int) -> Largest:
        return Largest(api, version, path, count, self._frame(connection, api, version, path, count))

    def make(self, connection: MockConnection, api: ApiKey, version: int, path: Path, part: int = 1) -> Largest:
        """Return the largest request with this array, or a `part`th of it, limited by elements and bytes."""
        layout = known_request(api).codec.layouts.by_version[version]
        numbers, inside = _weight(layout, path)
        around = len(path) - 1
        count = max(1, (most_elements(api) - around) * (NUMBERS if numbers else 1) // (1 + inside) // part)
        small = self._frame(connection, api, version, path, 100)
        each = max(1, (len(self._frame(connection, api, version, path, 1_100)) - len(small)) // 1_000 + 2)
        most = min(largest_frame(api), 100_000_000)
        count = min(count, (most - len(small)) // each)
        return Largest(api, version, path, count, self._frame(connection, api, version, path, count))

    def _frame(self, connection: MockConnection, api: ApiKey, version: int, path: Path, count: int) -> bytes:
        frame = connection.requests.frame_of(self._request(api, version, path, count), version)
        connection.requests.forget_last()
        return frame

    def _request(self, api: ApiKey, version: int, path: Path, count: int) -> Message:
        known = known_request(api)
        given = _GIVEN.get(api, {})
        make = scenes.REQUESTS.get(api)
        scene = {**(make(self._facts, version) if make is not None else {}), **given}
        made = self._struct(known, known.codec.layouts.by_version[version], scene, path, count, None)
        assert isinstance(made, Message)
        return made

    def _struct(
        self, known: KnownMessage, layout: StructLayout, scene: Scene, path: Path, count: int, index: int | None
    ) -> Structure:
        """Return a structure. `path`: the fields from here to the long array, empty inside it.

        `index`: the number of the long array's element that contains this.
        """
        made = known.class_of(layout.spec.name)()
        for field in fields_of(layout):
            name = field.spec.name
            value: Any
            if field.spec.type.array:
                value = self._array(known, field, scene, path, count, index)
            elif field.struct is not None:
                if not path and field.nullable:
                    continue
                value = self._struct(known, field.struct, scene, path[1:] if path[:1] == (name,) else (), count, index)
            elif field.tagged and name not in scene:
                continue
            else:
                value = self._scalar(known, field, scene, index)
            setattr(made, snake(name), value)
        return made

    def _array(
        self,
        known: KnownMessage,
        field: FieldLayout,
        scene: Scene,
        path: Path,
        count: int,
        index: int | None,
    ) -> list[Any]:
        long = path == (field.spec.name,)
        if path and path[0] != field.spec.name:
            return []
        numbers = range(count) if long else (0 if index is None else index,)
        if field.struct is None:
            return [self._element(field, each if long or index is not None else None) for each in numbers]
        return [
            self._struct(known, field.struct, scene, path[1:], count, each if long else index)
            for each in (numbers if long else (0,))
        ]

    def _element(self, field: FieldLayout, index: int | None) -> Any:
        match field.spec.type.element:
            case "string":
                return HUGE if index is None else f"n{index}"
            case "uuid":
                return self._topic_id if index is None else (index + 1).to_bytes(16, "big")
            case "bytes" | "records":
                return b"x"
            case "bool":
                return True
            case "int8":
                return 1
            case "int16":
                return (index or 0) % 30_000
            case _:
                return index or 0

    def _scalar(self, known: KnownMessage, field: FieldLayout, scene: Scene, index: int | None) -> Any:
        name, element = field.spec.name, field.spec.type.element
        if name in _ALWAYS:
            return _ALWAYS[name]
        if name in ("FirstOffset", "LastOffset"):
            return index or 0
        if name in scenes.PARTITION_FIELDS:
            return index or 0
        if element in ("string", "uuid") and index is not None and name not in ("Metadata", "ValueString"):
            return self._element(field, index)
        if name in _TOPICS:
            return HUGE
        if name == "TopicId":
            return self._topic_id
        if element == "records":
            return self._records
        value = self._valid._field(known, field, scene)
        if element == "uuid" and value is None:
            return ZERO_UUID
        return value


_ALWAYS: Final = {
    "Principal": "User:x",
    "ResourceType": 2,
    "ConfigOperation": 0,
    "TimeoutMs": 1_000,
    "timeoutMs": 1_000,
    "MaxWaitMs": 0,
}
_GIVEN: Final[dict[ApiKey, dict[str, Any]]] = {  # what makes a request get to the end
    ApiKey.OFFSET_COMMIT: {"GroupId": "g", "GenerationIdOrMemberEpoch": -1, "MemberId": "", "GroupInstanceId": None},
    ApiKey.TXN_OFFSET_COMMIT: {
        "GroupId": "g",
        "GenerationId": -1,
        "MemberId": "",
        "GroupInstanceId": None,
        "TransactionalId": "tx",
        "ProducerId": 0,
        "ProducerEpoch": 0,
    },
    ApiKey.ADD_PARTITIONS_TO_TXN: {
        "V3AndBelowTransactionalId": "tx",
        "V3AndBelowProducerId": 0,
        "V3AndBelowProducerEpoch": 0,
        "TransactionalId": "tx",
        "ProducerId": 0,
        "ProducerEpoch": 0,
        "VerifyOnly": False,
    },
    ApiKey.OFFSET_FETCH: {"GroupId": "g", "MemberId": None, "MemberEpoch": -1},
    ApiKey.OFFSET_DELETE: {"GroupId": "g"},
    ApiKey.LIST_OFFSETS: {"Timestamp": -1, "CurrentLeaderEpoch": -1},
    ApiKey.OFFSET_FOR_LEADER_EPOCH: {"CurrentLeaderEpoch": -1, "LeaderEpoch": 0},
    ApiKey.DELETE_RECORDS: {"Offset": -1},
    ApiKey.CREATE_ACLS: {"ResourcePatternType": 3, "Host": "*", "Operation": 3, "PermissionType": 3},
    ApiKey.FETCH: {"SessionId": 0, "SessionEpoch": -1, "MaxWaitMs": 0, "MinBytes": 0, "CurrentLeaderEpoch": -1},
    ApiKey.SHARE_FETCH: {"GroupId": "share", "MemberId": "m" * 22, "ShareSessionEpoch": 0, "MaxWaitMs": 0},
    ApiKey.SHARE_ACKNOWLEDGE: {"GroupId": "share", "MemberId": "m" * 22, "ShareSessionEpoch": -1},
    ApiKey.SHARE_GROUP_HEARTBEAT: {"GroupId": "share", "MemberId": "m" * 22, "MemberEpoch": 0},
    ApiKey.CONSUMER_GROUP_HEARTBEAT: {
        "GroupId": "c",
        "MemberId": "m" * 22,
        "MemberEpoch": 0,
        "RebalanceTimeoutMs": 1_000,
        "InstanceId": None,
    },
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: {"GroupId": "share"},
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: {"GroupId": "share", "StartOffset": 0},
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: {"GroupId": "share"},
    ApiKey.CREATE_TOPICS: {"NumPartitions": 1, "ReplicationFactor": 1, "ValidateOnly": False},
    ApiKey.CREATE_PARTITIONS: {"Count": HUGE_PARTITIONS + 1, "ValidateOnly": True},
    ApiKey.ALTER_CONFIGS: {"ValidateOnly": True},
    ApiKey.INCREMENTAL_ALTER_CONFIGS: {"ValidateOnly": True},
    ApiKey.ALTER_CLIENT_QUOTAS: {"ValidateOnly": True},
    ApiKey.UPDATE_FEATURES: {"ValidateOnly": True},
    ApiKey.PRODUCE: {"Acks": 1, "TransactionalId": None},
    ApiKey.JOIN_GROUP: {"GroupId": "j", "MemberId": "", "SessionTimeoutMs": 10_000, "RebalanceTimeoutMs": 10_000},
}


def _weight(layout: StructLayout, path: Path) -> tuple[bool, int]:
    """Return whether the array has numbers, and the number of nested elements in each of its elements."""
    (field,) = (each for each in fields_of(layout) if each.spec.name == path[0])
    if len(path) > 1:
        assert field.struct is not None
        return _weight(field.struct, path[1:])
    if field.struct is None:
        return field.spec.type.element not in ("string", "uuid", "bytes"), 0
    return False, _inside(field.struct)


def _inside(layout: StructLayout) -> int:
    total = 0
    for field in fields_of(layout):
        if field.spec.type.array:
            total += 1
        if field.struct is not None:
            total += _inside(field.struct)
    return total


def world_of(mode: str) -> BrokerWorld:
    properties = {"offsets.topic.num.partitions": "1", "share.coordinator.state.topic.num.partitions": "1"}
    properties |= {"transaction.state.log.num.partitions": "1", "group.initial.rebalance.delay.ms": "0"}
    if mode != OFF:
        properties |= {"authorizer.class.name": STANDARD, "super.users": "User:super"}
    world = BrokerWorld(properties, clock=MeteredClock())
    world.create_topic(HUGE, HUGE_PARTITIONS)
    if mode == ALLOWS:
        kinds = [kind for kind in ResourceKind if kind.name not in ("ANY", "UNKNOWN", "MATCH")]
        rights = [Acl(kind, "*", PatternType.LITERAL, USER, "*", Operation.ALL, Permission.ALLOW) for kind in kinds]
        rights.append(
            Acl(ResourceKind.CLUSTER, "kafka-cluster", PatternType.LITERAL, USER, "*", Operation.ALL, Permission.ALLOW)
        )
        world.services.metadata.alter_acls([PutAcl(acl) for acl in rights])
    return world


def client_of(world: BrokerWorld, mode: str) -> MockConnection:
    client = world.connect()
    if mode != OFF:
        client.side.principal = USER
    client.call(InitProducerIdRequest("tx", _WAIT_MS), 4, InitProducerIdResponse)
    return client


def held(world: BrokerWorld, mode: str, api: ApiKey, version: int, path: Path, part: int = 1) -> Held:
    clock = world.clock
    assert isinstance(clock, MeteredClock)
    client = client_of(world, mode)
    request = LargestRequests(world).make(client, api, version, path, part)
    gc.collect()
    gc_was_enabled = gc.isenabled()
    gc.disable()
    clock.longest_ns = ticks = 0
    try:
        clock.measured(lambda: client.send_raw(request.frame))
        while clock.run_tick():
            ticks += 1
        clock.advance(_WAIT_MS)
    finally:
        if gc_was_enabled:
            gc.enable()
    longest_ns = clock.longest_ns
    outcome = "closed" if client.closed else "no answer" if not client.frames else f"{len(client.frames[0]):,} bytes"
    client.disconnect()
    clock.run_until_idle()
    return Held(request, mode, longest_ns, ticks, outcome)


def largest(apis: Sequence[ApiKey] = ()) -> Iterator[tuple[ApiKey, int, Path]]:
    """Yield every array of every RPC, in the last and in the first version that has the array."""
    for api in apis or HANDLERS:
        if api in _NO_LONGEST or not known_request(api).versions:
            continue
        served = HANDLERS[api].served
        versions = {served.last: paths(api, served.last)}
        if served.first != served.last:
            versions[served.first] = [path for path in paths(api, served.first) if path not in versions[served.last]]
        for version, found in versions.items():
            for path in found:
                yield api, version, path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("apis", nargs="*", metavar="API", help="as OFFSET_COMMIT; all without")
    parser.add_argument("--part", type=int, default=1, help="an Nth of the largest")
    parser.add_argument("--over", type=float, default=0, help="only turns longer than so many ms")
    given = parser.parse_args()
    print(f"| request | {' | '.join(MODES)} | turns | answer |")
    print("| --- | ---: | ---: | ---: | ---: | --- |")
    for api, version, path in largest([ApiKey[name] for name in given.apis]):
        row = [held(world_of(mode), mode, api, version, path, given.part) for mode in MODES]
        if max(each.longest_ns for each in row) >= given.over * 1e6:
            times = " | ".join(f"{each.longest_ns / 1e6:.1f}" for each in row)
            print(f"| {row[0].request} | {times} | {row[0].ticks:,} | {row[0].outcome} |", flush=True)


if __name__ == "__main__":
    main()
