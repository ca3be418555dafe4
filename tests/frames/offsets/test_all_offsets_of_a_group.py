"""KIP-88: all offsets of a group in one OffsetFetch, and its top-level error; checked by bytes where necessary."""

from __future__ import annotations

import pytest

from devtools.clients.offsets_client import NO_OFFSET, NONE, OffsetsClient, Row
from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.dispatch.table import HANDLERS
from shareq.coordinator.routing import group_partition_for
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.framing import frame
from shareq.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from shareq.protocol.generated.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.generated.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from shareq.protocol.names import CONSUMER_OFFSETS
from tests.support.clients.classic_client import ClassicClient, form
from tests.support.fakes.host import ELSEWHERE

T0, T1, U0 = ("t", 0), ("t", 1), ("u", 0)
HEADER = "0009 {version:04x} 00000007 ffff"
"""The bytes of a header: API key, version, correlation id, no client id."""


class World:
    def __init__(self) -> None:
        self.broker_world = BrokerWorld()
        topics = [self.broker_world.create_topic(name, 2) for name in ("t", "u")]
        self.connection: MockConnection = self.broker_world.connect()
        self.offsets = OffsetsClient(self.connection, {topic.name: topic.topic_id for topic in topics})

    def exchange(self, version: int, body: str) -> str | None:
        """Send a request given as hex, and return the body of the answer as hex; None if the connection is closed."""
        header = HEADER.format(version=version) + ("00" if version >= 6 else "")
        self.connection.send_raw(frame(bytes.fromhex(header + body)))
        self.broker_world.clock.run_until_idle()
        if self.connection.closed:
            return None
        answer = self.connection.frames.popleft().hex()
        assert answer[:8] == "00000007"
        return answer[8:]


@pytest.fixture
def world() -> World:
    return World()


def hexed(text: str) -> str:
    return text.replace(" ", "")


G = "0001 67"
UNKNOWN_GROUP = "0001 78"


# -- Version 1


def test_version_1_by_its_bytes(world: World) -> None:
    """Version 1 has the group id and topics, no throttle time, and no top-level error."""
    world.offsets.committed({T0: Row(5, metadata="me", leader_epoch=3)})
    answer = world.exchange(1, f"{G} 00000001 0001 74 00000002 00000000 00000001")
    assert answer == hexed(
        "00000001 0001 74 00000002  00000000 0000000000000005 0002 6d65 0000  00000001 ffffffffffffffff 0000 0000"
    )


def test_version_1_takes_no_null_list() -> None:
    assert World().exchange(1, f"{G} ffffffff") is None


@pytest.mark.parametrize("group", [G, UNKNOWN_GROUP], ids=["group", "no group"])
def test_version_1_with_an_empty_list(group: str, world: World) -> None:
    world.offsets.committed({T0: 5})
    assert world.exchange(1, f"{group} 00000000") == "00000000"


def test_version_1_has_errors_of_the_group_in_every_row(world: World) -> None:
    world.offsets.committed({T0: 5})
    move_away(world)
    answer = world.exchange(1, f"{G} 00000001 0001 74 00000001 00000000")
    assert answer == hexed("00000001 0001 74 00000001 00000000 ffffffffffffffff 0000 0010")
    assert world.exchange(1, f"{G} 00000000") == "00000000"


# -- Version 2 and later


def test_version_2_by_its_bytes(world: World) -> None:
    """A null list has length -1; the top-level error follows the array."""
    world.offsets.committed({T0: 5, T1: 6, U0: Row(7, metadata="me")})
    assert world.exchange(2, f"{G} ffffffff") == hexed(
        "00000002"
        "  0001 74 00000002 00000000 0000000000000005 0000 0000 00000001 0000000000000006 0000 0000"
        "  0001 75 00000001 00000000 0000000000000007 0002 6d65 0000"
        "0000"
    )


def test_version_2_with_an_error_by_its_bytes(world: World) -> None:
    world.offsets.committed({T0: 5})
    move_away(world)
    for topics in ("ffffffff", "00000000", "00000001 0001 74 00000001 00000000"):
        assert world.exchange(2, f"{G} {topics}") == hexed("00000000 0010"), "an empty array, and not a null one"


@pytest.mark.parametrize("version", range(2, 11))
def test_all_offsets_in_every_version(version: int, world: World) -> None:
    world.offsets.committed({T0: 5, T1: 6, U0: Row(7, metadata="me", leader_epoch=2)})
    epoch = 2 if version >= 5 else -1
    assert world.offsets.fetch(None, version) == (NONE, {T0: Row(5), T1: Row(6), U0: Row(7, NONE, "me", epoch)})


@pytest.mark.parametrize("version", range(2, 11))
def test_an_empty_list_asks_for_nothing(version: int, world: World) -> None:
    world.offsets.committed({T0: 5})
    assert world.offsets.fetch([], version) == (NONE, {})


@pytest.mark.parametrize("version", range(2, 11))
def test_no_offsets_and_no_error(version: int, world: World) -> None:
    world.offsets.committed({T0: 5}, group="other")
    assert world.offsets.fetch(None, version) == (NONE, {})


@pytest.mark.parametrize("version", range(1, 11))
def test_a_named_partition_without_an_offset(version: int, world: World) -> None:
    world.offsets.committed({T0: 5})
    assert world.offsets.fetch([T0, T1, U0], version) == (NONE, {T0: Row(5), T1: NO_OFFSET, U0: NO_OFFSET})


@pytest.mark.parametrize("version", range(2, 11))
def test_errors_of_the_coordinator_stand_above_an_empty_list(version: int, world: World) -> None:
    world.offsets.committed({T0: 5})
    move_away(world)
    for at in (None, [T0], []):
        assert world.offsets.fetch(at, version) == (ErrorCode.NOT_COORDINATOR, {})


def test_errors_of_partitions_stay_with_their_partitions(world: World) -> None:
    """A missing topic is reported in its rows: version 10 has only topic ids."""
    world.offsets.committed({T0: 5})
    world.offsets.ids["nowhere"] = bytes(range(16))
    error, rows = world.offsets.fetch([T0, ("nowhere", 0)], 10)
    assert (error, rows) == (NONE, {T0: Row(5), ("nowhere", 0): Row(-1, ErrorCode.UNKNOWN_TOPIC_ID)})


def test_nobody_is_answered_while_the_coordinator_loads(world: World) -> None:
    """Loading ends before the first request is read, so that no client sees error 14."""
    world.offsets.committed({T0: 5})
    move_away(world)
    world.broker_world.leaders.move(CONSUMER_OFFSETS, partition_of(world), None)
    assert world.offsets.fetch(None, 2) == (NONE, {T0: Row(5)})
    world.broker_world.restart()
    world.offsets.client = world.broker_world.connect()
    assert world.offsets.fetch(None, 2) == (NONE, {T0: Row(5)})


def test_reading_offsets_makes_no_group_and_no_member(world: World) -> None:
    world.offsets.committed({T0: 5})
    before = described(world, "g")
    for version in range(2, 11):
        world.offsets.fetch(None, version)
        world.offsets.fetch(None, version, group="other")
    assert described(world, "g") == before
    assert (before.group_state, before.members) == ("Empty", [])
    assert described(world, "other").group_state == "Dead"


def test_a_group_without_members_is_found_described_and_has_its_offsets(world: World) -> None:
    """The requests are a tool's: FindCoordinator, a description, OffsetFetch."""
    offsets = {T0: Row(5, metadata="me"), T1: Row(0), U0: Row(7)}
    world.offsets.committed(offsets)
    found = world.connection.call(FindCoordinatorRequest(coordinator_keys=["g"]), 4, FindCoordinatorResponse)
    (coordinator,) = found.coordinators
    assert (coordinator.error_code, coordinator.node_id) == (NONE, 1)
    for restarted in (False, True):
        if restarted:
            world.broker_world.restart()
            world.connection = world.offsets.client = world.broker_world.connect()
        group = described(world, "g")
        assert (group.error_code, group.group_state, group.members) == (NONE, "Empty", [])
        assert world.offsets.fetch(None) == (NONE, offsets)


def test_offsets_of_topics_that_no_member_reads(world: World) -> None:
    world.offsets.committed({T0: 5, U0: 7})
    member = ClassicClient(world.broker_world)
    form([member], protocols={"range": subscription("u")})
    group = described(world, "g")
    assert (group.group_state, [each.member_id for each in group.members]) == ("Stable", [member.member_id])
    assert group.members[0].member_metadata == subscription("u")
    assert world.offsets.fetch(None) == (NONE, {T0: Row(5), U0: Row(7)})


def subscription(*topics: str) -> bytes:
    """Return a joining consumer's metadata, version 0: topics, no user data."""
    names = b"".join(len(name).to_bytes(2, "big") + name.encode() for name in topics)
    return b"\0\0" + len(topics).to_bytes(4, "big") + names + b"\xff\xff\xff\xff"


# -- around it


def test_the_null_list_as_it_is_sent() -> None:
    """The length is -1 up to version 5, and compact length 0 from version 6 on."""
    everything = OffsetFetchRequest("g", None)
    assert encode(everything, 2).hex() == hexed("0001 67 ffffffff")
    assert encode(everything, 6).hex() == hexed("02 67 00 00")
    assert encode(everything, 7).hex() == hexed("02 67 00 00 00")
    some = OffsetFetchRequest("g", [OffsetFetchRequestTopic("t", [0])])
    assert encode(some, 2).hex() == hexed("0001 67 00000001 0001 74 00000001 00000000")


def test_describe_groups_has_no_offsets(world: World) -> None:
    """KIP-88 rejected offsets in DescribeGroups: version 1 adds only the throttle time."""
    world.offsets.committed({T0: 5})
    answers = []
    for version in (0, 1):
        world.connection.send(DescribeGroupsRequest(["g"]), version)
        answers.append(world.connection.receive_frame().hex()[8:])
    assert answers[1] == "00000000" + answers[0]


def test_which_versions_are_advertised(world: World) -> None:
    answer = world.connection.call(ApiVersionsRequest("test", "1"), 4, ApiVersionsResponse)
    ranges = {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}
    assert ranges[ApiKey.OFFSET_FETCH] == (1, 10)
    assert ranges[ApiKey.OFFSET_COMMIT] == (2, 10)
    assert ranges[ApiKey.OFFSET_DELETE] == (0, 0)
    assert HANDLERS[ApiKey.OFFSET_FETCH].served == HANDLERS[ApiKey.OFFSET_FETCH].advertised


def encode(request: OffsetFetchRequest, version: int) -> bytes:
    out = bytearray()
    request.encode_into(out, version)
    return bytes(out)


def described(world: World, group: str) -> DescribedGroup:
    (answer,) = world.connection.call(DescribeGroupsRequest([group]), 5, DescribeGroupsResponse).groups
    return answer


def partition_of(world: World) -> int:
    return group_partition_for("g", world.broker_world.broker.services.groups.coordinator.partitions.count)


def move_away(world: World) -> None:
    world.broker_world.leaders.move(CONSUMER_OFFSETS, partition_of(world), ELSEWHERE)
