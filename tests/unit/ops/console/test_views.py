"""The console's views of our own broker: topics, records, groups, dead letters, windows, and changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from shareq.client.admin import Admin
from shareq.client.config import ClientConfig
from shareq.client.errors import BrokerError, Unreachable
from shareq.client.network import Network
from shareq.client.share.range_consumer import AckRange, ShareRangeConsumer
from shareq.ops.cli.top.data import take
from shareq.ops.console import changes
from shareq.ops.console.views import consumer_groups, dead_letters, overview, records, share_groups, topics
from shareq.ops.console.views.shared import Look, WrongRequest
from shareq.ops.console.views.windows import Windows, window
from shareq.ops.records_api import RecordsApi
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.record_codec import Record
from shareq.protocol.share import AcknowledgeType
from shareq.testing import Broker
from tests.support.clients.shareq_cli import Shell
from tests.support.waiting import until

TOKEN = "a-token-for-tests-0123"
WAIT_S = 30.0


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    config = {"shareq.records.api.listen": "127.0.0.1:0", "shareq.records.api.token": TOKEN}
    with Broker(config=config) as made:
        shell = Shell(made.bootstrap)
        shell.ok("topics", "create", "orders", "-p", "2", "--set", "retention.ms=100000000")
        lines = "".join(f"customer-{number % 5}|order {number}\n" for number in range(100))
        shell.ok("produce", "orders", "--key-separator", "|", "--header", "shop=north", stdin=lines)
        yield made


@pytest.fixture(scope="module")
def shell(broker: Broker) -> Shell:
    return Shell(broker.bootstrap)


@pytest.fixture(scope="module")
def admin(broker: Broker) -> Iterator[Admin]:
    network = Network(ClientConfig.from_properties({"bootstrap.servers": broker.bootstrap}))
    yield Admin(network)
    network.close()


@pytest.fixture
def windows(broker: Broker) -> Windows:
    assert broker.records_api_url is not None
    return Windows(RecordsApi(broker.records_api_url, TOKEN))


def search(admin: Admin, **given: str) -> dict[str, Any]:
    return records.records(records.search_of({"topic": "orders", **given}))(admin)


def test_the_overview_counts(admin: Admin) -> None:
    seen = overview.overview(Windows())(admin)
    assert seen["topics"] >= 1
    assert seen["partitions"] >= 2
    assert (len(seen["brokers"]), seen["without_leader"]) == (1, 0)
    assert {"share.version"} <= {each["name"] for each in seen["features"]}


def test_a_topic_has_partitions_ends_and_configs(admin: Admin) -> None:
    seen = topics.topic("orders")(admin)
    assert [row["partition"] for row in seen["partitions"]] == [0, 1]
    assert sum(row["end"] - row["start"] for row in seen["partitions"]) >= 100
    set_here = {each["name"]: each["value"] for each in seen["configs"] if each["set_here"]}
    assert set_here == {"retention.ms": "100000000"}
    with pytest.raises(BrokerError):
        topics.topic("missing")(admin)


def test_the_newest_records_come_first_whatever_their_partition(admin: Admin, shell: Shell) -> None:
    shell.ok("topics", "create", "fresh", "-p", "2")
    shell.ok("produce", "fresh", "-p", "0", stdin="one\ntwo\nthree\n")
    shell.ok("produce", "fresh", "-p", "1", "--value", "four")
    seen = records.records(records.search_of({"topic": "fresh", "limit": "2"}))(admin)
    assert [row["value"]["text"] for row in seen["records"]] == ["four", "three"]
    assert (seen["left"], seen["following"]) == (0, "")


def test_records_are_searched_by_key_text_and_header(admin: Admin) -> None:
    by_key = search(admin, **{"from": "earliest", "key": "CUSTOMER-3", "limit": "200"})
    assert len(by_key["records"]) == 20
    assert {row["key"]["text"] for row in by_key["records"]} == {"customer-3"}
    by_text = search(admin, **{"from": "earliest", "text": "order 42"})
    assert [row["value"]["text"] for row in by_text["records"]] == ["order 42"]
    assert len(search(admin, **{"from": "earliest", "text": "north", "limit": "200"})["records"]) == 100
    assert search(admin, **{"from": "earliest", "text": "no such fruit"})["records"] == []


def test_a_search_goes_on_where_it_ended_and_sees_everything_once(admin: Admin) -> None:
    found: list[tuple[int, int]] = []
    following = ""
    for _ in range(20):
        seen = search(admin, **{"from": "earliest", "limit": "30", "following": following})
        found += [(row["partition"], row["offset"]) for row in seen["records"]]
        following = seen["following"]
        if not seen["left"]:
            break
    assert len(found) == len(set(found)) == 100


def test_a_search_stops_at_its_bounds(admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MAX_SCANNED", 15)
    seen = search(admin, **{"from": "earliest", "text": "no such fruit"})
    assert (seen["scanned"], seen["left"]) == (15, 85)
    monkeypatch.setattr(records, "SEARCH_S", 0.0)
    assert search(admin, **{"from": "earliest"})["scanned"] == 0


def test_a_place_is_an_offset_a_time_or_an_age(admin: Admin) -> None:
    last = search(admin, **{"from": "99999"})
    assert (last["records"], last["left"]) == ([], 0)
    assert len(search(admin, **{"from": "-1h", "limit": "200"})["records"]) == 100
    assert len(search(admin, **{"from": "2001-01-01T00:00", "partition": "1", "limit": "200"})["records"]) < 100
    with pytest.raises(BrokerError):
        search(admin, partition="7")


def test_a_record_is_shown_whole_and_a_list_shows_the_beginning(admin: Admin, shell: Shell) -> None:
    shell.ok("topics", "create", "long")
    shell.ok("produce", "long", "--value", "é" * 3_000)
    (row,) = records.records(records.search_of({"topic": "long"}))(admin)["records"]
    assert (row["value"]["size"], len(row["value"]["text"])) == (6_000, 1_000)
    assert len(records.record("long", 0, 0)(admin)["value"]["text"]) == 3_000
    with pytest.raises(BrokerError) as caught:
        records.record("long", 0, 5)(admin)
    assert caught.value.code == ErrorCode.OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize(
    ("data", "most", "expected"),
    [
        (None, 10, None),
        (b"", 10, {"text": "", "encoding": "utf-8", "shown": 0, "size": 0}),
        ("aé".encode(), 2, {"text": "a", "encoding": "utf-8", "shown": 2, "size": 3}),
        ("a€".encode(), 3, {"text": "a", "encoding": "utf-8", "shown": 3, "size": 4}),
        (b"\xff\x00", 10, {"text": "ff 00", "encoding": "hex", "shown": 2, "size": 2}),
        (b"\xff" * 20, 2, {"text": "ff ff", "encoding": "hex", "shown": 2, "size": 20}),
        (b"abc\xff", 10, {"text": "61 62 63 ff", "encoding": "hex", "shown": 4, "size": 4}),
        (b"\xffabcdefgh", 8, {"text": "ff 61 62 63 64 65 66 67", "encoding": "hex", "shown": 8, "size": 9}),
    ],
)
def test_bytes_are_text_or_hexadecimal(data: bytes | None, most: int, expected: dict[str, Any] | None) -> None:
    assert records.bytes_of(data, most) == expected


def test_a_record_of_many_headers_shows_the_first_and_how_many_there_are() -> None:
    headers = tuple((f"name-{number}", b"v" * 10_000) for number in range(5_000))
    row = records.row_of(("orders", 0), Record(7, 0, None, b"value", headers), records.MAX_WHOLE)
    assert row["headers_total"] == 5_000
    assert [each["name"] for each in row["headers"]] == [f"name-{number}" for number in range(records.MAX_HEADERS)]
    assert {len(each["value"]["text"]) for each in row["headers"]} == {records.MAX_VALUE}
    assert row["headers"][0]["value"]["size"] == 10_000


def test_a_share_group_shows_members_windows_and_who_has_what(admin: Admin, broker: Broker, windows: Windows) -> None:
    Shell(broker.bootstrap).ok("configs", "alter", "group", "packers", "--set", "share.auto.offset.reset=earliest")
    properties = {"bootstrap.servers": broker.bootstrap, "client.id": "packer"}
    member = ShareRangeConsumer(ClientConfig.from_properties(properties), "packers", ["orders"])
    try:
        acquired = until(lambda: member.poll(max_records=30, max_wait_ms=500, strict=True))
        one = acquired[0]
        middle = AckRange(one.topic_id, one.partition, one.first + 2, one.first + 4)
        member.acknowledge([middle], AcknowledgeType.ACCEPT)
        seen = share_groups.share_group("packers", 0, windows)(admin)
        assert [(each["client"], each["member"]) for each in seen["members"]] == [("packer", member.member_id)]
        held = sum(row["held"][member.member_id] for row in seen["partitions"] if row["held"])
        assert held == sum(each.last - each.first + 1 for each in acquired) - 3
        assert (seen["windows"], seen["windows_error"], len(seen["strips"])) == (True, None, 2)
        assert (share_groups.sample(seen)["deliveries"] or 0) >= 30 - 3

        given = {"group": "packers", "topic": "orders", "partition": str(one.partition)}
        found = window(given, windows)(admin)
        states = {(each["first"], each["last"]): each for each in found["ranges"]}
        assert states[one.first, one.first + 1]["member"] == member.member_id
        assert states[one.first + 2, one.first + 4]["state"] == "acknowledged"
        assert found["members"][member.member_id]["client_id"] == "packer"
        only = window({**given, "state": "acknowledged"}, windows)(admin)
        assert {each["state"] for each in only["ranges"]} == {"acknowledged"}
    finally:
        member.close()


def test_without_a_records_api_a_window_is_what_was_written_down(admin: Admin, shell: Shell) -> None:
    """As in Apache Kafka, there are finished records and delivery counts, but no owners."""
    shell.ok("topics", "create", "jars")
    shell.ok("produce", "jars", stdin="".join(f"{number}\n" for number in range(10)))
    shell.ok("configs", "alter", "group", "fillers", "--set", "share.auto.offset.reset=earliest")
    properties = {"bootstrap.servers": shell.environment["SHAREQ_BOOTSTRAP_SERVERS"] or ""}
    member = ShareRangeConsumer(ClientConfig.from_properties(properties), "fillers", ["jars"])
    try:
        (one,) = until(lambda: member.poll(max_records=8, max_wait_ms=500, strict=True))
        for first, last, kind in ((2, 3, AcknowledgeType.ACCEPT), (5, 5, AcknowledgeType.REJECT)):
            member.acknowledge([AckRange(one.topic_id, 0, first, last)], kind)
        given = {"group": "fillers", "topic": "jars", "partition": "0"}
        found = window(given, Windows())(admin)
        part = window({**given, "state": "unfinished", "from": "4"}, Windows())(admin)
    finally:
        member.close()
    states = [(each["first"], each["last"], each["state"]) for each in found["ranges"]]
    assert states == [(0, 1, "unfinished"), (2, 3, "acknowledged"), (4, 4, "unfinished"), (5, 5, "archived")]
    assert "cannot be known" in found["why"]
    assert (found["known"], found["high_watermark"], found["lag"]) == (True, 10, 7)
    assert [each["first"] for each in part["ranges"]] == [4]
    seen = share_groups.share_group("fillers", 0, Windows())(admin)
    assert (seen["windows"], [each["known"] for each in seen["strips"]]) == (False, [True])


def test_a_group_of_which_nothing_is_written_has_no_ranges(admin: Admin, shell: Shell) -> None:
    shell.ok("share", "reset", "idle", "--topic", "orders:0", "--to", "latest", "--yes")
    found = window({"group": "idle", "topic": "orders", "partition": "0"}, Windows())(admin)
    assert (found["known"], found["ranges"]) == (False, [])


def test_a_records_api_that_is_away_leaves_the_rest(admin: Admin) -> None:
    class Away:
        def get(self, path: str, **query: str | int) -> dict[str, Any]:
            raise Unreachable("no answer from the records API")

    seen = share_groups.share_group("packers", 0, Windows(Away()))(admin)
    assert seen["windows_error"] == "no answer from the records API"
    assert seen["lag"] is not None
    assert seen["strips"] == []


def test_lists_of_groups_have_lag(admin: Admin, shell: Shell) -> None:
    shell.ok("groups", "reset", "billing", "--topic", "orders", "--to", "earliest", "--yes")
    (row,) = consumer_groups.consumer_groups("BILL", 0)(admin)["rows"]
    assert (row["group"], row["lag"], row["members"], row["error"]) == ("billing", 100, 0, None)
    (shared,) = share_groups.share_groups("pack", 0)(admin)["rows"]
    assert shared["group"] == "packers"
    assert share_groups.share_groups("none of these", 0)(admin) == {"total": 0, "rows": [], "missing": []}
    group = consumer_groups.consumer_group("billing")(admin)
    assert (group["unknown"], consumer_groups.sample(group)) == (0, {"lag": 100, "end": 100, "done": 0})


def test_records_behind_a_window_of_which_nothing_is_finished_are_lag(
    broker: Broker, admin: Admin, shell: Shell, windows: Windows
) -> None:
    """All 12 records are lag although none is finished.

    Apache Kafka has no start offset there, so its tools show neither start offset nor lag.
    """
    shell.ok("topics", "create", "stuck", "-p", "2")
    shell.ok("configs", "alter", "group", "stuck", "--set", "share.auto.offset.reset=earliest")
    shell.ok("produce", "stuck", "--partition", "0", stdin="x\n" * 7)
    properties = ClientConfig.from_properties({"bootstrap.servers": broker.bootstrap})
    member = ShareRangeConsumer(properties, "stuck", ["stuck"])
    try:
        until(lambda: member.poll(max_records=100, max_wait_ms=200))
        shell.ok("produce", "stuck", "--partition", "0", stdin="x\n" * 5)
        (row,) = json.loads("\n".join(shell.ok("share", "lag", "stuck", "--json")))
        assert (row["lag"], row["unknown"]) == (12, 1)
        (described,) = json.loads("\n".join(shell.ok("share", "describe", "stuck", "--json")))
        assert (described["lag"], described["unknown"]) == (12, 1)
        sampled = take(admin, None, 0.0, ["stuck"]).groups["stuck"]
        assert (sampled.lag, sampled.unknown) == (12, 1)
        (listed,) = share_groups.share_groups("stuck", 0)(admin)["rows"]
        assert (listed["lag"], listed["unknown"]) == (12, 1)
        group = share_groups.share_group("stuck", 0, windows)(admin)
        assert (group["lag"], group["unknown"]) == (12, 1)
        (shown,) = [each for each in overview.overview(windows)(admin)["share_groups"] if each["group"] == "stuck"]
        assert (shown["lag"], shown["unknown"], shown["letters"]) == (12, 1, None)
        assert 0 <= shown["oldest_age_ms"] < WAIT_S * 1000
    finally:
        member.close()


def test_an_overview_for_a_user_who_may_not_see_queues_has_no_letters() -> None:
    config = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
        "super.users": "User:admin",
    }
    with Broker(config=config) as broker:
        shell = Shell(broker.bootstrap)
        shell.ok("topics", "create", "orders")
        shell.ok("share", "reset", "packers", "--topic", "orders", "--to", "earliest", "--yes")
        user = ("--principal", "User:ANONYMOUS")
        shell.ok("acls", "create", *user, "--resource", "cluster", "--operation", "describe")  # and so no other
        network = Network(ClientConfig.from_properties({"bootstrap.servers": broker.bootstrap}))
        try:
            with pytest.raises(BrokerError):
                dead_letters.dead_letters(Admin(network))
            (row,) = overview.overview(Windows())(Admin(network))["share_groups"]
            assert (row["group"], row["lag"], row["letters"]) == ("packers", 0, None)
        finally:
            network.close()


def test_letters_say_what_died_and_are_sent_back(admin: Admin, shell: Shell) -> None:
    shell.ok("topics", "create", "parcels")
    shell.ok("topics", "create", "dlq.parcels", "--set", "errors.deadletterqueue.group.enable=true")
    settings = ["errors.deadletterqueue.topic.name=dlq.parcels", "share.auto.offset.reset=earliest"]
    shell.ok("configs", "alter", "group", "posters", *[word for each in settings for word in ("--set", each)])
    shell.ok("produce", "parcels", stdin="one\ntwo\n")
    shell.ok("share", "consume", "posters", "--topic", "parcels", "-n", "2", "--then", "reject")
    queue = until(lambda: [each for each in dead_letters.dead_letters(admin)["queues"] if each["letters"] == 2])
    assert queue[0]["groups"] == ("posters",)
    seen = dead_letters.letters({"queue": "dlq.parcels", "from": "earliest", "group": "POST"})(admin)
    assert [(each["letter"]["offset"], each["sent"]) for each in seen["letters"]] == [(0, False), (1, False)]
    rows = {each["group"]: each["letters"] for each in overview.overview(Windows())(admin)["share_groups"]}
    assert rows["posters"] == 2
    assert dead_letters.letters({"queue": "dlq.parcels", "from": "earliest", "group": "nobody"})(admin)["letters"] == []
    body = {"name": "back", "queue": "dlq.parcels", "partition": 0, "offset": 1}
    assert changes.redrive(body)(admin) == {"redrive": "back"}
    done = until(lambda: [each for each in dead_letters.dead_letters(admin)["redrives"] if each["state"] == "DONE"])
    assert done[0]["counts"] == {"REDRIVEN": 1}
    seen = dead_letters.letters({"queue": "dlq.parcels", "from": "earliest"})(admin)
    assert [each["sent"] for each in seen["letters"]] == [False, True]
    found = search(admin, topic="parcels", **{"from": "earliest"})["records"]
    assert [each["sent_back"] for each in found[:2]] == [None, None]
    assert found[2]["sent_back"]["text"] == "sent back from dlq.parcels-0:1, 1st time"
    one = records.record("parcels", 0, found[2]["offset"])(admin)["sent_back"]
    assert (one["queue"], one["name"], one["group"]) == ("dlq.parcels", "back", "posters")


def test_a_group_is_reset_and_deleted_when_its_name_is_typed_out(admin: Admin, shell: Shell) -> None:
    shell.ok("groups", "reset", "old", "--topic", "orders", "--to", "earliest", "--yes")
    with pytest.raises(WrongRequest):
        changes.reset_consumer_group({"group": "old", "to": "latest", "confirm": "ol"})
    with pytest.raises(WrongRequest):
        changes.reset_consumer_group({"group": "old", "to": "some day", "confirm": "old"})
    body = {"group": "old", "to": "latest", "confirm": "old", "topic": "orders", "partition": 1}
    (row,) = changes.reset_consumer_group(body)(admin)["partitions"]
    assert row["error"] is None
    offsets = {each["partition"]: each["lag"] for each in shell.json("groups", "offsets", "old")}
    assert offsets[1] == 0
    assert offsets[0] > 0
    assert changes.delete_groups({"group": "old", "confirm": "old"})(admin) == {"group": "old"}
    with pytest.raises(BrokerError):
        changes.reset_consumer_group({"group": "old", "to": "latest", "confirm": "old"})(admin)


def test_a_share_group_is_reset(admin: Admin, shell: Shell) -> None:
    shell.ok("share", "reset", "setters", "--topic", "orders", "--to", "latest", "--yes")
    rows = changes.reset_share_group({"group": "setters", "to": "earliest", "confirm": "setters"})(admin)["partitions"]
    assert [(row["offset"], row["error"]) for row in rows] == [(0, None), (0, None)]


def test_a_share_group_is_paused_and_resumed(admin: Admin, shell: Shell) -> None:
    shell.ok("share", "reset", "resters", "--topic", "orders", "--to", "earliest", "--yes")

    def paused() -> set[bool | None]:
        (listed,) = share_groups.share_groups("resters", 0)(admin)["rows"]
        lagging = overview.overview(Windows())(admin)["share_groups"]
        (shown,) = [each for each in lagging if each["group"] == "resters"]
        return {listed["paused"], shown["paused"], share_groups.share_group("resters", 0, Windows())(admin)["paused"]}

    assert paused() == {False}
    assert changes.pause_share_group({"group": "resters"})(admin) == {"group": "resters", "paused": True}
    assert paused() == {True}
    assert shell.ok("share", "consume", "resters", "--topic", "orders", "--idle", "0.2") == []
    assert changes.resume_share_group({"group": "resters"})(admin) == {"group": "resters", "paused": False}
    assert paused() == {False}
    assert len(shell.ok("share", "consume", "resters", "--topic", "orders", "-n", "1")) == 1


@pytest.mark.parametrize("change", [changes.pause_share_group, changes.resume_share_group])
def test_a_pause_without_a_group_is_refused(change: Callable[[changes.Body], Look]) -> None:
    with pytest.raises(WrongRequest):
        change({})


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": "x"},
        {"name": "x", "queue": "q", "offset": 3},
        {"name": "x", "queue": "q", "to_group": True},
        {"name": "x", "queue": "q", "partition": "0"},
        {"name": "x", "queue": "q", "per_second": 10**9},
        {"name": "x", "queue": "q", "group": 3},
        {"name": 5, "queue": "q"},
    ],
)
def test_a_redrive_that_means_nothing_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(WrongRequest):
        changes.redrive(body)
