"""`shareq serve`: runs the broker."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import click

from shareq import __version__
from shareq.ops.cli.serve_options import ServeOptions, configure_log, refuse_secrets, wanted_of
from shareq.ops.cli.shared.entry import UnixCommand, drop_standard_output, own_command
from shareq.ops.cli.shared.exits import REFUSED, USAGE, exit_with

if TYPE_CHECKING:
    from shareq.broker.process.server import Server

logger = logging.getLogger(__name__)

EPILOG: Final = """\b
Examples:
  shareq serve
      Listen on 127.0.0.1:9092, keep data in ./shareq-data.
  shareq serve --config server.properties --add-scram 'SCRAM-SHA-256=[name=admin,password-file=/run/secrets/admin]'
      Serve other machines, whose clients log in: the file has a listener with SASL.
  shareq serve --listen 0.0.0.0:9092 --advertise broker.example.com:9092 --insecure
      Serve other machines without authentication: every client that reaches the port may do everything.
  shareq serve --set log.flush.interval.messages=1
      Answer a write only when it survives power loss.
  shareq serve --config server.properties --set group.share.record.lock.duration.ms=60000
      Kafka's own property file; options win over it.
  SHAREQ_LOG_RETENTION_MS=3600000 shareq serve
      A property in the environment: over the file, below options. "_" is ".", "__" is "_", "___" is "-".
  shareq serve --log-format json --log-level INFO,shareq.broker.share=DEBUG
      The log on standard error as JSON, one object a line, with locks that ran out.
  shareq serve --ephemeral
      For the tests of any language: {"bootstrap": "127.0.0.1:43251", ...}, and nothing is left of it.
  shareq serve --metrics 127.0.0.1:9464
      Prometheus finds the metrics at http://127.0.0.1:9464/metrics, probes /-/healthy and /-/ready beside them.
  shareq serve --records-api 127.0.0.1:9465 --records-api-token-file /run/secrets/operator
      Which record each member of a share group has, since when: shareq share records --api http://127.0.0.1:9465.
  shareq serve --console 127.0.0.1:8080
      A web console at http://127.0.0.1:8080 (needs pip install 'shareq[console]'); --console-token-file lets it change.
  shareq serve --cluster kafka-1:9092,kafka-2:9092 --listen 0.0.0.0:9092 --config server.properties
      No data here: share groups for a Kafka cluster that has none, by this address. Several of these share the work.
  shareq serve --cluster kafka:9093 --cluster-config client.properties
      The cluster wants TLS or a login: the properties of any Kafka client, security.protocol=SASL_SSL and so on.

\b
Then point any Kafka client at the address, for example:
  kcat -b 127.0.0.1:9092 -L

\b
Signals: SIGTERM, SIGINT and SIGHUP stop it; a second one does not wait for clients. Under nohup SIGHUP does nothing.
With a listener of TLS, SIGHUP has its certificates read again instead.

\b
Exit codes: 0 stopped by a signal, 1 failed, 2 wrong options or configuration.
"""


@own_command("serve", EPILOG, UnixCommand)
@click.option(
    "--listen", metavar="HOST:PORT", help="Address to listen on [default: 127.0.0.1:9092]. Port 0: any free one."
)
@click.option("--advertise", metavar="HOST:PORT", help="Address that clients connect to, if it differs.")
@click.option(
    "--insecure",
    is_flag=True,
    envvar="SHAREQ_INSECURE",
    show_envvar=True,
    help="Serve other machines without authentication, too.",
)
@click.option("--data-dir", metavar="DIR", help="Folder of all data, created if absent [default: ./shareq-data].")
@click.option("--config", "config_file", metavar="FILE", help="A server.properties file with Apache Kafka's names.")
@click.option(
    "--set", "settings", metavar="KEY=VALUE", multiple=True, help="One property, which overrides the file. Repeatable."
)
@click.option("--feature", "features", metavar="NAME=LEVEL", multiple=True, help="A feature's level. Repeatable.")
@click.option(
    "--cluster",
    metavar="HOST:PORT,...",
    help="Run as a node in front of this Kafka cluster, which keeps all data.",
)
@click.option("--cluster-config", metavar="FILE", help="Client properties, if the cluster requires TLS or a login.")
@click.option("--node-config", metavar="FILE", help="Client properties with which nodes connect to each other.")
@click.option("--no-proxy", is_flag=True, help="As a node, refuse producers, so that they use the cluster itself.")
@click.option("--metrics", metavar="HOST:PORT", help="Serve metrics for Prometheus at this address [default: nowhere].")
@click.option(
    "--ephemeral",
    is_flag=True,
    help="For tests: use a temporary data folder and a free port, print the address as JSON, end with the parent.",
)
@click.option(
    "--add-scram",
    "scram_users",
    metavar="USER",
    multiple=True,
    help="A SCRAM user to add, unless the name exists: SCRAM-SHA-256=[name=NAME,password-file=FILE]. Repeatable.",
)
@click.option(
    "--records-api", metavar="HOST:PORT", help="Serve the state of each record at this address [default: nowhere]."
)
@click.option(
    "--records-api-token-file", metavar="FILE", help="The file with the token that requests to the records API need."
)
@click.option("--console", metavar="HOST:PORT", help="Serve a web console at this address [default: nowhere].")
@click.option(
    "--console-token-file",
    metavar="FILE",
    help="The file with the token for changes in the console, and for its records API.",
)
@click.option(
    "--console-config", metavar="FILE", help="Client properties of the console, if the broker requires a login."
)
@click.option(
    "--log-level",
    metavar="LEVEL",
    envvar="SHAREQ_LOG_LEVEL",
    show_envvar=True,
    default="INFO",
    show_default=True,
    help="DEBUG, INFO, WARNING, ERROR or CRITICAL, optionally with levels of single loggers: LEVEL,LOGGER=LEVEL,...",
)
@click.option(
    "--log-format",
    metavar="FORMAT",
    envvar="SHAREQ_LOG_FORMAT",
    show_envvar=True,
    default="text",
    show_default=True,
    help="text, or json with one object per line.",
)
def command(**given: Any) -> None:
    """Run the broker until SIGTERM, SIGINT or, without TLS, SIGHUP.

    Prints one line with its addresses and the data folder once it listens; that is when every log has been recovered.
    With --cluster it has no data folder: the line names the cluster, which has been reached and checked by then. If
    clients must connect to other addresses (advertised.listeners), the line names these, too. On a signal it stops
    accepting connections, answers pending requests, writes everything to disk and exits with 0.
    """
    gc.disable()  # until the broker listens: importing makes little garbage and many objects to look at
    options = ServeOptions(**given)
    configure_log(options.log_level, options.log_format)
    refuse_secrets(options.settings)
    if options.ephemeral:
        from shareq.broker.process.ephemeral import serve_ephemeral

        if options.data_dir is not None:
            exit_with(USAGE, "--ephemeral: --data-dir: its data is in a folder of its own, which is removed")

    from shareq.broker.process.serve import serve_forever
    from shareq.broker.process.sockets import ServeError

    def run(folder: str | None, address: str | None, ready: Callable[[Server, str | None], None]) -> None:
        wanted = wanted_of(options._replace(data_dir=folder, listen=address))
        serve_forever(wanted, insecure=options.insecure, ready=ready)

    try:
        if options.ephemeral:
            serve_ephemeral(run, options.listen)
        else:
            run(options.data_dir, options.listen, _say_ready)
    except ServeError as error:
        exit_with(USAGE if error.usage else REFUSED, str(error))


def _say_ready(server: Server, console_url: str | None) -> None:
    addresses, advertised = server.addresses, server.advertised
    clients = f", clients connect to {', '.join(advertised)}" if advertised != addresses else ""
    metrics = f", metrics at {server.metrics_url}" if server.metrics_url is not None else ""
    records = f", records API at {server.records_api_url}" if server.records_api_url is not None else ""
    console = f", console at {console_url}" if console_url is not None else ""
    where = f"listening on {', '.join(addresses)}{clients}, {server.stands_on}{metrics}{records}{console}"
    try:
        click.echo(f"shareq {__version__} {where}")
    except OSError as error:  # it serves all the same, as it would with a line that no one reads
        drop_standard_output()
        logger.warning("standard output cannot be written: %s", error.strerror)
