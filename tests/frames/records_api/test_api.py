"""The records API over a broker in memory: schemas, authentication, refusals, and long answers in turns."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.foundation.loop.coroutines import Waiting
from shareq.broker.foundation.turn_budget import LOOK, TURN_ELEMENTS
from shareq.broker.http.server import Answer, Request
from shareq.broker.records_api import views
from shareq.broker.records_api.api import RecordsApi
from shareq.broker.records_api.limits import MOST_WAITING
from shareq.broker.records_api.query import RecordsQuery
from shareq.protocol.generated.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
)
from tests.frames.share_order.test_order_by_key import produce
from tests.support.clients.share_client import ACCEPT, RELEASE, Place, ShareClient, append, configure, from_the_start
from tests.support.coroutines import finished, paused_everywhere

TOKEN = "0123456789abcdef-operator"
SCHEMA = json.loads((Path(__file__).parents[3] / "docs/records-api.schema.json").read_text())
NOW_MS = 1_000


def validated(kind: str, body: bytes) -> Any:
    value = json.loads(body)
    Draft202012Validator({"$ref": f"#/$defs/{kind}", "$defs": SCHEMA["$defs"]}).validate(value)
    return value


class Site:
    """Topic t of two partitions with ten records each, group g, and the API."""

    def __init__(self, **properties: str) -> None:
        self.world = BrokerWorld({name.replace("_", "."): value for name, value in properties.items()})
        topic_id = self.world.create_topic("t", 2).topic_id
        self.place: Place = (topic_id, 0)
        from_the_start(self.world)
        append(self.world, "t", 10)
        self.api = RecordsApi(self.world.services, TOKEN)

    def member(self, name: str = "m", client_id: str = "packer") -> ShareClient:
        member = ShareClient(self.world, name, client_id=client_id)
        member.join("t")
        return member

    def ask(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        given = {"authorization": f"Bearer {TOKEN}"} if headers is None else headers
        path, _, query = path.partition("?")
        return asyncio.run(self.api.handle(Request("GET", path, query, given)))

    def get(self, kind: str, path: str) -> Any:
        answer = self.ask(f"/api/v1{path}")
        assert answer.status == "200 OK", answer
        assert answer.content_type == "application/json"
        assert "Cache-Control: no-store" in answer.headers
        return validated(kind, answer.body)

    def refused(self, path: str) -> tuple[str, str]:
        answer = self.ask(f"/api/v1{path}")
        error = validated("error", answer.body)["error"]
        return answer.status, error["message"]

    def records(self, query: str = "") -> Any:
        return self.get("records", f"/share-groups/g/topics/t/partitions/0/records{query}")


@pytest.fixture
def site() -> Site:
    return Site(group_share_max_partition_max_record_locks="10000")


# -- who is let in


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": ""},
        {"authorization": "Bearer "},
        {"authorization": f"Bearer {TOKEN}x"},
        {"authorization": f"Bearer {TOKEN[:-1]}"},
        {"authorization": f"Basic {TOKEN}"},
        {"authorization": TOKEN},
        {"authorization": "Bearer \xff\xfe"},
        {"cookie": f"token={TOKEN}"},
    ],
)
@pytest.mark.parametrize("path", ["/api/v1", "/api/v1/share-groups", "/", "/api/v1/share-groups/g/partitions"])
def test_nothing_is_shown_without_the_token(site: Site, headers: dict[str, str], path: str) -> None:
    answer = site.ask(path, headers)
    assert answer.status == "401 Unauthorized"
    assert 'WWW-Authenticate: Bearer realm="shareq"' in answer.headers
    assert TOKEN.encode() not in answer.body
    validated("error", answer.body)


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_has_no_case(site: Site, scheme: str) -> None:
    answer = site.ask("/api/v1", {"authorization": f"{scheme} {TOKEN}"})
    about = validated("about", answer.body)
    assert about["cluster_id"] == site.world.services.metadata.cluster_id


# -- what it shows


def test_no_groups(site: Site) -> None:
    assert site.get("share_groups", "/share-groups")["groups"] == []


def test_groups_with_sums(site: Site) -> None:
    member = site.member()
    assert member.acquire(site.place, max_records=4) == [(0, 3, 1)]
    assert not member.acknowledge(site.place, (0, 0, ACCEPT), (1, 1, RELEASE))
    assert member.acquire(site.place, max_records=1) == [(1, 1, 2)]
    (row,) = site.get("share_groups", "/share-groups/")["groups"]
    assert (row["group"], row["state"], row["members"], row["partitions"], row["loaded"]) == ("g", "Stable", 1, 2, 1)
    assert (row["deliveries"], row["redeliveries"], row["accepted"]) == (5, 1, 1)
    assert (row["in_flight"], row["held"], row["lag"]) == (9, 3, 9)
    assert row["oldest_in_flight_ms"] == site.world.clock.wall_ms()


def test_groups_in_pages(site: Site) -> None:
    names = [f"g{number:02}" for number in range(25)]
    for name in names:
        ShareClient(site.world, "m", group=name).join("t")
    found: list[str] = []
    after: str | None = ""
    while after is not None:
        page = site.get("share_groups", f"/share-groups?limit=10&after={after}")
        found += [row["group"] for row in page["groups"]]
        after = page["next"]
    assert found == names


def test_a_group_with_its_members(site: Site) -> None:
    site.member("one", "packer-1")
    site.member("two", "packer-2")
    group = site.get("share_group", "/share-groups/g")
    assert [(row["member"], row["client_id"], row["host"]) for row in group["members"]] == [
        ("one", "packer-1", "127.0.0.1"),
        ("two", "packer-2", "127.0.0.1"),
    ]
    assert group["members"][0]["subscriptions"] == ["t"]
    assert sum(len(row["assignment"].get("t", ())) for row in group["members"]) >= 2


def test_names_in_paths_are_percent_encoded(site: Site) -> None:
    ShareClient(site.world, "m", group="a/b ä?").join("t")
    assert site.get("share_group", "/share-groups/a%2Fb%20%C3%A4%3F")["group"] == "a/b ä?"


def test_partitions_with_states_and_holders(site: Site) -> None:
    one, two = site.member("one"), site.member("two", "other")
    one.acquire(site.place, max_records=3)
    two.acquire(site.place, max_records=2)
    one.acknowledge(site.place, (1, 1, ACCEPT), (2, 2, RELEASE))
    site.world.clock.advance(700)
    answer = site.get("partitions", "/share-groups/g/partitions")
    first, second = answer["partitions"]
    assert (first["topic"], first["partition"], first["loaded"]) == ("t", 0, True)
    assert first["states"] == {"acquired": 3, "acknowledged": 1, "available": 6}
    assert first["held"] == {"one": 1, "two": 2}
    assert (first["start_offset"], first["end_offset"], first["high_watermark"], first["lag"]) == (0, 10, 10, 9)
    assert (first["in_flight"], first["in_flight_limit"], first["lock_ms"]) == (10, 2000, 30_000)
    assert first["oldest_age_ms"] == 700
    assert first["acknowledged"] == {"accept": 1, "release": 1, "reject": 0, "renew": 0}
    assert answer["members"]["two"] == {"client_id": "other", "host": "127.0.0.1"}
    assert (second["partition"], second["loaded"], second["states"]) == (1, False, {})
    assert answer["next"] is None


def test_partitions_in_pages(site: Site) -> None:
    site.world.create_topic("a", 11)
    ShareClient(site.world, "m").join("t", "a")
    found: list[tuple[str, int]] = []
    after: str | None = ""
    while after is not None:
        page = site.get("partitions", f"/share-groups/g/partitions?limit=4&after={after}")
        found += [(row["topic"], row["partition"]) for row in page["partitions"]]
        after = page["next"]
    assert found == [*(("a", number) for number in range(11)), ("t", 0), ("t", 1)]


def test_records_as_ranges_with_the_time_of_day(site: Site) -> None:
    member = site.member("one")
    site.world.clock.advance(5_000)
    member.acquire(site.place, max_records=4)
    acquired_ms = site.world.clock.wall_ms()
    site.world.clock.advance(1_000)
    member.acknowledge(site.place, (1, 1, ACCEPT))
    answer = site.records()
    assert answer["at_ms"] == acquired_ms + 1_000
    assert [
        (row["first"], row["last"], row["state"], row["deliveries"], row["member"]) for row in answer["ranges"]
    ] == [
        (0, 0, "acquired", 1, "one"),
        (1, 1, "acknowledged", 1, None),
        (2, 3, "acquired", 1, "one"),
        (4, 9, "available", 0, None),
    ]
    first = answer["ranges"][0]
    assert (first["since_ms"], first["until_ms"]) == (acquired_ms, acquired_ms + 30_000)
    assert answer["members"] == {"one": {"client_id": "packer", "host": "127.0.0.1"}}
    assert answer["next"] is None


def test_records_of_states_and_members_in_pages(site: Site) -> None:
    one, two = site.member("one"), site.member("two")
    for _ in range(3):
        one.acquire(site.place, max_records=1)
        two.acquire(site.place, max_records=1)
    mine = site.records("?member=two&state=acquired,available")
    assert [row["first"] for row in mine["ranges"]] == [1, 3, 5]
    assert mine["members"].keys() == {"two"}
    assert site.records("?state=archived")["ranges"] == []
    found: list[int] = []
    following = 0
    while following is not None:
        page = site.records(f"?limit=1&from={following}")
        found += [row["first"] for row in page["ranges"]]
        following = page["next"]
    assert found == list(range(7))


def test_records_of_order_by_key_name_what_they_wait_for() -> None:
    site = Site()
    configure(site.world, shareq_order="key")
    produce(site.world, [b"a", b"b", b"a", b"a", b"b"])
    member = site.member()
    assert member.acquire(site.place, max_records=20) == [(0, 11, 1)]
    answer = site.records("?state=waiting")
    assert answer["order_by_key"] is True
    assert [(row["first"], row["last"], row["behind"]) for row in answer["ranges"]] == [(12, 13, 10), (14, 14, 11)]


def test_a_group_without_members_is_shown_as_it_is_persisted(site: Site) -> None:
    member = site.member()
    member.acquire(site.place, max_records=4)
    member.acknowledge(site.place, (0, 0, ACCEPT), (1, 1, RELEASE), (3, 3, ACCEPT))
    member.connection.disconnect()
    site.world.clock.run_until_idle()
    answer = site.records()
    assert answer["loaded"] is False
    assert [(row["first"], row["last"], row["state"], row["deliveries"]) for row in answer["ranges"]] == [
        (1, 2, "available", 1),
        (3, 3, "acknowledged", 1),
    ]
    (row, _) = site.get("partitions", "/share-groups/g/partitions")["partitions"]
    assert (row["loaded"], row["start_offset"], row["end_offset"], row["lag"]) == (False, 1, 4, 8)


def test_the_sums_of_a_group_whose_worker_died_are_those_of_its_partitions(site: Site) -> None:
    """The sums include a dead worker's records: they serve to find it."""
    member = site.member()
    member.acquire(site.place, max_records=4)
    member.acknowledge(site.place, (2, 2, ACCEPT))
    began_ms = site.world.clock.wall_ms()
    site.world.clock.advance(1_000)
    member.connection.disconnect()
    site.world.clock.run_until_idle()
    (row,) = site.get("share_groups", "/share-groups")["groups"]
    rows = site.get("partitions", "/share-groups/g/partitions")["partitions"]
    assert (row["loaded"], row["in_flight"], row["held"], row["lag"]) == (0, 4, 0, 9)
    for name in ("in_flight", "lag"):
        assert row[name] == sum(each[name] or 0 for each in rows)
    assert row["oldest_in_flight_ms"] == rows[0]["oldest_in_flight_ms"] == began_ms
    assert rows[0]["oldest_age_ms"] == 1_000


def test_nothing_is_in_flight_of_a_group_that_was_set_back_after_its_worker_died(site: Site) -> None:
    member = site.member()
    member.acquire(site.place, max_records=4)
    member.acknowledge(site.place, (2, 2, ACCEPT))
    member.connection.disconnect()
    site.world.clock.advance(60_000)  # the group gives it up
    site.world.clock.run_until_idle()
    row = AlterShareGroupOffsetsRequestPartition(0, 5)
    request = AlterShareGroupOffsetsRequest("g", [AlterShareGroupOffsetsRequestTopic("t", [row])])
    answer = site.world.connect().call(request, 0, AlterShareGroupOffsetsResponse)
    assert answer.error_code == 0
    (found,) = site.get("share_groups", "/share-groups")["groups"]
    assert (found["in_flight"], found["held"], found["lag"], found["oldest_in_flight_ms"]) == (0, 0, 5, None)


def in_turns(coroutine: Waiting[bytes]) -> tuple[bytes, int]:
    pauses: list[None] = []
    return finished(coroutine, lambda: pauses.append(None)), len(pauses)


def test_what_is_held_is_counted_in_turns_and_up_to_a_bound(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    _checkered(site, 5_000)
    answer, pauses = in_turns(views.share_groups(site.world.services, site.api.times, "", 10))
    (row,) = validated("share_groups", answer)["groups"]
    assert row["held"] > 0
    assert pauses > row["held"] // TURN_ELEMENTS
    monkeypatch.setattr(views, "MOST_COUNTED", 1_000)
    (row,) = site.get("share_groups", "/share-groups")["groups"]
    assert row["held"] is None


def test_sums_of_very_many_partitions_are_of_fewer_groups(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("g1", "g2", "g3"):
        from_the_start(site.world, name)
        member = ShareClient(site.world, name, group=name)
        member.join("t")
        member.acquire(site.place, max_records=1)
    monkeypatch.setattr(views, "MOST_STEPS", 4)
    first = site.get("share_groups", "/share-groups")
    assert ([row["group"] for row in first["groups"]], first["next"]) == (["g1", "g2"], "g2")
    rest = site.get("share_groups", "/share-groups?after=g2")
    assert ([row["group"] for row in rest["groups"]], rest["next"]) == (["g3"], None)


def test_a_member_that_left_has_no_client(site: Site) -> None:
    member = site.member("one")
    member.acquire(site.place, max_records=1)
    member.leave()
    assert site.records()["members"] == {"one": {"client_id": None, "host": None}}


class _Clock:
    """Two clocks read in milliseconds, half a millisecond apart."""

    def __init__(self) -> None:
        self.half_ms = 0
        self.set_ms = 0

    def wall_ms(self) -> int:
        return 5_000 + self.set_ms + self.half_ms // 2

    def now_ms(self) -> int:
        return (self.half_ms + 1) // 2


def test_a_moment_has_the_same_time_of_day_in_every_answer_until_the_clock_is_set() -> None:
    """Two truncated clocks would make the time flicker by one millisecond."""
    clock = _Clock()
    times = views.TimeOfDay(clock)  # type: ignore[arg-type]  # what it asks for
    found = set()
    for clock.half_ms in range(20):
        found.add(times.of(7))
    assert found == {5_007}
    clock.set_ms = 60_000
    assert times.of(7) in (65_006, 65_007)
    assert times.of(None) is None


# -- what is refused


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/share-groups/none", "404 Not Found", "share group none does not exist"),
        ("/share-groups/none/partitions", "404 Not Found", "share group none does not exist"),
        ("/share-groups/g/topics/u/partitions/0/records", "404 Not Found", "partition u:0 does not exist"),
        ("/share-groups/g/topics/t/partitions/2/records", "404 Not Found", "partition t:2 does not exist"),
        ("/share-groups/g/topics/t/partitions/0/records", "404 Not Found", "share group g has not begun with t:0"),
        ("/share-groups/g/topics/t/partitions/x/records", "400 Bad Request", "partition=x: must be a whole number"),
        ("/share-groups/g/topics/t/partitions/-1/records", "400 Bad Request", "partition=-1: must be"),
        ("/share-groups?limit=0", "400 Bad Request", "limit=0: must be a whole number from 1 to 1000"),
        ("/share-groups?limit=1001", "400 Bad Request", "limit=1001: must be"),
        ("/share-groups?limit=1&limit=2", "400 Bad Request", "limit is given twice"),
        ("/share-groups?form=json", "400 Bad Request", "there is no parameter form: there are after, limit"),
        ("/share-groups/g/partitions?after=t", "400 Bad Request", "after=t: must be TOPIC:PARTITION"),
        ("/share-groups/g/topics/t/partitions/0/records?state=lost", "400 Bad Request", "state=lost: must be of"),
        ("/share-groups/g/topics/t/partitions/0/records?from=-1", "400 Bad Request", "from=-1: must be"),
        ("/share-groups/%ff", "400 Bad Request", "the path is no UTF-8"),
        ("/groups", "404 Not Found", "there is nothing at this path"),
        ("x", "404 Not Found", "the API is at /api/v1/share-groups"),
    ],
)
def test_what_is_not_there_or_not_understood(site: Site, path: str, status: str, said: str) -> None:
    found, message = site.refused(path)
    assert (found, message[: len(said)]) == (status, said)


async def test_too_many_requests_are_asked_to_come_back(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    paused_everywhere(monkeypatch)
    request = Request("GET", "/api/v1/share-groups", "", {"authorization": f"Bearer {TOKEN}"})
    asked = [asyncio.create_task(site.api.handle(request)) for _ in range(MOST_WAITING + 1)]
    statuses = [(await each).status for each in asked]
    assert statuses == ["200 OK"] * MOST_WAITING + ["503 Service Unavailable"]
    assert (await site.api.handle(request)).status == "200 OK"


# -- in turns


def _checkered(site: Site, records: int) -> None:
    """Accept every other record of partition 0, so that all neighbours differ."""
    configure(site.world, share_partition_max_record_locks=str(records))
    append(site.world, "t", records - 10)
    member = site.member()
    held = 0
    while held < records:
        held += sum(last - first + 1 for first, last, _ in member.acquire(site.place, max_records=2_000))
    member.acknowledge(site.place, *((offset, offset, ACCEPT) for offset in range(1, records, 2)))


def test_a_window_of_10000_records_is_shown_in_turns_of_counted_work(site: Site) -> None:
    _checkered(site, 10_000)
    query = RecordsQuery(0, 10_000, frozenset(), None)
    answer, pauses = in_turns(views.records(site.world.services, site.api.times, "g", "t", 0, query))
    assert answer.count(b'"first"') == 10_000
    assert pauses >= 10_000 / TURN_ELEMENTS - 1


def test_the_sums_of_a_large_window_are_made_in_turns(site: Site) -> None:
    _checkered(site, 10_000)
    answer, pauses = in_turns(views.partitions(site.world.services, site.api.times, "g", "", 10))
    assert pauses >= 10_000 / TURN_ELEMENTS - 1
    (row, _) = validated("partitions", answer)["partitions"]
    assert row["states"] == {"acquired": 5_000, "acknowledged": 5_000}
    assert row["ranges"] == 10_000


def test_groups_and_partitions_in_great_numbers_are_sorted_in_turns(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """5,000 names are sorted, 50 at a time."""
    monkeypatch.setattr(views, "NAMES_AT_ONCE", 50)
    site.world.create_topic("wide", 500)
    ShareClient(site.world, "m", group="g").join("wide")
    answer, pauses = in_turns(views.partitions(site.world.services, site.api.times, "g", "", 100))
    assert pauses >= 500 / 50 * LOOK / TURN_ELEMENTS
    page = validated("partitions", answer)
    assert [row["partition"] for row in page["partitions"]] == list(range(100))
    assert page["next"] == "wide:99"
    for number in range(300):
        ShareClient(site.world, "m", group=f"n{number:03}").join("t")
    answer, _ = in_turns(views.share_groups(site.world.services, site.api.times, "g", 20))
    page = validated("share_groups", answer)
    assert [row["group"] for row in page["groups"]] == [f"n{number:03}" for number in range(20)]
    assert page["next"] == "n019"


def test_an_answer_that_looked_at_much_ends_with_where_to_go_on(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    _checkered(site, 2_000)
    monkeypatch.setattr(views, "MOST_STEPS", 1_000)
    answer = site.records("?state=archived")
    assert (answer["ranges"], answer["next"]) == ([], 1_000)
    assert site.records(f"?state=acknowledged&from={answer['next']}")["ranges"][0]["first"] == 1_001


def test_what_changes_between_two_turns_breaks_nothing(site: Site) -> None:
    _checkered(site, 2_000)
    turns = count()

    def change() -> None:
        if next(turns) == 4:
            site.world.clock.advance(40_000)  # every lock runs out

    query = RecordsQuery(0, 10_000, frozenset(), None)
    answer = finished(views.records(site.world.services, site.api.times, "g", "t", 0, query), change)
    ranges = validated("records", answer)["ranges"]
    offsets = [offset for row in ranges for offset in range(row["first"], row["last"] + 1)]
    assert offsets == list(range(2_000))
    assert {row["state"] for row in ranges} == {"acquired", "acknowledged", "available"}


def test_looking_changes_nothing(site: Site) -> None:
    member = site.member()
    member.acquire(site.place, max_records=3)
    share = site.world.services.made.share
    assert share is not None
    (leader,) = share.partitions.leaders()
    before = leader.core.snapshot()
    for path in ("/share-groups", "/share-groups/g", "/share-groups/g/partitions"):
        assert site.ask(f"/api/v1{path}").status == "200 OK"
    site.records()
    assert leader.core.snapshot() == before
    assert member.acquire(site.place, max_records=1) == [(3, 3, 1)]
