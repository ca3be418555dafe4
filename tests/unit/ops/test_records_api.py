"""The client of the records API with a broker: pages, errors, TLS settings."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from unittest.mock import ANY

import pytest

from shareq.client.errors import AuthenticationFailed, BrokerError, ConfigError, Unreachable
from shareq.client.share.range_consumer import ShareRangeConsumer
from shareq.ops.cli.shared.profile import client_config
from shareq.ops.records_api import ApiRefused, RecordsApi
from shareq.protocol.errors import ErrorCode
from shareq.testing import Broker
from tests.support.clients.shareq_cli import Shell

TOKEN = "unit-operator-0123456789"


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    config = {"shareq.records.api.listen": "127.0.0.1:0", "shareq.records.api.token": TOKEN}
    with Broker(config=config) as broker:
        shell = Shell(broker.bootstrap)
        shell.ok("topics", "create", "orders", "--partitions", "3")
        shell.ok("configs", "alter", "group", "packers", "--set", "share.auto.offset.reset=earliest")
        shell.ok("produce", "orders", "--partition", "0", stdin="".join(f"{number}\n" for number in range(50)))
        yield broker


@pytest.fixture
def api(broker: Broker) -> RecordsApi:
    assert broker.records_api_url is not None
    return RecordsApi(broker.records_api_url, TOKEN)


def test_what_a_member_holds(broker: Broker, api: RecordsApi) -> None:
    config = client_config(broker.bootstrap, None, None, (), 10, {})
    with ShareRangeConsumer(config, "packers", ["orders"]) as member:
        assert (
            sum(each.last - each.first + 1 for each in member.poll(max_records=5, max_wait_ms=9_000, strict=True)) == 5
        )
        (row, *rest) = api.ranges("packers", "orders", 0)
        assert (row.first, row.last, row.state, row.deliveries, row.client_id) == (0, 4, "acquired", 1, "shareq")
        assert row.since_ms is not None
        assert row.until_ms == row.since_ms + 30_000
        assert row.since_ms <= row.at_ms
        assert [each.state for each in rest] == ["available"]
        assert list(api.ranges("packers", "orders", 0, limit=1)) == [row._replace(at_ms=ANY)]
        assert [each.first for each in api.ranges("packers", "orders", 0, states=["available"])] == [5]
        assert list(api.ranges("packers", "orders", 0, member="nobody")) == []
        assert [each.first for each in api.ranges("packers", "orders", 0, first=3)] == [3, 5]
        assert [each["member"] for each in api.group("packers")["members"]] == [row.member]
        assert api.window("packers", "orders", 0)["high_watermark"] == 50
    assert [each["group"] for each in api.groups()] == ["packers"]
    assert [each["partition"] for each in api.partitions("packers")] == [0, 1, 2]


def test_pages_are_put_together(broker: Broker, api: RecordsApi, monkeypatch: pytest.MonkeyPatch) -> None:
    shell = Shell(broker.bootstrap)
    for name in ("a", "b", "c"):
        shell.ok("share", "reset", name, "--topic", "orders:0", "--to", "1", "--yes")
    get, asked = api.get, []

    def two_at_a_time(path: str, **query: str | int) -> object:
        asked.append(query)
        return get(path, **{"limit": 2, **query})

    monkeypatch.setattr(api, "get", two_at_a_time)
    assert {"a", "b", "c"} <= {each["group"] for each in api.groups()}
    assert len(asked) > 1


def test_errors(broker: Broker, api: RecordsApi) -> None:
    with pytest.raises(BrokerError, match="share group nobody does not exist") as missing:
        api.group("nobody")
    assert missing.value.code == ErrorCode.RESOURCE_NOT_FOUND
    with pytest.raises(ApiRefused, match="must be of"):
        list(api.ranges("packers", "orders", 0, states=["lost"]))
    with pytest.raises(AuthenticationFailed, match="does not accept the token"):
        RecordsApi(api.url, "another-0123456789").about()
    with pytest.raises(Unreachable, match=r"no answer from the records API at http://127\.0\.0\.1:1/api/v1"):
        RecordsApi("http://127.0.0.1:1", TOKEN).about()


@pytest.mark.parametrize("body", [b"hi", b"[" * 20_000], ids=["text", "nested too deep"])
def test_what_is_no_records_api(body: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            client, _ = server.accept()
            with client:
                client.recv(4096)
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(ApiRefused, match="is no records API of shareq"):
            RecordsApi(f"http://127.0.0.1:{server.getsockname()[1]}", TOKEN).about()
        thread.join()


@pytest.mark.parametrize(
    "url", ["127.0.0.1:9465", "ftp://here", "http://", "http://here/other", "http://here:99999", "http://here:x"]
)
def test_wrong_urls(url: str) -> None:
    with pytest.raises(ConfigError):
        RecordsApi(url, TOKEN)


@pytest.mark.parametrize("token", ["", "two\nlines", "ä"])
def test_wrong_tokens_are_not_repeated(token: str) -> None:
    with pytest.raises(ConfigError) as error:
        RecordsApi("http://here", token)
    assert not token or token not in str(error.value)
