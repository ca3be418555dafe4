"""Commands about a data folder: verify, backup, restore, import-logs, export-logs. The work itself is done by
`shareq.broker.maintenance`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import click

from shareq.ops.cli.shared.entry import UnixCommand, own_command
from shareq.ops.cli.shared.exits import REFUSED, USAGE, exit_with

MAX_PATIENCE_S: Final = 3600.0

VERIFY_EPILOG: Final = """\b
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
BACKUP_EPILOG: Final = """\b
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
RESTORE_EPILOG: Final = """\b
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
IMPORT_EPILOG: Final = """\b
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
EXPORT_EPILOG: Final = """\b
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


@own_command("verify", VERIFY_EPILOG, UnixCommand)
@click.argument("data")
@click.option("--repair", is_flag=True, help="Make unambiguous repairs, and those that the options below allow.")
@click.option("--skip-damage", is_flag=True, help="Give up unreadable data inside of logs.")
@click.option("--cut-tails", is_flag=True, help="Give up unreadable data at the end of logs.")
@click.option(
    "--adopt",
    metavar="FOLDER",
    multiple=True,
    help="Make the topic of this folder (or of all) known again. Repeatable.",
)
@click.option(
    "--set-aside", metavar="FOLDER", multiple=True, help="Rename this folder (or all) out of the way. Repeatable."
)
@click.option("--trust", type=click.Choice(["meta.db", "metadata.journal"]), help="The copy of the metadata to trust.")
@click.option("--records", is_flag=True, help="Decode the records of every topic, too; takes longer.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
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
        exit_with(USAGE, "verify: that option changes files; give --repair, too")
    from shareq.broker.maintenance import verify_command
    from shareq.broker.maintenance.repair.apply import Choices

    choices = Choices(skip_damage, cut_tails, frozenset(adopt), frozenset(set_aside), trust or "") if repair else None
    with _one_line_errors():
        if not verify_command.verify(data, choices, click.echo, _say_aside, decode=records, as_json=as_json):
            raise SystemExit(REFUSED)


@own_command("backup", BACKUP_EPILOG, UnixCommand)
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
    help="How long to wait for a moment at which no transaction is open.",
)
@click.option("--list", "listed", metavar="DEST", help="Print the backups in DEST and do nothing else.")
@click.option("--check", "checked", metavar="DEST", help="Read all backups in DEST and do nothing else.")
@click.option("--json", "as_json", is_flag=True, help="With --list: print JSON.")
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
                raise SystemExit(REFUSED)
        elif data is None or dest is None or listed is not None or checked is not None:
            exit_with(USAGE, "backup: give DATA and DEST, or --list DEST, or --check DEST")
        else:
            command.backup(data, dest, keep, patience_s, click.echo, _say_aside)


@own_command("restore", RESTORE_EPILOG, UnixCommand)
@click.argument("dest")
@click.argument("data")
@click.option("--backup", "name", metavar="NAME", help="The backup to restore [default: the newest].")
def restore(dest: str, data: str, name: str | None) -> None:
    """Restore a backup in DEST to DATA, an absent or empty folder."""
    from shareq.broker.maintenance.backup import command

    with _one_line_errors():
        command.restore(dest, data, name, click.echo, _say_aside)


@own_command("import-logs", IMPORT_EPILOG, UnixCommand)
@click.argument("kafka")
@click.argument("data")
def import_logs(kafka: str, data: str) -> None:
    """Make DATA, an absent or empty folder, of the data folder KAFKA of Apache Kafka 4."""
    from shareq.broker.maintenance.neighbour import command

    with _one_line_errors():
        command.import_logs(kafka, data, click.echo, _say_aside)


@own_command("export-logs", EXPORT_EPILOG, UnixCommand)
@click.argument("data")
@click.argument("kafka")
def export_logs(data: str, kafka: str) -> None:
    """Fill KAFKA, a folder that Apache Kafka 4.3 has formatted, with the topics of the data folder DATA."""
    from shareq.broker.maintenance.neighbour import command

    with _one_line_errors():
        command.export_logs(data, kafka, click.echo)


@contextmanager
def _one_line_errors() -> Iterator[None]:
    """End with one line and the exit code when a maintenance command cannot continue."""
    from shareq.broker.maintenance.errors import MaintenanceError

    try:
        yield
    except MaintenanceError as error:
        exit_with(USAGE if error.usage else REFUSED, str(error))
    except OSError as error:
        exit_with(REFUSED, f"{error.filename}: {error.strerror}" if error.filename else str(error))


def _say_aside(line: str) -> None:
    click.echo(line, err=True)


commands: Final = {str(each.name): each for each in (verify, backup, restore, import_logs, export_logs)}
