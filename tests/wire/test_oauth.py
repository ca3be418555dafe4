"""OAUTHBEARER with a broker process and our client: accepted tokens, their lifetime, key sources, refused starts."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from devtools.kafka.certificates import Authority, why_unavailable
from shareq.client.config import ClientConfig
from shareq.client.errors import AuthenticationFailed
from shareq.client.network import Network
from shareq.client.security.config import SaslConfig
from shareq.protocol.generated.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from shareq.testing import Broker, BrokerFailed
from shareq.testing.broker import child_environment
from tests.support.clients.access import STANDARD
from tests.support.clients.tokens import MODULE, SigningKey, jwks, oauth_properties
from tests.support.processes import finished
from tests.support.waiting import until

KEY = SigningKey("one")
ALTER = 7
EXPECTED = {"aud": "kafka", "iss": "https://issuer.example"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("oauth")


@pytest.fixture(scope="module")
def broker(folder: Path) -> Iterator[Broker]:
    keys = folder / "keys.json"
    keys.write_bytes(jwks(KEY))
    more = {
        "sasl_oauthbearer_expected_audience": "kafka",
        "sasl_oauthbearer_expected_issuer": "https://issuer.example",
        "sasl_oauthbearer_jwks_endpoint_refresh_ms": "200",
        "sasl_oauthbearer_clock_skew_seconds": "0",
        "authorizer_class_name": STANDARD,
        "super_users": "User:alice",
    }
    with Broker(config=oauth_properties(keys, **more), metrics="127.0.0.1:0") as running:
        yield running


def network_of(broker: Broker, token: Callable[[], str]) -> Network:
    config = ClientConfig.from_properties({"bootstrap.servers": broker.bootstrap})
    return Network(replace(config, sasl=SaslConfig("OAUTHBEARER", token=token)))


def asks(network: Network) -> bool:
    """Return whether the broker lets this user alter the cluster, as a super user may."""
    answer = network.request(None, DescribeClusterRequest(include_cluster_authorized_operations=True))
    assert isinstance(answer, DescribeClusterResponse)
    assert answer.error_code == 0
    return bool(answer.cluster_authorized_operations & 1 << ALTER)


def counted(broker: Broker, what: str) -> int:
    assert broker.metrics_url is not None
    with urlopen(broker.metrics_url) as answer:
        text = answer.read().decode()
    name = f"kafka_server_socket_server_metrics_{what}_authentication_total"
    return sum(int(float(line.split()[-1])) for line in text.splitlines() if line.startswith(name))


def test_a_token_lets_in(broker: Broker, folder: Path) -> None:
    path = folder / "token of alice"
    path.write_text(KEY.token(EXPECTED) + "\n")
    given = {
        "bootstrap.servers": broker.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": f"{MODULE} required;",
        "sasl.oauthbearer.token.endpoint.url": path.as_uri(),
    }
    before = counted(broker, "successful")
    network = Network(ClientConfig.from_properties(given))
    assert asks(network)
    network.close()
    assert counted(broker, "successful") > before
    path.unlink()
    with pytest.raises(AuthenticationFailed, match=r"the token cannot be read from .*token of alice: No such file"):
        asks(Network(ClientConfig.from_properties(given)))


@pytest.mark.skipif(why_unavailable() is not None, reason=str(why_unavailable()))
def test_keys_of_a_server(tmp_path: Path) -> None:
    """The key server is down at the start: tokens are refused until the keys are available."""
    authority = Authority(tmp_path)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Keys)
    context = authority.server_context(authority.sign("server", "DNS:localhost"))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    url = f"https://localhost:{server.server_address[1]}/keys"
    jaas = f'{MODULE} required ssl.truststore.type="PEM" ssl.truststore.location="{authority.certificate}";'
    more = {"listener_name_sasl__plaintext_oauthbearer_sasl_jaas_config": jaas}
    config = oauth_properties(tmp_path, **more) | {"sasl.oauthbearer.jwks.endpoint.url": url}
    thread = threading.Thread(target=server.serve_forever)
    _Keys.answer = 503
    thread.start()
    try:
        with Broker(config=config) as broker:
            assert "cannot be read from https://localhost" in broker.log
            network = network_of(broker, KEY.token)
            with pytest.raises(AuthenticationFailed):
                asks(network)
            assert "the issuer's keys could not be read yet" in broker.log
            _Keys.answer = 200
            until(lambda: "keys of the tokens' issuer: 'one'" in broker.log, "the keys are there")
            asks(network)
            network.close()
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Keys(BaseHTTPRequestHandler):
    answer = 200

    def do_GET(self) -> None:
        body = jwks(KEY) if self.answer == 200 else b""
        self.send_response(self.answer)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None: ...


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"{}", "cannot be used: it is no JWKS"),
        (b'{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}', "cannot be used: it has no key that can verify tokens"),
    ],
)
def test_a_start_without_keys_is_refused_in_one_line(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "keys.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BrokerFailed) as failure:
        Broker(config=oauth_properties(path), data_dir=tmp_path / "data").start()
    name = "sasl.oauthbearer.jwks.endpoint.url"
    (line,) = [line for line in str(failure.value).splitlines() if line.startswith("shareq: ")]
    assert line.startswith(f"shareq: Invalid value {path.as_uri()} for configuration {name}: {message}")
    assert not (tmp_path / "data").exists()


def test_a_start_without_the_extra_names_it(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_bytes(jwks(KEY))
    hidden = "import sys; sys.modules['jwt'] = None; from shareq.__main__ import main; main()"
    options = [text for name, value in oauth_properties(path).items() for text in ("--set", f"{name}={value}")]
    done = finished(
        [sys.executable, "-c", hidden, "serve", "--data-dir", tmp_path / "data", *options],
        env=child_environment(),
        timeout_s=60,
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        "shareq: Invalid value OAUTHBEARER for configuration sasl.enabled.mechanisms: "
        "OAUTHBEARER needs `pip install 'shareq[oauth]'`"
    )
    assert not (tmp_path / "data").exists()
