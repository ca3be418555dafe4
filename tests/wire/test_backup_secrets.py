"""Every user, right, secret and quota survives a backup beside the running broker, and its restore."""

from __future__ import annotations

from pathlib import Path

from shareq.broker.data_folder.comparison import CLUSTER_ID
from shareq.broker.data_folder.digest import digest_of
from shareq.broker.maintenance.backup.metadata import CopiedMetadata, copy_metadata
from shareq.testing import Broker
from tests.fixtures.data_folders.secrets import KINDS, OWN_SECRET, SETTINGS, asked, rows
from tests.wire.test_backup import done


def test_they_survive(tmp_path: Path) -> None:
    data, dest, restored = tmp_path / "data", tmp_path / "backups", tmp_path / "restored"
    state = rows()
    data.mkdir()
    copied = CopiedMetadata(state.meta[CLUSTER_ID], state, 1, digest_of(state))
    for name, content in copied.files().items():
        (data / name).write_bytes(content)
    with Broker(config=SETTINGS, data_dir=data) as broker:
        before_backup = asked(broker)
        done("backup", data, dest)
    done("restore", dest, restored)
    before, after = copy_metadata(str(data)).state, copy_metadata(str(restored)).state
    assert after == before
    for kind in KINDS:
        assert getattr(after, kind) == getattr(state, kind), kind
        assert getattr(after, kind), kind
    assert after.features["share.version"] == 0
    assert after.meta[OWN_SECRET]
    with Broker(config=SETTINGS, data_dir=restored) as broker:
        assert asked(broker) == before_backup, "else a client sees which users there are"
