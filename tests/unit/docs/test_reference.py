"""docs/reference/ is complete and generated from the current code."""

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
from tests.unit.compatibility.surface import recorded

PAGES = reference.pages()
COMMANDS = reference.site_pages()["commands.md"]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_as_it_would_be_made_now(name: str) -> None:
    assert (reference.FOLDER / name).read_text() == PAGES[name], "make reference"


def test_there_is_no_page_that_is_not_made() -> None:
    assert {path.name for path in reference.FOLDER.iterdir()} == PAGES.keys()


def test_every_property_is_named_once_with_what_it_does() -> None:
    """Each property has a line of its own.

    Bounds of groups' values need no text, and the broker's properties and those without effect share a line.
    """
    sections = PAGES["properties.md"].split("\n## ")[1:]
    for section, keys in zip(sections, (BROKER_KEYS, TOPIC_KEYS, GROUP_KEYS), strict=True):
        lines = re.findall(r"^\* `([\w.]+)(?:=[^`]*)?`(.*)$", section, re.MULTILINE)
        below = re.findall(r"^(?:Accepted for|There is no|By default the broker).*?: (.*)\.$", section, re.MULTILINE)
        together = re.findall(r"`([\w.]+)`", " ".join(below))
        assert sorted([*(name for name, _ in lines), *together]) == sorted(keys.keys)
        for name, rest in lines:
            of_a_group = keys.keys[name].doc.endswith(" group may set for itself.")
            assert rest.endswith("." if not of_a_group else ")"), name


def test_every_request_is_there_with_its_key_and_versions() -> None:
    found = re.findall(r"\*\*(\w+)\*\* \((\d+)[^)]*\) (\d+)(?:–(\d+))?", PAGES["requests.md"])
    assert {int(key): (int(first), int(last or first)) for _, key, first, last in found} == {
        int(key): (row.served.first, row.served.last) for key, row in HANDLERS.items()
    }


def test_every_command_about_a_cluster_has_its_options_and_fields() -> None:
    sections = dict(re.findall(r"^## (?:shareq )?(.+)\n((?:(?!^## ).*\n?)*)", COMMANDS, re.MULTILINE))
    assert LEAVES.keys() <= sections.keys()
    for name, command in LEAVES.items():
        for option in command.params:
            in_common = f"{option.opts[0]} " in sections["In common"] or f"{option.opts[0]}`" in sections["In common"]
            assert option.opts[0] in sections[name] or in_common or option.param_type_name == "argument"
        fields = re.findall(r"`(\w+)`", sections[name].partition("\nJSON: ")[2])
        assert command.row is None or tuple(fields) == command.row._fields  # type: ignore[attr-defined]
        assert "Examples:" in (command.epilog or ""), name


def test_what_one_command_alone_has_is_in_its_section() -> None:
    """Shared options are explained once, and named in each command that has them."""
    first, *sections = COMMANDS.split("\n## ")[1:]
    explained = re.findall(r"^\* `(?:-\w, )?(--[\w-]+)", first, re.MULTILINE)
    assert "--dry-run" in explained
    for line in (line for section in sections for line in section.splitlines() if line.startswith("Also ")):
        assert set(re.findall(r"`(--[\w-]+)`", line)) <= set(explained)


def test_every_python_name_that_is_promised_is_on_the_page_of_interfaces_with_what_it_does() -> None:
    page = reference.site_pages()["python.md"]
    parts = {part.split("\n")[0]: part for part in page.split("\n## ")[1:]}
    for name in recorded()["python"]:
        module, (of, *member) = ".".join(name.split(".")[:2]), name.split(".")[2:]
        (entry,) = re.findall(rf"^### {of}\n\n(`{of}(?:(?!^##).*\n?)*)", parts[module], re.MULTILINE)
        assert member or re.match(r"`.* = .*`\n|`.*`\n+[\w`]", entry), name
        assert not member or re.search(rf"^\* `(?:async )?{member[0]}[(`]", entry, re.MULTILINE), name


def test_an_error_of_the_sources_without_a_note_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = reference.NOTES.read_text()
    monkeypatch.setattr(reference, "NOTES", tmp_path / "errors.toml")
    reference.NOTES.write_text("\n".join(line for line in text.splitlines() if not line.startswith("NON_EMPTY_GROUP")))
    with pytest.raises(ValueError, match="NON_EMPTY_GROUP"):
        list(reference.errors())
    reference.NOTES.write_text(f'{text}\nDUPLICATE_VOTER = "Never."\n')
    with pytest.raises(ValueError, match="DUPLICATE_VOTER"):
        list(reference.errors())
