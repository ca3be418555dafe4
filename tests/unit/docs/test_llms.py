"""llms.txt has the form of llmstxt.org, links to existing files, and agrees with README."""

from __future__ import annotations

import re
from pathlib import Path

from shareq.broker.config.group_config import GROUP_KEYS
from shareq.ops.cli import COMMANDS

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "llms.txt").read_text()


def test_it_has_a_title_a_summary_and_lists_of_links() -> None:
    title, summary, *rest = [line for line in TEXT.splitlines() if line]
    assert title == "# shareq"
    assert summary.startswith("> ")
    lists = rest[next(at for at, line in enumerate(rest) if line.startswith("## ")) :]
    for line in lists:
        assert re.match(r"## \w+$|- \[[^]]+\]\([^)]+\)(: .+)?$", line), line


def test_its_links_lead_to_files() -> None:
    links = re.findall(r"\]\(([^)]+)\)", TEXT)
    assert len(links) > 15
    assert [link for link in links if not (ROOT / link).is_file()] == []
    assert len(set(links)) == len(links)


def test_its_summary_is_that_of_the_readme() -> None:
    first = " ".join((ROOT / "README.md").read_text().split("\n\n")[1].split()).split(". ")[0]
    assert first in TEXT


def test_what_it_names_exists() -> None:
    assert "serve" in COMMANDS
    assert set(re.findall(r"`shareq (\w+)`", TEXT)) <= COMMANDS.keys()
    assert any(key.name == "share.auto.offset.reset" for key in GROUP_KEYS)
