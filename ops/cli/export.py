"""`shareq export`: share groups of any cluster as metrics for Prometheus."""

from __future__ import annotations

import logging
import signal
import threading
from typing import Final

import click

from shareq.client.network import Network
from shareq.ops.cli.shared.command import CONTEXT
from shareq.ops.cli.shared.listening import address_of, bound_socket
from shareq.ops.cli.shared.profile import client_config

DEFAULT_LISTEN: Final = "127.0.0.1:9466"
TIMEOUT_S: Final = 10.0
EPILOG: Final = """\b
Examples:
  shareq export
      Share groups of the cluster at 127.0.0.1:9092, at http://127.0.0.1:9466/metrics.
  shareq export kafka.example.com:9093 --config exporter.properties --listen 0.0.0.0:9466
      With TLS and a login, for a Prometheus on another machine.

\b
The user needs Describe for groups and topics, and Read for topics, __share_group_state among them; without that
metrics are left out, and a line says which. Scrapers need no login: they see the names of groups and topics.
docker/monitoring has a dashboard for it.

\b
Exit codes: 0 stopped by a signal, 2 wrong options, 3 the address cannot be listened on.
"""


@click.command("export", context_settings=CONTEXT, epilog=EPILOG)
@click.argument("bootstrap", metavar="[HOST:PORT]", required=False)
@click.option(
    "--listen",
    metavar="HOST:PORT",
    default=DEFAULT_LISTEN,
    show_default=True,
    help="The address to listen on. Port 0: any free one.",
)
@click.option(
    "--every",
    "every_s",
    metavar="SECONDS",
    type=click.FloatRange(0.1, 3600),
    default=15.0,
    show_default=True,
    help="The time between two samples.",
)
@click.option("--config", "config_file", metavar="FILE", help="Properties of a Kafka client: TLS, SASL.")
@click.option("--property", "properties", metavar="KEY=VALUE", multiple=True, help="One such property. Repeatable.")
@click.option("--profile", metavar="NAME", help="A profile in ~/.config/shareq/config.toml [SHAREQ_PROFILE].")
def command(
    bootstrap: str | None,
    listen: str,
    every_s: float,
    config_file: str | None,
    properties: tuple[str, ...],
    profile: str | None,
) -> None:
    """Serve share groups of any Kafka cluster as metrics, for Prometheus.

    The cluster is Apache Kafka 4.2 or later, or shareq. The metrics are lag, start offset, time of the first unfinished
    record, failed deliveries, finished offsets behind it, members, dead letters. A broker of shareq serves these and
    more by itself: shareq serve --metrics.
    """
    from shareq.ops.export.endpoint import Newest, run
    from shareq.ops.export.sample import Sampler

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s export: %(message)s")
    config = client_config(bootstrap, config_file, profile, properties, TIMEOUT_S)
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    with bound_socket(listen, DEFAULT_LISTEN) as bound:
        network = Network(config)
        cluster = ", ".join(map(str, config.bootstrap_servers))
        click.echo(f"shareq export of {cluster} at http://{address_of(bound)}/metrics, every {every_s:g} s")
        try:
            run(bound, Newest(Sampler(network).take), every_s, stopping)
        finally:
            network.close()
