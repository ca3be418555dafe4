from __future__ import annotations

from pathlib import Path

import pytest

from devtools.kafka.apache_kafka import META_PROPERTIES, ApacheKafka, FormattedFolders, without_share_groups

FEATURES = "__cluster_metadata-0/0.checkpoint"


@pytest.mark.parametrize(("version", "has_them"), [("3.9.1", False), ("4.0", False), ("4.1", True), ("4.4", True)])
def test_share_groups_are_switched_off_where_a_release_has_them(version: str, has_them: bool) -> None:
    """The option is left out for releases that do not know the feature, because they refuse it."""
    assert without_share_groups(version) == (("--feature", "share.version=0") if has_them else ())


def test_a_folder_is_formatted_once_and_copied_with_ids_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[ApacheKafka] = []

    def format_by_tool(kafka: ApacheKafka, properties: Path) -> None:
        made.append(kafka)
        data = properties.parent / "data"
        (data / "__cluster_metadata-0").mkdir(parents=True)
        (data / FEATURES).write_bytes(b"\xff of " + ",".join(kafka.format_options).encode())
        lines = f"#\ncluster.id={kafka.cluster_id}\ndirectory.id=made-by-tool\nnode.id=1\nversion=1\n"
        (data / META_PROPERTIES).write_text(lines)

    monkeypatch.setattr(ApacheKafka, "_format_by_tool", format_by_tool)
    formatted, option = FormattedFolders(), ("--add-scram", "a user")
    brokers = [
        ApacheKafka(tmp_path / name, settings, port=1, format_options=options, formatted=formatted)
        for name, settings, options in (
            ("first", {}, ()),
            ("another port", {"log.retention.ms": "1"}, ()),
            ("a user", {}, option),
            ("other features", {"unstable.feature.versions.enable": "true"}, ()),
            ("a user again", {}, option),
        )
    ]
    for broker in brokers:
        broker.format()
        broker.format()
    assert [broker.folder.name for broker in made] == ["first", "a user", "other features"]
    for broker in brokers:
        data = broker.folder / "data"
        assert (data / FEATURES).read_bytes().endswith(",".join(broker.format_options).encode())
        lines = (data / META_PROPERTIES).read_text().splitlines()
        assert lines[1:2] + lines[3:] == [f"cluster.id={broker.cluster_id}", "node.id=1", "version=1"]
        assert (lines[2] == "directory.id=made-by-tool") is (broker in made)
        assert f"log.dirs={data}\n" in (broker.folder / "server.properties").read_text()
