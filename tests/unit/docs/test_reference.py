"""docs/reference/ is what the code says, and leaves nothing out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts import reference
from shareq.broker.config.group_config import GROUP_KEYS
from shareq.broker.config.keys.broker import BROKER_KEYS
from shareq.broker.config.topic_config import TOPIC_KEYS
from shareq.broker.dispatch.table import HANDLERS
from tests.support.clients.shareq_cli import LEAVES

PAGES = reference.pages()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_as_it_would_be_made_now(name: str) -> None:
    assert (reference.FOLDER / name).read_text() == PAGES[name], "make reference"


def test_there_is_no_page_that_is_not_made() -> None:
    assert {path.name for path in reference.FOLDER.iterdir()} == PAGES.keys()


def test_every_property_has_a_row_with_what_it_does() -> None:
    rows = [line for line in PAGES["properties.md"].splitlines() if line.startswith("| `")]
    assert len(rows) == sum(len(keys.keys) for keys in (BROKER_KEYS, TOPIC_KEYS, GROUP_KEYS))
    for row in rows:
        *_, doc, end = re.split(r"(?<!\\)\|", row)
        assert doc.strip().endswith("."), row
        assert end == ""


def test_every_request_has_a_row_with_its_key_and_versions() -> None:
    found = re.findall(
        r"^\| \*\*(\w+)\*\*[^|]* \| (\d+) \| (\d+)(?: to (\d+))?[^|]* \|", PAGES["requests.md"], re.MULTILINE
    )
    assert {int(key): (int(first), int(last or first)) for _, key, first, last in found} == {
        int(key): (row.served.first, row.served.last) for key, row in HANDLERS.items()
    }


def test_every_command_about_a_cluster_has_its_options_and_examples() -> None:
    sections = dict(re.findall(r"^## shareq (.+)\n((?:(?!^## ).*\n?)*)", PAGES["commands.md"], re.MULTILINE))
    assert LEAVES.keys() <= sections.keys()
    for name, command in LEAVES.items():
        for option in command.params:
            assert (
                option.opts[0] in sections[name]
                or option.opts[0] in PAGES["commands.md"].split("\n## ")[1]
                or (option.param_type_name == "argument")
            )
        assert "```text\nshareq " in sections[name] or " | shareq " in sections[name], name


def test_an_error_of_the_sources_without_a_note_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And a note about what the sources do not name."""
    text = reference.NOTES.read_text()
    monkeypatch.setattr(reference, "NOTES", tmp_path / "errors.toml")
    reference.NOTES.write_text("\n".join(line for line in text.splitlines() if not line.startswith("NON_EMPTY_GROUP")))
    with pytest.raises(ValueError, match="NON_EMPTY_GROUP"):
        list(reference.errors())
    reference.NOTES.write_text(f'{text}\nDUPLICATE_VOTER = "Never."\n')
    with pytest.raises(ValueError, match="DUPLICATE_VOTER"):
        list(reference.errors())
