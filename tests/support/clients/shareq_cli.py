"""The `shareq` command run in this process: exit codes, both outputs, and JSON checked against its schema."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from click.testing import CliRunner
from jsonschema import Draft202012Validator

from shareq.ops.cli.main import main
from shareq.ops.cli.meta import leaves, schema

LEAVES = dict(leaves())
SCHEMAS = {name: schema(name, command) for name, command in LEAVES.items()}


_PRETEND = {"--dry-run", "--help", "-h"}


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


class Shell:
    """A caller of commands for one cluster.

    `seen` has the commands that did their work and succeeded, by their words; dry runs and `--help` do not count.
    """

    def __init__(self, bootstrap: str, **environment: str) -> None:
        self.environment = {
            "SHAREQ_BOOTSTRAP_SERVERS": bootstrap,
            "XDG_CONFIG_HOME": "/nonexistent",
            "SHAREQ_PROFILE": None,
            **environment,
        }
        self.seen: set[str] = set()

    def run(self, *words: str, stdin: str = "") -> Ran:
        """Call a command and return its result, success or failure; any exception except its exit is raised."""
        result = CliRunner(env=self.environment).invoke(main, list(words), input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        if result.exit_code == 0 and not _PRETEND.intersection(words):
            self.seen.add(name_of(words))
        return Ran(result.exit_code, result.stdout, result.stderr)

    def ok(self, *words: str, stdin: str = "") -> list[str]:
        ran = self.run(*words, stdin=stdin)
        assert ran.code == 0, f"{words}: {ran.code}: {ran.err}"
        return ran.lines

    def json(self, *words: str, stdin: str = "") -> Any:
        """Return the checked JSON of a command that must succeed; of a stream, the list of its lines."""
        return self.values(words, self.ok(*words, "--json", stdin=stdin))

    def values(self, words: tuple[str, ...], lines: list[str]) -> Any:
        """Return lines of JSON as values, checked against the command's schema."""
        name = name_of(words)
        if LEAVES[name].shape == "stream":
            found = [json.loads(line) for line in lines]
            for each in found:
                Draft202012Validator(SCHEMAS[name]).validate(each)
            return found
        found = json.loads("\n".join(lines))
        Draft202012Validator(SCHEMAS[name]).validate(found)
        return found


def name_of(words: tuple[str, ...]) -> str:
    return next((name for name in (" ".join(words[:2]), words[0]) if name in LEAVES), words[0])
