"""`shareq check` with a client's properties (TLS and a login): its exit code and one line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from devtools.kafka.certificates import Authority, why_unavailable
from shareq.testing import Broker
from tests.support.clients.sasl import PLAIN_MODULE
from tests.wire.test_health import run_check

pytestmark = pytest.mark.skipif(why_unavailable() is not None, reason=str(why_unavailable()))


class Guarded:
    """A broker with one listener of SASL_SSL; `config` is a file for alice, whose password is wonderland."""

    def __init__(self, folder: Path) -> None:
        self.authority = Authority(folder)
        self.other = Authority(folder, "other")
        server = self.authority.sign("server", "DNS:localhost", "IP:127.0.0.1")
        self.broker = Broker(
            config={
                "listeners": "SASL_SSL://127.0.0.1:0",
                "ssl.keystore.type": "PEM",
                "ssl.keystore.location": str(server.both),
                "sasl.enabled.mechanisms": "PLAIN",
                "listener.name.sasl_ssl.plain.sasl.jaas.config": f'{PLAIN_MODULE} required user_alice="wonderland";',
            },
            data_dir=folder / "data",
        )
        self.config = folder / "client.properties"
        self.config.write_text(
            "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nssl.truststore.type=PEM\n"
            f"ssl.truststore.location={self.authority.certificate}\n"
            f'sasl.jaas.config={PLAIN_MODULE} required \\\n  username="alice" password="wonderland";\n'
        )

    def check(self, *changes: str, host: str = "localhost") -> tuple[int, str, str]:
        more = [word for change in changes for word in ("--command-property", change)]
        return run_check(f"{host}:{self.broker.port}", "--command-config", str(self.config), *more)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    guarded = Guarded(tmp_path_factory.mktemp("guarded"))
    with guarded.broker:
        yield guarded


def test_it_is_let_in(guarded: Guarded) -> None:
    assert guarded.check() == (0, "", "")
    assert guarded.check(host="127.0.0.1") == (0, "", "")


def test_without_properties_it_speaks_no_tls(guarded: Guarded) -> None:
    code, _, stderr = run_check(f"localhost:{guarded.broker.port}", "--timeout", "10")
    assert (code, len(stderr.splitlines())) == (1, 1)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ("ssl.truststore.location=OTHER", "its certificate is not accepted: unable to get local issuer certificate"),
        (f'sasl.jaas.config={PLAIN_MODULE} required username="alice" password="guess";', "PLAIN: "),
    ],
)
def test_who_is_not_let_in_gets_one_line_and_code_1(guarded: Guarded, change: str, text: str) -> None:
    code, out, stderr = guarded.check(change.replace("OTHER", str(guarded.other.certificate)))
    assert (code, out, len(stderr.splitlines())) == (1, "", 1), stderr
    assert text in stderr
    assert "guess" not in stderr
    assert "wonderland" not in stderr


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ("sasl.mechanism=GSSAPI", "sasl.mechanism: 'GSSAPI': must be one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512"),
        ("sasl.mechanisn=PLAIN", "sasl.mechanisn: is not a property of this client; did you mean sasl.mechanism?"),
        ("ssl.truststore.location=/nowhere/ca.pem", "ssl.truststore.location: /nowhere/ca.pem: No such file"),
        ("PLAIN", "--command-property PLAIN: must be KEY=VALUE"),
    ],
)
def test_wrong_properties_are_one_line_and_code_2(guarded: Guarded, change: str, text: str) -> None:
    code, out, stderr = guarded.check(change)
    assert (code, out, len(stderr.splitlines())) == (2, "", 1), stderr
    assert text in stderr


def test_a_client_of_another_protocol_gets_a_hint(guarded: Guarded) -> None:
    code, out, stderr = run_check(
        f"localhost:{guarded.broker.port}", "--command-property", "security.protocol=PLAINTEXT", "--timeout", "10"
    )
    assert (code, out, len(stderr.splitlines())) == (1, "", 1), stderr
    assert "is it a listener of PLAINTEXT?" in stderr


def test_a_file_that_is_missing() -> None:
    code, _, stderr = run_check("localhost:1", "--command-config", "/nowhere/client.properties")
    assert (code, stderr) == (2, "shareq: --command-config /nowhere/client.properties: No such file or directory\n")
