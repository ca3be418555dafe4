"""Transcripts of command-line tools: text files that compare runs on different brokers.

A transcript is a list of commands with their output. Text that changes between runs (ports, folders, ids, times) is
replaced by names. Recorded transcripts come from Apache Kafka and are never edited.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from devtools.kafka.apache_kafka import KAFKA_VERSION, TOOLS_VERSION
from tests.interop.support.differences import DIFFERENCES

FOLDER = Path(__file__).resolve().parents[1] / "transcripts"
HEADER = f"""\
# Apache Kafka {TOOLS_VERSION}'s command-line tools on an Apache Kafka {KAFKA_VERSION} broker. Every command
# was also given the broker's address. "!" marks standard error. Made, and never edited, by
# .venv/bin/pytest tests/interop/test_kafka_tools_side_by_side.py --broker=apache --update-transcripts
"""

View = Callable[[list[str]], list[str]]
"""A function that returns a tool's lines as the transcript shows them; standard error's begin with `! `."""

_UUID = re.compile(r"(?<![\w.-])(?=[\w-]*[A-Z])(?=[\w-]*[a-z])[\w-]{22}(?![\w.-])(?<!Exception)")
_TIME = re.compile(r"\b1[6-9]\d{11}\b")
_FRAMES = re.compile(r"^(\s+at |\s*\.\.\. \d+ more)")


@dataclass(frozen=True, slots=True)
class Step:
    """One command. `lines` is its output, `differs` the name of a known difference of our broker."""

    command: str
    lines: tuple[str, ...]
    differs: str | None = None


@dataclass(slots=True)
class Names:
    fixed: dict[str, str] = field(default_factory=dict)
    """The texts to replace, and what the transcript shows instead."""

    def replace(self, text: str) -> str:
        """Replace known words first, then unannounced ids and times."""
        for word, name in self.fixed.items():
            text = text.replace(word, name)
        text = _TIME.sub("<time>", text)
        return _UUID.sub("<id>", text)


def tidy(out: str, err: str, code: int) -> list[str]:
    """Return the lines of both streams without stack frames, empty lines and help; and a non-zero exit code."""
    lines = out.splitlines() + [f"! {line}" for line in err.splitlines() if not _FRAMES.match(line) and line.strip()]
    for number, line in enumerate(lines):
        if re.match(r"! Option( \(\* = required\))? +Description", line):
            lines[number:] = ["! (the options)"]  # the same whatever the broker answers
            break
    return [line.rstrip() for line in lines if line.strip()] + ([f"exit code {code}"] if code else [])


def in_any_order(lines: list[str]) -> list[str]:
    return sorted(lines)


def only(pattern: str) -> View:
    return lambda lines: [line for line in lines if re.search(pattern, line)]


def masked(pattern: str, name: str) -> View:
    return lambda lines: [re.sub(pattern, name, line) for line in lines]


def command_line(script: str, arguments: Sequence[str]) -> str:
    return shlex.join((script, *arguments))


def render(steps: Sequence[Step]) -> str:
    parts = [HEADER]
    parts += ["\n".join((f"$ {step.command}", *step.lines)) + "\n" for step in steps]
    return "\n".join(parts)


def parse(text: str) -> list[Step]:
    """Return the steps of a transcript file. Raise ValueError if it is of another version of Apache Kafka."""
    if not text.startswith(HEADER):
        raise ValueError(f"not a transcript of Apache Kafka {KAFKA_VERSION}")
    steps: list[tuple[str, list[str]]] = []
    for line in text.removeprefix(HEADER).splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], []))
        elif line:
            steps[-1][1].append(line)
    return [Step(command, tuple(lines)) for command, lines in steps]


def unlike(ours: Sequence[Step], apache: Sequence[Step]) -> list[str]:
    commands, theirs = [step.command for step in ours], [step.command for step in apache]
    if commands != theirs:
        return ["the commands are others than those recorded:", *difflib.unified_diff(theirs, commands, lineterm="")]
    problems: list[str] = []
    for mine, other in zip(ours, apache, strict=True):
        got, expected = list(mine.lines), list(other.lines)
        if mine.differs is not None:
            difference = DIFFERENCES[mine.differs]
            if got == expected:
                problems.append(f"$ {mine.command}\nno difference any more: {mine.differs}")
                continue
            got, expected = difference.ours(got), difference.apache(expected)
        if got != expected:
            diff = difflib.unified_diff(expected, got, "Apache Kafka", "here", lineterm="", n=1)
            problems.append("\n".join((f"$ {mine.command}", *diff)))
    return problems
