"""`shareq migrate`: moves topics with their records, and the progress of groups, from one cluster to another."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Final

import click

from shareq.client.config import ClientConfig
from shareq.client.errors import ConfigError
from shareq.client.network import Network
from shareq.ops.cli.output.progress import Progress as Line
from shareq.ops.cli.shared.command import Session, cluster_command, dry_run_option
from shareq.ops.cli.shared.exits import REFUSED, USAGE, exit_with
from shareq.ops.cli.shared.profile import FIRST_CONTACT_MS, client_config
from shareq.ops.migrate.broker import SourceCluster, TargetCluster
from shareq.ops.migrate.broker_access import AccessOf
from shareq.ops.migrate.broker_groups import GroupsOfSource, GroupsOfTarget
from shareq.ops.migrate.folder import FolderBroker, Use, is_folder
from shareq.ops.migrate.groups import GroupOptions, Groups
from shareq.ops.migrate.report import FAILED, MigrationRow
from shareq.ops.migrate.run import Migration, Options, Progress

EXAMPLES: Final = """\
  shareq migrate old.example.com:9092 new.example.com:9092 --dry-run
  shareq migrate old.example.com:9092 new.example.com:9092
  shareq migrate old.example.com:9092 new.example.com:9092 --topic 'orders*' --cut-over
  shareq migrate old.example.com:9092 new.example.com:9092 --verify-only --json
  shareq migrate /var/lib/shareq new.example.com:9092 --cut-over"""
_MB: Final = 1e6
_COLUMNS: Final = ("kind", "name", "partition", "outcome", "source_start", "source_end", "target_end", "bytes", "note")


class _Pace:
    """The progress line: bytes, rate, and the remaining time."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._began_s = time.monotonic()
        self._total: int | None = None
        self._copied = 0
        self._compared = 0
        self._cut_over_at_s = 0.0
        self.cut_over_s: float | None = None

    def planned(self, size: int | None) -> None:
        self._total = size
        self._began_s = time.monotonic()

    def copied(self, size: int) -> None:
        self._copied += size
        self._show()

    def compared(self, size: int) -> None:
        self._compared += size
        self._show()

    def _show(self) -> None:
        total = "" if self._total is None else f" of at most {self._total / _MB:,.0f}"
        rate = self._copied / max(time.monotonic() - self._began_s, 0.001)
        left = "" if self._total is None else f", {max(self._total - self._copied, 0) / max(rate, 1):,.0f} s left"
        compared = f"compared {self._compared / _MB:,.0f}"
        self._line.show(f"copied {self._copied / _MB:,.0f}{total} MB, {compared}, {rate / _MB:,.1f} MB/s{left}")

    def cut_over(self, begins: bool) -> None:
        if begins:
            self._cut_over_at_s = time.monotonic()
        else:
            self.cut_over_s = time.monotonic() - self._cut_over_at_s


@cluster_command(
    None, "migrate", EXAMPLES, row=MigrationRow, columns=_COLUMNS, empty="nothing to move", addressed=False
)
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option(
    "--topic", "topics", metavar="NAME", multiple=True, help="Only this topic; * and ? as in a shell. Repeatable."
)
@click.option("--group", "groups", metavar="NAME", multiple=True, help="Only this group; * and ? as above. Repeatable.")
@click.option(
    "--to-config",
    metavar="FILE",
    help="Properties of a Kafka client for TO; without it, --config is for both clusters.",
)
@click.option("--cut-over", is_flag=True, help="The last run: groups move, and TO is opened for producers and workers.")
@click.option(
    "--at-least-once",
    is_flag=True,
    help="Where TO takes no states of share groups: move their start offsets, and have what is done behind them again.",
)
@click.option("--verify-only", is_flag=True, help="Compare what was copied, and change nothing.")
@dry_run_option
def command(
    session: Session,
    source: str,
    target: str,
    topics: tuple[str, ...],
    to_config: str | None,
    groups: tuple[str, ...],
    cut_over: bool,
    at_least_once: bool,
    verify_only: bool,
    dry_run: bool,
) -> Iterator[MigrationRow]:
    """Move topics with their records, and groups, from the cluster FROM to the cluster TO: HOST:PORT, or a data folder.

    Either is shareq, a node, or Apache Kafka. The command serves a folder by a broker of its own until it ends; the
    name of a new folder must contain a /. FROM stays in use, and is not changed before --cut-over, which lets share
    groups confirm nothing more there. After any end of a run, the next one continues, and copies the records added
    meanwhile. Topics that already exist at TO, and that no run has created, are refused.
    """
    if verify_only and (cut_over or dry_run):
        exit_with(USAGE, "migrate: --verify-only changes nothing; give it without --cut-over and --dry-run")
    use: Use = "pretend" if verify_only or dry_run else "to"
    with ExitStack() as opened:
        old = _network(opened, _config(opened, session, source, None, "from"))
        new = _network(opened, _config(opened, session, target, to_config, use))
        line = opened.enter_context(Line())
        pace = _Pace(line)
        progress = Progress(pace.planned, pace.copied, pace.compared, pace.cut_over)
        from_cluster, to_cluster = SourceCluster(old), TargetCluster(new)
        of_old = GroupsOfSource(from_cluster, lies_still=is_folder(source))
        of_new = GroupsOfTarget(to_cluster)
        group_options = GroupOptions(groups, at_least_once)
        migration = Migration(
            from_cluster,
            to_cluster,
            Options(topics, cut_over),
            lambda topic: Groups(of_old, of_new, topic, group_options),
            None if topics or groups else (AccessOf(from_cluster.admin), AccessOf(to_cluster.admin)),
            progress,
        )
        for row in _rows(migration, verify_only=verify_only, dry_run=dry_run):
            if row.outcome in FAILED:
                session.code = REFUSED
            yield row
        if pace.cut_over_s is not None:
            session.notes.append(f"the cut-over took {pace.cut_over_s:.1f} s")


def _rows(migration: Migration, *, verify_only: bool, dry_run: bool) -> Iterator[MigrationRow]:
    if verify_only:
        return migration.verify_only()
    planned = migration.plan()
    return migration.planned_rows(planned) if dry_run else migration.run(planned)


def _config(opened: ExitStack, session: Session, where: str, file: str | None, use: Use) -> ClientConfig:
    if is_folder(where):
        broker = FolderBroker(where, use)
        opened.callback(broker.close)
        return replace(session.config, bootstrap_servers=(broker.address,), tls=None, sasl=broker.login)
    if file is not None:
        return client_config(where, file, None, (), session.config.default_api_timeout_ms / 1000)
    try:
        servers = ClientConfig.from_properties({"bootstrap.servers": where}).bootstrap_servers
    except ConfigError as error:
        exit_with(USAGE, f"{error}, or a data folder")
    return replace(session.config, bootstrap_servers=servers)


def _network(opened: ExitStack, config: ClientConfig) -> Network:
    network = Network(config)
    opened.callback(network.close)
    network.brokers(timeout_ms=min(FIRST_CONTACT_MS, config.default_api_timeout_ms))
    return network
