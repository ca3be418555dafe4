"""Writes docs/reference/ from the code: `make reference`; with --check it only compares, and ends with 1 if it differs.

Properties come from their tables in `broker/config/`, requests from the table of handlers and the cards of these,
errors from the schemas and `docs/site/errors.toml`, commands from the command line itself.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import click

from shareq.broker.config.group_config import GROUP_KEYS
from shareq.broker.config.keys.broker import BROKER_KEYS
from shareq.broker.config.topic_config import TOPIC_KEYS
from shareq.broker.dispatch.table import HANDLERS
from shareq.broker.foundation.handler_rows import HandlerRow
from shareq.cluster.forward.forwarding import OF_PRODUCERS
from shareq.cluster.node.table import FORWARDED, NOT_OFFERED, REFUSED
from shareq.ops.cli.main import main as command_line
from shareq.ops.cli.shared.command import ClusterCommand, common_options
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.config_def import ConfigDef, ConfigKey, UpdateMode, format_value
from shareq.protocol.errors import RETRIABLE, TEXTS, ErrorCode

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / "docs" / "reference"
NOTES: Final = ROOT / "docs" / "site" / "errors.toml"
_MADE: Final = "<!-- Made by `make reference`. -->"
_CARD: Final = re.compile(r"^(?P<name>\w+): (?P<head>.*?)\n\nBehaviour: (?P<behaviour>.*)$", re.DOTALL)
_VERSION_NOTE: Final = re.compile(r"\n(?=v\d+: )")
_SHOUTED: Final = re.compile(r"(?<![`\w.])([A-Z]{2,}(?:_[A-Z0-9]+)+)(?![`\w])")
_SUBJECTS: Final = {
    "share": "Share groups",
    "records": "Records",
    "topics": "Topics",
    "groups": "Other groups, and offsets",
    "transactions": "Transactions",
    "configs": "Properties and quotas",
    "access": "Access",
    "cluster": "The cluster",
    "redrive": "Redrives",
    "not_offered": "Answered, and always refused",
}

_PROPERTIES: Final = """\
# Properties

Every property that this broker knows. What to set first, and where: [configuration](../configuration.md).

* [Of the broker](#of-the-broker): a file, `--set`, the environment. *While it runs*: by
  `shareq configs alter broker default --set NAME=VALUE`; *one*: for the broker by its id.
* [Of a topic](#of-a-topic): `shareq configs alter topic NAME --set NAME=VALUE`. What is not set is the broker's.
* [Of a group](#of-a-group): `shareq configs alter group NAME --set NAME=VALUE`. What is not set is the broker's."""
_REQUESTS: Final = """\
# Requests and versions

What this broker serves of Kafka's protocol, and what is to be known of each. Clients find the versions out by
ApiVersions. [Errors](errors.md) have a page of their own."""
_OF_NODES: Final = """\
[A node](../cluster.md) serves requests as every broker does, but for these. What is forwarded is served in versions
that the cluster serves, too."""
_ERRORS: Final = """\
# Errors

The error codes that clients of this broker see, and when. *Again*: the same request may succeed later; Kafka's
clients try again by themselves until their time is up."""
_COMMANDS: Final = """\
# Commands

What `--help` of each command says. [The command line for a cluster](../cli.md) shows them at work,
[configuration](../configuration.md) has more about `serve`, [maintenance](../maintenance.md) about data folders."""


def pages() -> dict[str, str]:
    """Return the text of each page, by the name of its file."""
    return {
        "properties.md": _page(properties()),
        "requests.md": _page(requests()),
        "errors.md": _page(errors()),
        "commands.md": _page(commands()),
    }


def _page(lines: Iterable[str]) -> str:
    return re.sub(r"\n{3,}", "\n\n", "\n".join([_MADE, "", *lines])).rstrip() + "\n"


def _row(*cells: str) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def _table(*heads: str) -> list[str]:
    return [_row(*heads), "|" + " --- |" * len(heads)]


# Properties.


def properties() -> Iterator[str]:
    """Yield the properties of brokers, topics and groups."""
    yield from _PROPERTIES.splitlines()
    yield from _definition("Of the broker", BROKER_KEYS, modes=True)
    yield from _definition("Of a topic", TOPIC_KEYS)
    yield from _definition("Of a group", GROUP_KEYS)


def _definition(title: str, keys: ConfigDef, modes: bool = False) -> Iterator[str]:
    yield from ("", f"## {title}", "")
    yield from _table("property", "default", "allowed", *(["while it runs"] if modes else []), "what it does")
    running = {UpdateMode.READ_ONLY: "", UpdateMode.CLUSTER_WIDE: "yes", UpdateMode.PER_BROKER: "one"}
    for key in sorted(keys, key=lambda each: each.name):
        names = ", ".join(f"`{name}`" for name in (key.name, *key.aliases))
        mode = [running[key.mode]] if modes else []
        yield _row(names, _default(key), _allowed(key), *mode, key.doc)


def _default(key: ConfigKey[Any]) -> str:
    text = format_value(key.default)
    return f"`{text}`" if text else ("empty" if key.default is not None else "none")


def _allowed(key: ConfigKey[Any]) -> str:
    kind = key.type.name.lower()
    return kind if key.validator is None else f"{kind}; {key.validator.allowed.removeprefix('must be ')}"


# Requests.


def requests() -> Iterator[str]:
    """RPCs by subject, from the cards of their handlers."""
    yield from _REQUESTS.splitlines()
    by_subject: dict[str, list[tuple[ApiKey, HandlerRow]]] = {subject: [] for subject in _SUBJECTS}
    for key, row in HANDLERS.items():
        by_subject[row.module.split(".")[-2]].append((key, row))
    for subject, rows in by_subject.items():
        yield from ("", f"## {_SUBJECTS[subject]}", "")
        yield from _table("request", "key", "versions", "behaviour")
        for key, row in rows:
            yield _request(key, row)
    yield from _of_nodes()


def _of_nodes() -> Iterator[str]:
    """Yield the table of RPCs that a node before a cluster does not answer as every broker does."""
    yield from ("", "## At a node", "", *_OF_NODES.splitlines(), "")
    yield from _table("request", "at a node", "behaviour")
    for key, module in (*FORWARDED.items(), (ApiKey.FIND_COORDINATOR, "find_coordinator")):
        head, _, behaviour = _docstring(f"shareq.cluster.forward.handlers.{module}").partition("\n\nBehaviour: ")
        how = " ".join(head.split()).partition(",")[2].partition(": v")[0].strip(" .") or "forwarded"
        behaviour = behaviour or "as the cluster's."
        yield _row(f"**{_name(key)}**", how, _SHOUTED.sub(r"`\1`", behaviour[:1].upper() + behaviour[1:]))
    for keys, how, behaviour in (
        (REFUSED, "refused", "`POLICY_VIOLATION`: transactions and other groups are at the cluster."),
        (OF_PRODUCERS, "refused with `--no-proxy`", "`POLICY_VIOLATION`: producers are to use the cluster."),
        (NOT_OFFERED, "not offered", "It is about logs of one's own, or levels of features, which are the cluster's."),
    ):
        names = ", ".join(f"**{name}**" for name in sorted(map(_name, keys)))
        yield _row(names, how, behaviour)


def _name(key: ApiKey) -> str:
    return key.name.title().replace("_", "")


def _request(key: ApiKey, row: HandlerRow) -> str:
    card = _CARD.match(_docstring(row.module))
    if card is None:
        raise ValueError(f"{row.module}: its docstring is no card")
    behaviour, *notes = _VERSION_NOTE.split(card["behaviour"])
    served = (
        f"{row.served.first} to {row.served.last}" if row.served.first != row.served.last else str(row.served.first)
    )
    if row.advertised.first != row.served.first:
        served += f" ({row.advertised.first} and later are advertised)"
    kips = ", ".join(re.findall(r"KIP-\d+", card["head"]))
    name = f"**{card['name']}**" + (" (shareq's own)" if row.own else "") + (f" {kips}" if kips else "")
    text = " ".join([behaviour[:1].upper() + behaviour[1:], *notes])
    return _row(name, str(int(key)), served, _SHOUTED.sub(r"`\1`", text))


def _docstring(module: str) -> str:
    """Return a module's docstring without importing it."""
    found = importlib.util.find_spec(module)
    assert found is not None
    assert found.origin is not None
    return inspect.cleandoc(ast.get_docstring(ast.parse(Path(found.origin).read_text())) or "")


# Errors.


def named_in_sources() -> set[str]:
    """Error codes that the broker and the coordinators name."""
    paths = (path for folder in ("broker", "coordinator") for path in (ROOT / folder).rglob("*.py"))
    return {name for path in paths for name in re.findall(r"\bErrorCode\.([A-Z_]+)", path.read_text())} - {"NONE"}


def errors() -> Iterator[str]:
    """Error codes, when they come."""
    notes = tomllib.loads(NOTES.read_text())
    if notes.keys() != named_in_sources():
        raise ValueError(f"{NOTES}: {notes.keys() ^ named_in_sources()} are there alone, or in the sources alone")
    yield from (*_ERRORS.splitlines(), "")
    yield from _table("error", "code", "again", "means", "comes when")
    for code in ErrorCode:
        if code.name in notes:
            again = "yes" if code in RETRIABLE else ""
            yield _row(f"`{code.name}`", str(int(code)), again, TEXTS[code], notes[code.name])


# Commands.


def commands() -> Iterator[str]:
    """Every command of `shareq`, with its options and examples."""
    yield from _COMMANDS.splitlines()
    context = click.Context(command_line, info_name="shareq")
    yield from ("", "## Options of every command about a cluster", "")
    yield from _options(common_options(), context)
    for name, command, inner in _leaves(command_line, context):
        yield from ("", f"## {name}", "", f"`{name} {' '.join(command.collect_usage_pieces(inner))}`", "")
        yield from _paragraphs(command.help or "")
        common = {each.name for each in common_options()} if isinstance(command, ClusterCommand) else set()
        own = [each for each in command.params if each.name not in common]
        yield from _options(own, inner)
        yield from _examples(command.epilog or "")


def _leaves(group: click.Group, context: click.Context) -> Iterator[tuple[str, click.Command, click.Context]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context)
        if isinstance(command, click.Group):
            yield from _leaves(command, inner)
        else:
            yield inner.command_path, command, inner


def _paragraphs(text: str) -> Iterator[str]:
    for part in inspect.cleandoc(text).replace("\b\n", "").split("\n\n"):
        yield from (part.strip(), "")


def _options(params: Iterable[click.Parameter], context: click.Context) -> Iterator[str]:
    """Yield a table, from the options themselves: what click makes of them for a terminal differs from release to
    release.
    """
    options = [each for each in params if isinstance(each, click.Option) and not each.hidden]
    if not options:
        return
    yield from _table("option", "")
    for each in options:
        names = ", ".join(sorted((*each.opts, *each.secondary_opts), key=len))
        value = "" if each.is_flag or each.count else f" {each.make_metavar(context)}"
        default = f" Default: {each.default}." if each.show_default and each.default not in (None, False) else ""
        required = " Required." if each.required else ""
        yield _row(f"`{names}{value}`", (each.help or "") + default + required)
    yield ""


def _examples(epilog: str) -> Iterator[str]:
    """Examples as a block, what else stands below the options as text; exit codes are the same for all of a kind."""
    for part in epilog.replace("\b\n", "").strip().split("\n\n"):
        if part.startswith("Examples:"):
            yield from ("```text", *inspect.cleandoc(part.removeprefix("Examples:")).splitlines(), "```", "")
        elif part.strip():
            yield from (" ".join(part.split()), "")


def main() -> int:
    """Run the command."""
    check = sys.argv[1:] == ["--check"]
    differs = [name for name, text in pages().items() if _read(FOLDER / name) != text]
    for name in differs:
        if check:
            print(f"docs/reference/{name} is not what the code says: make reference")
        else:
            FOLDER.mkdir(exist_ok=True)
            (FOLDER / name).write_text(pages()[name])
            print(f"docs/reference/{name}: written")
    return 1 if check and differs else 0


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
