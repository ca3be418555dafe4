"""Pages for new readers: all their commands and snippets run as written, and print what the page shows."""

from __future__ import annotations

import re
import shlex
import subprocess
import textwrap
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest

from devtools.ports import free_port
from shareq.testing import Broker
from tests.support.clients.shareq_cli import Shell
from tests.wire.test_documents import DOCS, serving, sh

ROOT: Final = DOCS.parent
_BLOCK: Final = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SHOWN_FILE: Final = re.compile(
    r"\[(\w+\.(?:py|java))\]\((\S+)\).*?^```(?:python|java)\n(.*?)^```", re.MULTILINE | re.DOTALL
)
_SET_UP: Final = "python3 -m venv"
_SERVE: Final = "shareq serve "
_RECORD: Final = re.compile(r"^[\w.-]+-\d+:\d+\t\S+Z\t-\t", re.MULTILINE)
"""The text that `share consume` puts in front of a value: place, time, no key."""
PAGES: Final = (
    "start/python.md",
    "start/shell.md",
    "concepts/record.md",
    "concepts/lock.md",
    "concepts/partitions.md",
    "coming-from.md",
    "pause.md",
)


def blocks(page: str) -> list[tuple[str, str]]:
    return _BLOCK.findall((DOCS / page).read_text())


def commands(page: str, bootstrap: str) -> Iterator[tuple[str, str]]:
    """Yield each shell block, adapted to this broker, with the output shown in the next block, or ""."""
    found = [*blocks(page), ("", "")]
    for (language, text), (shown_as, shown) in pairwise(found):
        if language == "sh" and not text.startswith((_SET_UP, _SERVE)):
            yield text.replace("127.0.0.1:9092", bootstrap), "" if shown_as else shown


def run(block: str, bootstrap: str = "") -> list[str]:
    """Return the lines that a block prints.

    Commands of `shareq` run in this process: an interpreter for each would take a minute.
    """
    if block.startswith("python "):
        return sh(block, ROOT, SHAREQ_BOOTSTRAP_SERVERS=bootstrap).splitlines()
    shell, printed = Shell(bootstrap), list[str]()
    for line in block.replace(" && ", "\n").splitlines():
        before, _, call = line.rpartition(" | ")
        stdin = subprocess.run(["sh", "-c", before], capture_output=True, text=True, check=True).stdout
        name, *words = shlex.split(call)
        assert name == "shareq"
        printed += shell.ok(*words, stdin=stdin)
    return printed


def test_every_page_with_commands_is_run() -> None:
    folders = (DOCS / "start", DOCS / "concepts")
    found = {str(page.relative_to(DOCS)) for folder in folders for page in folder.glob("*.md")}
    with_commands = {page for page in found if any(True for _ in commands(page, ""))}
    elsewhere = {
        "start/java.md",  # tests/interop/test_start_in_java.py
        "start/spark.md",  # tests/spark/test_start_page.py
    }
    assert with_commands - elsewhere == {page for page in PAGES if "/" in page}


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_run_and_print_what_it_shows(page: str) -> None:
    ran = 0
    with Broker() as broker:
        for command, shown in commands(page, broker.bootstrap):
            printed = [_RECORD.sub("", line) for line in run(command, broker.bootstrap)]
            lines = shown.splitlines()
            assert not lines or printed[-len(lines) :] == lines, command
            ran += 1
    assert ran


@pytest.mark.parametrize(
    ("page", "ends_before"),
    [
        ("../README.md", "## More"),  # a first accepted record
        ("start/python.md", "## Further"),  # a first retried job
        ("howto/local-queue-for-tests.md", None),  # a first test with virtual time
        ("celery.md", "## How it works"),  # a first task of Celery
        ("start/spark.md", "## Further"),  # a first batch of Spark
    ],
)
def test_first_minutes_take_five_commands_at_most(page: str, ends_before: str | None) -> None:
    text = (DOCS / page).read_text().partition(ends_before or "\0")[0]
    lines = [line for language, block in _BLOCK.findall(text) if language == "sh" for line in block.splitlines()]
    assert 1 <= len([*lines, *re.findall(r"`(pip install [^`]*|python \S+)`", text)]) <= 5


def run_moving(section: str, old: Broker, new: Broker, folder: str = "") -> list[str]:
    """Run the commands of a section of moving.md. A group has done one of two records of the old topic."""
    run(
        "shareq topics create orders\n"
        "shareq configs alter group packers --set share.auto.offset.reset=earliest\n"
        "echo apples | shareq produce orders\n"
        "echo pears | shareq produce orders\n"
        "shareq share consume packers --topic orders -n 1\n"
        "shareq share consume packers --topic orders -n 1 --then release",
        old.bootstrap,
    )
    (text,) = [each for each in (DOCS / "moving.md").read_text().split("\n## ")[1:] if each.startswith(section)]
    printed = []
    for language, block in _BLOCK.findall(text):
        assert language == "sh"
        here = block.replace("old.example.com:9092", old.bootstrap).replace("new.example.com:9092", new.bootstrap)
        printed += run(here.replace("/var/lib/shareq-new", folder))
    return printed


def test_a_move_into_a_data_folder_and_from_it(tmp_path: Path) -> None:
    with Broker() as old, Broker() as new:
        printed = run_moving("From a data folder", old, new, str(tmp_path / "data"))
        assert sum(line.split()[:4] == ["share-group", "packers", "0", "moved"] for line in printed) == 2
        (left,) = Shell(new.bootstrap).json("share", "consume", "packers", "--topic", "orders", "--idle", "2")
        assert (left["record"]["value"], left["delivery"]) == ("pears", 2)


def test_a_move_while_the_old_cluster_works() -> None:
    with Broker() as old, Broker() as new:
        printed = run_moving("While the old cluster works", old, new)
        assert any(line.split()[:4] == ["share-group", "packers", "0", "moved"] for line in printed)
        (left,) = Shell(new.bootstrap).json("share", "consume", "packers", "--topic", "orders", "--idle", "2")
        assert (left["record"]["value"], left["delivery"]) == ("pears", 2)


def test_a_move_of_clients_one_by_one() -> None:
    with Broker() as old, Broker() as new:
        printed = run_moving("Moving clients one by one, without data", old, new)
        assert "packers           1    1        0" in printed  # the lag that is to become 0
        assert run("shareq topics list", new.bootstrap)[-1].split()[:2] == ["orders", "3"]


@pytest.mark.parametrize("page", ["start/python.md", "start/shell.md", "concepts/faults.md"])
def test_the_broker_of_a_page_starts(page: str, tmp_path: Path) -> None:
    (command,) = {line for _, text in blocks(page) for line in text.splitlines() if line.startswith(_SERVE)}
    with serving(f"{command} --listen 127.0.0.1:{free_port()}".replace("/tmp/shareq-data", str(tmp_path)), ROOT):
        pass


@pytest.mark.parametrize("page", ["start/python.md", "start/shell.md"])
def test_what_a_page_installs_is_what_the_tests_use(page: str) -> None:
    """pip is not run, because it would only install the same packages again."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    ((what,),) = [re.findall(r"pip install (.*)$", text, re.MULTILINE) for _, text in blocks(page)[:1]]
    for each in what.split():
        extra = re.fullmatch(r"'\.\[(\w+)\]'", each)
        assert (
            each == "."
            or (extra and extra[1] in project["project"]["optional-dependencies"])
            or any(
                isinstance(one, str) and one.split(" ")[0] == each for one in project["dependency-groups"]["test-base"]
            )
        )


@pytest.mark.parametrize("page", ["start/python.md", "start/java.md"])
def test_the_programs_of_a_page_are_the_examples(page: str) -> None:
    shown = _SHOWN_FILE.findall((DOCS / page).read_text())
    assert len(shown) == sum(language in ("python", "java") for language, _ in blocks(page))
    for _, path, text in shown:
        example = (DOCS / page).parent.joinpath(path).read_text()
        if path.endswith(".java"):  # whose page leaves out the half that sends
            assert textwrap.indent(text, " " * 8) in example
        else:
            assert example.endswith(text)
            assert example.count("\n") - text.count("\n") <= 2  # a docstring at most
