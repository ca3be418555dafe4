"""Data folders in released formats: every later build starts on them, and finds everything."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

import tests.fixtures.data_folders.contents as fixture
from devtools.clients.requests import create_topic
from devtools.clients.wire import WireClient
from shareq.broker.maintenance.backup.metadata import copy_metadata
from shareq.broker.metadata.format_version import FORMAT_VERSION
from shareq.client.errors import ClientError
from shareq.ops.cli.check import let_in
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from shareq.protocol.generated.update_features import FeatureUpdateKey, UpdateFeaturesRequest, UpdateFeaturesResponse
from shareq.protocol.names import DLQ_GROUP_ENABLE
from shareq.testing import Broker
from tests.fixtures.data_folders import secrets
from tests.support.archives import unpack
from tests.support.clients.shareq_cli import Shell
from tests.support.waiting import until

SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
SHARE_VERSION = "share.version"
STOPS = ("clean", "killed")
QUEUE_OF_LETTERS = "dlq.queue"
TEN_YEARS_MS = 10 * 365 * 86_400_000

ARCHIVES = sorted(Path(fixture.__file__).parent.glob("format-*.tar.gz"))
WITH_SECRETS = sorted(Path(fixture.__file__).parent.glob("secrets-*.tar.gz"))


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.name)
def test_a_released_data_folder_opens_with_everything_in_it(tmp_path: Path, archive: Path) -> None:
    with tarfile.open(archive) as packed:
        unpack(packed, tmp_path)
    with fixture.broker_on(str(tmp_path / "data")) as broker:
        found = fixture.look(broker)
        assert found == fixture.expected(found.cluster_id, found.topics)
        assert {name: topic.partitions for name, topic in found.topics.items()} == fixture.PARTITIONS
        broker.kill()  # what an upgrade wrote is there after a crash, too
        broker.clock.ahead_ms = TEN_YEARS_MS  # and years later: the next build may be a late one
        broker.start()
        again = fixture.look(broker)
    for value, deliveries in found.queued.items():
        found.queued[value] = deliveries + 1
    assert again == found


@pytest.mark.parametrize("archive", WITH_SECRETS, ids=lambda path: path.name)
def test_the_secrets_of_a_released_data_folder_survive(tmp_path: Path, archive: Path) -> None:
    """The folder has users with passwords, rights, quotas, a keystore's password, and internal secrets."""
    with tarfile.open(archive) as packed:
        unpack(packed, tmp_path)
    asked = secrets.Asked(**json.loads((tmp_path / "asked.json").read_text()))
    with Broker(config=secrets.SETTINGS, data_dir=tmp_path / "data") as broker:
        assert secrets.asked(broker) == asked
        let_in(broker.host, broker.port, login(secrets.PASSWORD), 10)
        with pytest.raises(ClientError):
            let_in(broker.host, broker.port, login("guess"), 10)
        broker.kill()
        broker.start()
        assert secrets.asked(broker) == asked
    found, put = copy_metadata(str(tmp_path / "data")).state, secrets.rows()
    for kind in secrets.KINDS:
        assert getattr(found, kind) == getattr(put, kind), kind
    assert found.meta[secrets.OWN_SECRET]


def login(password: str) -> dict[str, str]:
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": secrets.MECHANISM,
        "sasl.jaas.config": f'{SCRAM_MODULE} required username="carol" password="{password}";',
    }


@pytest.mark.parametrize("name", ["format-1-killed.tar.gz", "format-2-clean.tar.gz"])
def test_a_released_data_folder_is_raised_to_dead_letters(tmp_path: Path, name: str) -> None:
    """The folder's level stays until an operator raises it; then the group's dead records become letters."""
    with tarfile.open(Path(fixture.__file__).with_name(name)) as packed:
        unpack(packed, tmp_path)
    with fixture.broker_on(str(tmp_path / "data")) as broker, WireClient(broker.address) as client:
        shell = Shell(broker.bootstrap)
        create_topic(client, QUEUE_OF_LETTERS, 1, configs={DLQ_GROUP_ENABLE: "true"})
        shell.ok(
            *("configs", "alter", "group", fixture.SHARE_GROUP),
            *("--set", f"errors.deadletterqueue.topic.name={QUEUE_OF_LETTERS}"),
        )
        assert level(client) == 1
        reject_one(shell)
        assert letters(shell) == []
        raised = UpdateFeaturesRequest(30_000, [FeatureUpdateKey(SHARE_VERSION, 2, upgrade_type=1)])
        assert client.call(raised, 1, UpdateFeaturesResponse).error_code == ErrorCode.NONE
        reject_one(shell)
        (letter,) = until(lambda: letters(shell))
        broker.kill()
        broker.start()
        assert letters(shell) == [letter]
    with fixture.broker_on(str(tmp_path / "data")) as broker, WireClient(broker.address) as client:
        assert level(client) == 2
        assert letters(Shell(broker.bootstrap)) == [letter]


def level(client: WireClient) -> int:
    answer = client.call(ApiVersionsRequest("test", "1"), 3, ApiVersionsResponse)
    return {each.name: each.max_version_level for each in answer.finalized_features}[SHARE_VERSION]


def reject_one(shell: Shell) -> None:
    shell.ok("share", "consume", fixture.SHARE_GROUP, "--topic", fixture.QUEUE, "-n", "1", "--then", "reject")


def letters(shell: Shell) -> list[object]:
    return list(shell.json("dlq", "show", QUEUE_OF_LETTERS))


def test_there_is_a_folder_of_each_format_and_each_kind_of_stop() -> None:
    """Format 2 is there twice: its first builds knew neither `log-manifest` nor a `clean-shutdown`
    with anything in it.
    """
    eras = ("format-1", "format-2", "format-2-manifest")
    kept = {f"{era}-{stop}.tar.gz" for era in eras for stop in STOPS}
    assert {path.name for path in ARCHIVES} == kept
    assert {path.name for path in WITH_SECRETS} == {f"secrets-{FORMAT_VERSION}-{stop}.tar.gz" for stop in STOPS}
    newest = max(int(path.name.split("-")[1]) for path in ARCHIVES)
    assert newest == FORMAT_VERSION, "keep a folder of a format before there is the next one"
    assert {path.name for path in ARCHIVES if {"log-manifest"} & names_in(path)} == {
        "format-2-manifest-clean.tar.gz",
        "format-2-manifest-killed.tar.gz",
    }


def names_in(archive: Path) -> set[str]:
    with tarfile.open(archive) as packed:
        return {Path(name).name for name in packed.getnames() if name.count("/") == 1}
