"""The command line. Reads options and the property file; everything else is imported when it is needed."""

from __future__ import annotations

import gc
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from shareq import __version__
from shareq.ops.cli.serve_options import configure_log, refuse_secrets, wanted_of
from shareq.ops.cli.shared.usage import (
    FAILURE,
    USAGE_ERROR,
    CommandEnd,
    exit_with,
    host_and_port,
    pairs,
    read_properties,
)

if TYPE_CHECKING:
    from shareq.broker.process.server import Server

logger = logging.getLogger(__name__)

CLUSTER_COMMANDS = (
    "topics",
    "share",
    "groups",
    "produce",
    "consume",
    "tail",
    "dlq",
    "configs",
    "acls",
    "users",
    "quotas",
    "cluster",
    "features",
    "transactions",
    "top",
    "console",
    "json-schema",
    "completion",
)
"""Commands that ask a cluster over the wire, or are about those: of `shareq.ops.cli`, as that names them."""
WORKER = "worker"
"""The command of `shareq.worker`."""
MAX_CHECK_TIMEOUT_S = 3600.0
MAX_PATIENCE_S = 3600.0

EPILOG = """\b
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

\b
Then point any Kafka client at the address, for example:
  kcat -b 127.0.0.1:9092 -L

\b
Signals: SIGTERM, SIGINT and SIGHUP stop it; a second one does not wait for clients. Under nohup SIGHUP does nothing.
With a listener of TLS, SIGHUP has its certificates read again instead.

\b
Exit codes: 0 stopped by a signal, 1 failed, 2 wrong options or configuration.
"""

CHECK_EPILOG = """\b
Examples:
  shareq check 127.0.0.1:9092 --timeout 3
      Does it answer? On a listener without TLS, with or without SASL.
  shareq check broker.example.com:9095 --command-config admin.properties
      As a client with these properties, as for Kafka's tools: handshake of TLS, ApiVersions, login.
  shareq check localhost:9094 --command-property security.protocol=SSL --command-property ssl.truststore.type=PEM \
    --command-property ssl.truststore.location=ca.pem
      The same without a file. Every user of the machine can read a command line: passwords belong into the file.

\b
Exit codes: 0 the broker has answered, 1 it has not (one line on stderr says why), 2 wrong options or properties.
"""

VERIFY_EPILOG = """\b
Examples:
  shareq verify shareq-data
      Read every file and compare every checksum, index and offset. Changes nothing.
  shareq verify shareq-data --repair
      Repair what is certain: indexes, checkpoints, metadata of which one record is sound, headers of whole batches.
  shareq verify shareq-data --repair --skip-damage
      Besides, give up batches that cannot be read, so that consumers go on behind them.
  shareq verify shareq-data --repair --set-aside orders-3
      Besides, set aside a folder of a topic that metadata does not know; --adopt orders-3 makes it a topic again.
  shareq verify shareq-data --repair --adopt all
      When metadata is lost: make topics of all folders again, with the ids in them.

\b
The broker must not be running. What a repair changes is first copied into DATA/repair-<time>.
A note is what a kill leaves and a start deals with; a finding is damage.

\b
Exit codes: 0 sound, 1 findings, 2 wrong options, not a data folder, or in use.
"""

BACKUP_EPILOG = """\b
Examples:
  shareq backup shareq-data /mnt/backups
      A backup now, beside the running broker. Segments that have not changed since the last one are not copied again.
  shareq backup shareq-data /mnt/backups --keep 7
      The same; then remove all but the newest seven.
  shareq backup --list /mnt/backups
      Which backups there are.
  shareq backup --check /mnt/backups
      Read every backup and compare its checksums.
  shareq restore /mnt/backups new-data && shareq serve --data-dir new-data
      Go on from the newest backup.

\b
A backup shows one moment, as if the broker had been killed then: nothing that was answered before it began is missing.
It counts once it is complete and was read back. It holds records and credentials: DEST is readable for its owner only.

\b
Exit codes: 0 done, 1 failed (one line on stderr says why), 2 wrong options, or DEST is not a folder of backups.
"""

RESTORE_EPILOG = """\b
Examples:
  shareq restore /mnt/backups new-data
      The newest backup, into a folder that is absent or empty.
  shareq restore /mnt/backups new-data --backup 20260301T040000.000Z
      The one of that name in shareq backup --list /mnt/backups.

\b
Every checksum is compared. The cluster id stays the same, so do topic ids, groups, offsets and transactions.

\b
Exit codes: 0 done, 1 failed (one line on stderr says why), 2 wrong options, or DATA is not empty.
"""


IMPORT_EPILOG = """\b
Example:
  shareq import-logs /var/lib/kafka/data new-data && shareq serve --data-dir new-data
      Go on with the topics of a broker of Apache Kafka that was stopped.

\b
KAFKA is a folder of log.dirs with all partitions of all topics, and the metadata (KRaft). It is only read.
Topics keep their names, ids, records, offsets and properties; groups their committed offsets; the cluster its id.
ACLs, users, quotas and properties of brokers are left out, with a line on stderr.

\b
Exit codes: 0 done, 1 failed (one line on stderr says why), 2 wrong options, KAFKA is in use or not Apache Kafka's, or
DATA is not empty.
"""


EXPORT_EPILOG = """\b
Example:
  kafka-storage.sh format --cluster-id=ID --feature share.version=0 --feature eligible.leader.replicas.version=0 \\
      -c server.properties
  shareq export-logs shareq-data /var/lib/kafka/data
      Then kafka-server-start.sh server.properties goes on with the topics. Without an ID, a refusal says it.

\b
DATA is only read, and must not be in use. KAFKA is the folder (log.dirs) that was formatted, and was not started yet.
Topics keep their names, ids, records, offsets and properties; groups their committed offsets.
ACLs, users, quotas and properties of brokers are left out.

\b
Exit codes: 0 done, 1 failed (one line on stderr says why), 2 wrong options, DATA is in use, or KAFKA is not as above.
"""


class _Command(click.Command):
    """A command whose help and version may have nowhere to go. They are printed while its options are parsed."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        try:
            return super().make_context(info_name, args, parent, **extra)
        except OSError as error:
            _drop_standard_output()
            exit_with(FAILURE, f"standard output cannot be written: {error.strerror}")


class _Commands(_Command, click.Group):
    """The command line over standard streams that may be closed. What asks a cluster is imported when it is called."""

    command_class = _Command

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *CLUSTER_COMMANDS, WORKER]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from shareq.ops.cli import write_commands

        write_commands(self, ctx, formatter)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            from difflib import get_close_matches

            near = get_close_matches(args[0], self.list_commands(ctx), 1)
            hint = f"did you mean {near[0]}? " if near else ""
            exit_with(USAGE_ERROR, f"there is no command {args[0][:40]}; {hint}--help shows them all")

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == WORKER:
            from shareq.ops.cli.worker import worker

            return worker
        if cmd_name not in CLUSTER_COMMANDS:
            return super().get_command(ctx, cmd_name)
        from shareq.ops.cli import command_of

        return command_of(cmd_name)

    def main(self, *args: Any, **kwargs: Any) -> Any:
        gc.enable()  # it was disabled while modules were imported
        _fill_standard_streams()
        try:
            return super().main(*args, **kwargs)
        except CommandEnd as end:
            end.say_why()
            raise


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="shareq", message="%(prog)s %(version)s")
def main() -> None:
    """A Kafka-wire-compatible broker for queues: share groups in one process.

    shareq serve runs the broker. topics, produce, consume, share, dlq and the others work on a running cluster, shareq
    or Apache Kafka, by default at 127.0.0.1:9092 (-b says where). What is stuck is shown by shareq top, share lag and
    share records. Each command has --help with examples.
    """


@main.command(epilog=EPILOG)
@click.option("--listen", metavar="HOST:PORT", help="Address to listen on [default: 127.0.0.1:9092]. Port 0: any free.")
@click.option("--advertise", metavar="HOST:PORT", help="Address that clients are to connect to, if it is another one.")
@click.option(
    "--insecure",
    is_flag=True,
    envvar="SHAREQ_INSECURE",
    show_envvar=True,
    help="Serve other machines without authentication, too.",
)
@click.option("--data-dir", metavar="DIR", help="Folder of all data, created if absent [default: ./shareq-data].")
@click.option("--config", "config_file", metavar="FILE", help="A server.properties file with Apache Kafka's names.")
@click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="One property, over the file. Repeatable.")
@click.option("--feature", "features", metavar="NAME=LEVEL", multiple=True, help="A feature's level. Repeatable.")
@click.option("--metrics", metavar="HOST:PORT", help="Serve metrics for Prometheus at this address [default: nowhere].")
@click.option(
    "--ephemeral",
    is_flag=True,
    help="For tests: data in a folder that is removed, any free port, the address as JSON, the end with its parent.",
)
@click.option(
    "--add-scram",
    "scram_users",
    metavar="USER",
    multiple=True,
    help="A SCRAM user, added if there is none of the name: SCRAM-SHA-256=[name=NAME,password-file=FILE]. Repeatable.",
)
@click.option(
    "--records-api", metavar="HOST:PORT", help="Serve the state of each record at this address [default: nowhere]."
)
@click.option("--records-api-token-file", metavar="FILE", help="The token that requests to it need.")
@click.option("--console", metavar="HOST:PORT", help="Serve a web console at this address [default: nowhere].")
@click.option("--console-token-file", metavar="FILE", help="The token for changes by the console, and its records API.")
@click.option("--console-config", metavar="FILE", help="Properties of a client, for a broker that wants a login of it.")
@click.option(
    "--log-level",
    metavar="LEVEL",
    envvar="SHAREQ_LOG_LEVEL",
    show_envvar=True,
    default="INFO",
    show_default=True,
    help="DEBUG, INFO, WARNING, ERROR or CRITICAL; for parts of the broker, too: LEVEL,LOGGER=LEVEL,...",
)
@click.option(
    "--log-format",
    metavar="FORMAT",
    envvar="SHAREQ_LOG_FORMAT",
    show_envvar=True,
    default="text",
    show_default=True,
    help="text, or json: one object a line.",
)
def serve(
    listen: str | None,
    advertise: str | None,
    insecure: bool,
    data_dir: str | None,
    config_file: str | None,
    settings: tuple[str, ...],
    features: tuple[str, ...],
    metrics: str | None,
    ephemeral: bool,
    scram_users: tuple[str, ...],
    records_api: str | None,
    records_api_token_file: str | None,
    console: str | None,
    console_token_file: str | None,
    console_config: str | None,
    log_level: str,
    log_format: str,
) -> None:
    """Run the broker until SIGTERM, SIGINT or, without TLS, SIGHUP.

    Prints one line with its addresses and the data folder once it listens; that is when every log has been recovered.
    Where clients are to connect to other addresses (advertised.listeners), these are in the line, too.
    On a signal it stops accepting, answers what is in flight, writes everything out and exits with 0.
    """
    gc.disable()  # until the broker listens: importing makes little garbage and many objects to look at
    configure_log(log_level, log_format)
    refuse_secrets(settings)
    if ephemeral:
        from shareq.broker.process.ephemeral import serve_ephemeral

        if data_dir is not None:
            exit_with(USAGE_ERROR, "--ephemeral: --data-dir: its data is in a folder of its own, which is removed")

    from shareq.broker.process.serve import serve_forever
    from shareq.broker.process.sockets import ServeError

    def run(folder: str | None, address: str | None, ready: Callable[[Server, str | None], None]) -> None:
        wanted = wanted_of(
            address,
            advertise,
            folder,
            config_file,
            settings,
            features,
            metrics,
            scram_users,
            records_api,
            records_api_token_file,
            console,
            console_token_file,
            console_config,
        )
        serve_forever(wanted, insecure=insecure, ready=ready)

    try:
        if ephemeral:
            serve_ephemeral(run, listen)
        else:
            run(data_dir, listen, _say_ready)
    except ServeError as error:
        exit_with(USAGE_ERROR if error.usage else FAILURE, str(error))


@main.command(epilog=CHECK_EPILOG)
@click.argument("address", metavar="HOST:PORT")
@click.option("--timeout", "timeout_s", metavar="SECONDS", default=5.0, show_default=True, help="When to give up.")
@click.option("--command-config", "config_file", metavar="FILE", help="Properties of a client, for TLS and SASL.")
@click.option(
    "--command-property",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    help="One property, over the file. Repeatable.",
)
def check(address: str, timeout_s: float, config_file: str | None, settings: tuple[str, ...]) -> None:
    """Ask a running broker for ApiVersions, as any client does first. Works without authentication, too.

    With properties of a client it also shakes hands and logs in as they say.
    """
    host, port = host_and_port("check", address, 9092)
    if not 0 < timeout_s <= MAX_CHECK_TIMEOUT_S:
        exit_with(USAGE_ERROR, f"--timeout {timeout_s:g}: must be above 0 and at most {MAX_CHECK_TIMEOUT_S:g}")
    if config_file is not None or settings:
        properties = {} if config_file is None else read_properties(config_file, "--command-config")
        _check_as_client(host, port, properties | pairs("--command-property", settings), timeout_s)
        return
    from shareq.broker.process.health import UnhealthyError
    from shareq.broker.process.health import check as check_broker

    try:
        check_broker(host, port, timeout_s)
    except UnhealthyError as error:
        exit_with(FAILURE, f"{address}: {error}")


def _check_as_client(host: str, port: int, properties: Mapping[str, str], timeout_s: float) -> None:
    from shareq.ops.cli.check import ClientError, ConfigError
    from shareq.ops.cli.check import check as check_as_client

    try:
        check_as_client(host, port, properties, timeout_s)
    except ConfigError as error:
        exit_with(USAGE_ERROR, str(error))
    except ClientError as error:
        exit_with(FAILURE, str(error))


@main.command(epilog=VERIFY_EPILOG)
@click.argument("data")
@click.option("--repair", is_flag=True, help="Repair what is certain, and what the options below allow.")
@click.option("--skip-damage", is_flag=True, help="Give up what cannot be read inside of logs.")
@click.option("--cut-tails", is_flag=True, help="Give up what cannot be read at the end of logs.")
@click.option("--adopt", metavar="FOLDER", multiple=True, help="Make a folder's topic known again; or all. Repeatable.")
@click.option("--set-aside", metavar="FOLDER", multiple=True, help="Rename a folder out of the way. Repeatable.")
@click.option("--trust", type=click.Choice(["meta.db", "metadata.journal"]), help="Which metadata to believe.")
@click.option("--records", is_flag=True, help="Decode the records of every topic, too; takes longer.")
@click.option("--json", "as_json", is_flag=True, help="For machines.")
def verify(
    data: str,
    repair: bool,
    skip_damage: bool,
    cut_tails: bool,
    adopt: tuple[str, ...],
    set_aside: tuple[str, ...],
    trust: str | None,
    records: bool,
    as_json: bool,
) -> None:
    """Check every file of the data folder DATA: checksums, indexes, offsets, internal records, metadata."""
    if not repair and (skip_damage or cut_tails or adopt or set_aside or trust):
        exit_with(USAGE_ERROR, "verify: that option changes files; give --repair, too")
    from shareq.broker.maintenance import verify_command
    from shareq.broker.maintenance.repair.apply import Choices

    choices = Choices(skip_damage, cut_tails, frozenset(adopt), frozenset(set_aside), trust or "") if repair else None
    with _one_line_errors():
        if not verify_command.verify(data, choices, click.echo, _say_aside, decode=records, as_json=as_json):
            raise SystemExit(FAILURE)


@main.command(epilog=BACKUP_EPILOG)
@click.argument("data", required=False)
@click.argument("dest", required=False)
@click.option("--keep", metavar="N", type=click.IntRange(1), help="Remove all backups but the newest N afterwards.")
@click.option(
    "--patience",
    "patience_s",
    metavar="SECONDS",
    type=click.FloatRange(0, MAX_PATIENCE_S),
    default=30.0,
    show_default=True,
    help="How long to look for a moment at which no transaction is being written.",
)
@click.option("--list", "listed", metavar="DEST", help="Print the backups in DEST and do nothing else.")
@click.option("--check", "checked", metavar="DEST", help="Read all backups in DEST and do nothing else.")
@click.option("--json", "as_json", is_flag=True, help="With --list: for machines.")
def backup(
    data: str | None,
    dest: str | None,
    keep: int | None,
    patience_s: float,
    listed: str | None,
    checked: str | None,
    as_json: bool,
) -> None:
    """Back up the data folder DATA into DEST, a folder of backups; the broker may be running.

    DEST is made if it is absent or empty, and holds backups of one cluster.
    """
    from shareq.broker.maintenance.backup import command

    with _one_line_errors():
        if listed is not None and data is None:
            command.list_backups(listed, as_json, click.echo)
        elif checked is not None and data is None:
            if not command.check_backups(checked, click.echo, _say_aside):
                raise SystemExit(FAILURE)
        elif data is None or dest is None or listed is not None or checked is not None:
            exit_with(USAGE_ERROR, "backup: give DATA and DEST, or --list DEST, or --check DEST")
        else:
            command.backup(data, dest, keep, patience_s, click.echo, _say_aside)


@main.command(epilog=RESTORE_EPILOG)
@click.argument("dest")
@click.argument("data")
@click.option("--backup", "name", metavar="NAME", help="Which one [default: the newest].")
def restore(dest: str, data: str, name: str | None) -> None:
    """Make DATA, an absent or empty folder, what a backup in DEST has."""
    from shareq.broker.maintenance.backup import command

    with _one_line_errors():
        command.restore(dest, data, name, click.echo, _say_aside)


@main.command(name="import-logs", epilog=IMPORT_EPILOG)
@click.argument("kafka")
@click.argument("data")
def import_logs(kafka: str, data: str) -> None:
    """Make DATA, an absent or empty folder, of the data folder KAFKA of Apache Kafka 4."""
    from shareq.broker.maintenance.neighbour import command

    with _one_line_errors():
        command.import_logs(kafka, data, click.echo, _say_aside)


@main.command(name="export-logs", epilog=EXPORT_EPILOG)
@click.argument("data")
@click.argument("kafka")
def export_logs(data: str, kafka: str) -> None:
    """Fill KAFKA, a folder that Apache Kafka 4.3 has formatted, with the topics of the data folder DATA."""
    from shareq.broker.maintenance.neighbour import command

    with _one_line_errors():
        command.export_logs(data, kafka, click.echo)


@contextmanager
def _one_line_errors() -> Iterator[None]:
    """End with one line and the exit code when a command of maintenance cannot go on."""
    from shareq.broker.maintenance.errors import MaintenanceError

    try:
        yield
    except MaintenanceError as error:
        exit_with(USAGE_ERROR if error.usage else FAILURE, str(error))
    except OSError as error:
        exit_with(FAILURE, f"{error.filename}: {error.strerror}" if error.filename else str(error))


def _say_aside(line: str) -> None:
    click.echo(line, err=True)


def _say_ready(server: Server, console_url: str | None) -> None:
    addresses, advertised = server.addresses, server.advertised
    clients = f", clients connect to {', '.join(advertised)}" if advertised != addresses else ""
    metrics = f", metrics at {server.metrics_url}" if server.metrics_url is not None else ""
    records = f", records API at {server.records_api_url}" if server.records_api_url is not None else ""
    console = f", console at {console_url}" if console_url is not None else ""
    where = f"listening on {', '.join(addresses)}{clients}, data in {server.data_dir}{metrics}{records}{console}"
    try:
        click.echo(f"shareq {__version__} {where}")
    except OSError as error:  # it serves all the same, as it would with a line that no one reads
        _drop_standard_output()
        logger.warning("standard output cannot be written: %s", error.strerror)


def _fill_standard_streams() -> None:
    """Open the null device where a standard stream is closed: other files would get its number, and what is printed."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:  # the lowest free number is this one
            setattr(sys, name, open(os.devnull, "w" if number else "r"))  # noqa: SIM115


def _drop_standard_output() -> None:
    """Else Python tries to write what is left of it once more at the end, and complains."""
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115
