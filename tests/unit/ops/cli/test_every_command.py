"""Every command about a cluster, on our own broker; `tests/interop/test_cli.py` does the same on Apache Kafka."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shareq.testing import Broker
from tests.support import cli_scenes as scenes
from tests.support.clients.shareq_cli import LEAVES, Shell

STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


@pytest.fixture(scope="module")
def shell() -> Iterator[Shell]:
    with Broker(config={"authorizer.class.name": STANDARD, "super.users": "User:ANONYMOUS"}) as broker:
        yield Shell(broker.bootstrap)


def test_topics(shell: Shell) -> None:
    scenes.topics(shell)


def test_records(shell: Shell) -> None:
    scenes.records(shell)


def test_committed_records(shell: Shell) -> None:
    scenes.committed(shell)


def test_migration(shell: Shell) -> None:
    scenes.migration(shell, shell.environment["SHAREQ_BOOTSTRAP_SERVERS"] or "")


def test_share_groups(shell: Shell) -> None:
    scenes.share_groups(shell)


def test_share_records(shell: Shell) -> None:
    scenes.share_records(shell)


def test_paused_groups(shell: Shell) -> None:
    scenes.paused_groups(shell, known=True)


def test_consumer_groups(shell: Shell) -> None:
    scenes.consumer_groups(shell)


def test_configs(shell: Shell) -> None:
    scenes.configs(shell)


def test_access(shell: Shell, tmp_path: Path) -> None:
    scenes.access(shell, tmp_path)


def test_cluster(shell: Shell) -> None:
    scenes.cluster(shell)


def test_transactions(shell: Shell) -> None:
    scenes.transactions(shell)


def test_dead_letters(shell: Shell) -> None:
    scenes.dead_letters(shell, redrives=True)


def test_no_command_is_left_out(shell: Shell) -> None:
    if not {"topics list", "transactions abort"} <= shell.seen:
        pytest.skip("the other tests have not run in this process")
    assert set(LEAVES) - shell.seen == set()
