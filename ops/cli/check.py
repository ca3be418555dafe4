"""`shareq check`: tests that a broker answers, and accepts a client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import click

from shareq.ops.cli.shared.entry import own_command
from shareq.ops.cli.shared.exits import REFUSED, USAGE, exit_with, host_and_port, pairs, read_properties

MAX_TIMEOUT_S: Final = 3600.0

EPILOG: Final = """\b
Examples:
  shareq check 127.0.0.1:9092 --timeout 3
      Does it answer? On a listener without TLS, with or without SASL.
  shareq check broker.example.com:9095 --command-config admin.properties
      As a client with these properties, as for Kafka's tools: handshake of TLS, ApiVersions, login.
  shareq check localhost:9094 --command-property security.protocol=SSL --command-property ssl.truststore.type=PEM \
    --command-property ssl.truststore.location=ca.pem
      The same without a file. Every user of the machine can read a command line: passwords belong into the file.
  shareq check --cluster kafka-1:9092,kafka-2:9092
      What a Kafka cluster can do for nodes (shareq serve --cluster), tried on topics of its own that are deleted again.

\b
Exit codes: 0 the broker has answered, or nodes can work, 1 not (one line on stderr says why), 2 wrong options or
properties.
"""


@own_command("check", EPILOG)
@click.argument("address", metavar="[HOST:PORT]", required=False)
@click.option("--cluster", metavar="HOST:PORT,...", help="Test whether this Kafka cluster has what nodes need.")
@click.option(
    "--timeout",
    "timeout_s",
    metavar="SECONDS",
    default=5.0,
    show_default=True,
    help="How long to wait before giving up.",
)
@click.option("--command-config", "config_file", metavar="FILE", help="Properties of a client, for TLS and SASL.")
@click.option(
    "--command-property",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    help="One property, which overrides the file. Repeatable.",
)
def command(
    address: str | None, cluster: str | None, timeout_s: float, config_file: str | None, settings: tuple[str, ...]
) -> None:
    """Ask a running broker for ApiVersions, as any client does first. Works without authentication, too.

    With properties of a client it also shakes hands and logs in as they say.
    """
    if (address is None) is (cluster is None):
        exit_with(USAGE, "check takes either HOST:PORT or --cluster HOST:PORT,...")
    if cluster is not None:
        properties = {} if config_file is None else read_properties(config_file, "--command-config")
        _try_cluster(cluster, properties | pairs("--command-property", settings))
        return
    assert address is not None
    host, port = host_and_port("check", address, 9092)
    if not 0 < timeout_s <= MAX_TIMEOUT_S:
        exit_with(USAGE, f"--timeout {timeout_s:g}: must be above 0 and at most {MAX_TIMEOUT_S:g}")
    if config_file is not None or settings:
        properties = {} if config_file is None else read_properties(config_file, "--command-config")
        _check_as_client(host, port, properties | pairs("--command-property", settings), timeout_s)
        return
    from shareq.broker.process.health import UnhealthyError
    from shareq.broker.process.health import check as check_broker

    try:
        check_broker(host, port, timeout_s)
    except UnhealthyError as error:
        exit_with(REFUSED, f"{address}: {error}")


def _try_cluster(bootstrap: str, properties: Mapping[str, str]) -> None:
    import asyncio

    from shareq.client.errors import ConfigError
    from shareq.cluster.command import findings_at
    from shareq.cluster.node.trial import Verdict

    try:
        found = asyncio.run(findings_at(bootstrap, properties))
    except ConfigError as error:
        exit_with(USAGE, str(error))
    if isinstance(found, str):
        exit_with(REFUSED, found)
    for verdict, text in found:
        click.echo(f"{verdict.value:5}{text}")
    if any(verdict is Verdict.BAD for verdict, _ in found):
        exit_with(REFUSED, f"cluster {bootstrap}: nodes cannot work in front of it")


def _check_as_client(host: str, port: int, properties: Mapping[str, str], timeout_s: float) -> None:
    from shareq.client.errors import ClientError, ConfigError

    try:
        let_in(host, port, properties, timeout_s)
    except ConfigError as error:
        exit_with(USAGE, str(error))
    except ClientError as error:
        exit_with(REFUSED, str(error))


def let_in(host: str, port: int, properties: Mapping[str, str], timeout_s: float) -> None:
    """Return when the broker at this address has accepted a client with these properties of Kafka's Java client.

    The steps are handshake, ApiVersions and login. An empty host is this machine; `timeout_s` bounds everything but
    finding the host's addresses. Raises ConfigError for a fault in `properties`, and ClientError with the address.
    """
    from time import monotonic

    from shareq.client.config import ClientConfig
    from shareq.client.connection import open_connection
    from shareq.client.security.tls import tls_context
    from shareq.client.sockets import run_now

    host = host or "127.0.0.1"
    bootstrap = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    config = ClientConfig.from_properties({**properties, "bootstrap.servers": bootstrap})
    context = None if config.tls is None else tls_context(config.tls)
    (address,) = config.bootstrap_servers
    run_now(open_connection(address, "", config, context, monotonic() + timeout_s, monotonic)).close()
