"""docs/console.md: the options exist, the numbers are those of the code, and the pictures are small."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from shareq.ops.cli.console import command as console
from shareq.ops.cli.serve import command as serve
from shareq.ops.console import pollers
from shareq.ops.console.views import records, shared, windows

DOCS = Path(__file__).resolve().parents[3] / "docs"
TEXT = (DOCS / "console.md").read_text()
PICTURES = sorted((DOCS / "console").glob("*.png"))


def options_of(command: click.Command) -> set[str]:
    return {name for each in command.params if isinstance(each, click.Option) for name in each.opts}


@pytest.mark.parametrize(("name", "command"), [("serve", serve), ("console", console)])
def test_commands_are_written_as_they_are(name: str, command: click.Command) -> None:
    calls = re.findall(rf"^shareq {name} (.*)$", TEXT, re.MULTILINE)
    assert calls
    for call in calls:
        assert set(re.findall(r"--[a-z-]+", call)) <= options_of(command)


def test_every_option_that_is_named_exists() -> None:
    elsewhere = {"--plot"}  # of shareq share describe
    text = re.sub(r"`python -m [^`]*`", "", TEXT)  # measurements
    named = set(re.findall(r"--[a-z][a-z-]+", text)) - elsewhere
    assert named <= options_of(serve) | options_of(console), named


def test_the_options_of_the_console_are_in_the_table_of_the_brokers() -> None:
    table = (DOCS / "configuration.md").read_text()
    assert all(f"`{name}" in table for name in options_of(serve) if name.startswith("--console"))


def test_bounds_are_those_of_the_code() -> None:
    text = " ".join(TEXT.split())
    assert f"{records.MAX_SCANNED:,} records or for {records.SEARCH_S:.0f} seconds" in text
    assert f"pages of {shared.PAGE}; of a topic {shared.MAX_ROWS}" in text
    assert f"of a window {windows.RANGES:,} ranges" in text
    assert f"down to every {pollers.MAX_PAUSE_S:.0f} seconds" in text
    assert pollers.HISTORY * pollers.EVERY_S == 5 * 60


def test_pictures_are_few_small_and_shown() -> None:
    assert 0 < len(PICTURES) <= 8
    for each in PICTURES:
        assert each.stat().st_size < 150_000
        assert each.read_bytes().startswith(b"\x89PNG")
        assert f"(console/{each.name})" in TEXT
