"""docs/kafka-tools.md: its output was really printed, and it names every known difference."""

from __future__ import annotations

import re
from pathlib import Path

from tests.interop.support.differences import DIFFERENCES
from tests.interop.support.transcript import FOLDER, Step, parse

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "kafka-tools.md"


def shown() -> list[Step]:
    steps: list[tuple[str, list[str]]] = []
    for block in re.findall(r"^```console\n(.*?)^```", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                steps.append((line[2:], []))
            elif line:
                steps[-1][1].append(line)
    return [Step(command, tuple(lines)) for command, lines in steps]


def test_every_example_is_in_a_transcript() -> None:
    printed = {step for file in FOLDER.glob("*.txt") for step in parse(file.read_text())}
    examples = shown()
    assert len(examples) >= 3
    assert [example for example in examples if example not in printed] == []


def test_every_transcript_is_linked() -> None:
    linked = set(re.findall(r"transcripts/([\w-]+)\.txt\)", DOCUMENT.read_text()))
    assert linked == {file.stem for file in FOLDER.glob("*.txt")}


def test_every_known_difference_is_reported() -> None:
    chapter = DOCUMENT.read_text().split("## Known differences")[1].split("\n## ")[0]
    reported = {" ".join(item.split()) for item in chapter.split("\n* ")[1:]}
    assert reported == {difference.why for difference in DIFFERENCES.values()}
