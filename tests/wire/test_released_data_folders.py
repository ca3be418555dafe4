"""Data folders that released formats left behind: every later build starts on them, and finds everything."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

import tests.fixtures.data_folders.contents as fixture
from shareq.broker.metadata.format_version import FORMAT_VERSION

ARCHIVES = sorted(Path(fixture.__file__).parent.glob("*.tar.gz"))


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.name)
def test_a_released_data_folder_opens_with_everything_in_it(tmp_path: Path, archive: Path) -> None:
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    with fixture.broker_on(str(tmp_path / "data")) as broker:
        found = fixture.look(broker)
        assert found == fixture.expected(found.cluster_id, found.topics)
        assert {name: topic.partitions for name, topic in found.topics.items()} == fixture.PARTITIONS
        broker.kill()  # what an upgrade wrote is there after a crash, too
        broker.start()
        again = fixture.look(broker)
    for value, deliveries in found.queued.items():
        found.queued[value] = deliveries + 1
    assert again == found


def test_there_is_a_folder_of_each_format_and_each_kind_of_stop() -> None:
    """Of format 2 twice: its first builds knew neither `log-manifest` nor a `clean-shutdown` with anything in it."""
    eras = ("format-1", "format-2", "format-2-manifest")
    kept = {f"{era}-{stop}.tar.gz" for era in eras for stop in ("clean", "killed")}
    assert {path.name for path in ARCHIVES} == kept
    newest = max(int(path.name.split("-")[1]) for path in ARCHIVES)
    assert newest == FORMAT_VERSION, "keep a folder of a format before there is the next one"
    assert {path.name for path in ARCHIVES if {"log-manifest"} & names_in(path)} == {
        "format-2-manifest-clean.tar.gz",
        "format-2-manifest-killed.tar.gz",
    }


def names_in(archive: Path) -> set[str]:
    """Of the files beside the partitions' folders."""
    with tarfile.open(archive) as packed:
        return {Path(name).name for name in packed.getnames() if name.count("/") == 1}
