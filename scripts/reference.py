"""Writes docs/reference/ from the code:

`make reference`; with --check it only compares, and ends with 1 for a difference.

With --site it writes the pages that only the site has, into build/reference/, from `--help`, `/metrics`, docstrings and
`docs/site/errors.toml`.

Properties come from their tables in `broker/config/`, requests from the table of handlers and the cards of these,
errors from `docs/site/errors.toml`, commands from the command line itself, metrics from their declarations.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import click

from scripts.api_reference import interfaces
from shareq.broker.config.group_config import GROUP_KEYS
from shareq.broker.config.keys.broker import BROKER_KEYS
from shareq.broker.config.topic_config import TOPIC_KEYS
from shareq.broker.dispatch.table import HANDLERS
from shareq.broker.foundation.handler_rows import HandlerRow
from shareq.broker.handlers.not_offered import REFUSALS
from shareq.broker.metrics.coordinators import COORDINATORS
from shareq.broker.metrics.data_folder import DATA_FOLDER
from shareq.broker.metrics.families import (
    BUILD,
    LEFT_OUT,
    LISTENERS,
    PROCESS,
    QUOTA_USAGES,
    QUOTAS,
    REQUEST_ERRORS,
    REQUESTS,
)
from shareq.broker.metrics.family import Kind
from shareq.broker.metrics.shares import SHARES
from shareq.cluster.forward.forwarding import OF_PRODUCERS
from shareq.cluster.node.metrics import OF_NODES
from shareq.cluster.node.table import FORWARDED, NOT_OFFERED, OWN, REFUSED
from shareq.ops.cli.main import main as command_line
from shareq.ops.cli.shared.command import ClusterCommand, common_options
from shareq.ops.cli.shared.exits import EXIT_CODES
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.config_def import ConfigDef, ConfigKey, UpdateMode, format_value
from shareq.protocol.errors import RETRIABLE, ErrorCode

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / "docs" / "reference"
OF_THE_SITE: Final = ROOT / "build" / "reference"
NOTES: Final = ROOT / "docs" / "site" / "errors.toml"
_MADE: Final = "<!-- Made by `make reference`. -->"
_CARD: Final = re.compile(
    r"^(?P<name>\w+): .*?\n\nBehaviour: (?P<behaviour>.*?)(?:\n\nHere: (?P<here>.*))?$", re.DOTALL
)
_PLACEHOLDER: Final = re.compile(r"<\w+>")
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

_WITHOUT_EFFECT: Final = re.compile(r"Accepted for compatibility|Kept for tools|Of [a-z ,]+: accepted, without effect")
_DEFAULT_ALONE: Final = "There is no remote storage: only the default"
_BOUND: Final = re.compile(r"The (greatest|least) value that a \w+ group may set for itself\.")
_SHORTER: Final = (
    (r"^must be |^must ", ""),
    (r"^between (\S+) and ([^,\s]+)", r"\1 to \2"),
    (r"^at least (?=\d)", "≥ "),
    (r", or equal to ", " or "),
    (r"^one of ", ""),
    (r"^name at least one element, and none twice$", "not empty"),
)
_SEVERAL: Final = 3
"""The number of commands from which an option counts as common."""

_PROPERTIES: Final = """\
# Properties

Every property that this broker knows, with its default and, in parentheses, what is allowed; without "=" there is no
default. What to set first, and where: [configuration](../configuration.md).

* [Of the broker](#of-the-broker): a file, `--set`, the environment. Those with \\* may be changed while it runs, by
  `shareq configs alter broker default --set NAME=VALUE`; those with \\*\\* for the broker by its id.
* [Of a topic](#of-a-topic): `shareq configs alter topic NAME --set NAME=VALUE`. What is not set is the
  broker's.
* [Of a group](#of-a-group): `shareq configs alter group NAME --set NAME=VALUE`. What is not set is the
  broker's; a group's own value lies between the broker's bounds (`.min.`, `.max.`)."""
_REQUESTS: Final = """\
# Requests and versions

The requests of Kafka's protocol that this broker serves: API key, versions, and its own limits and behaviour. A
request without a description is as in Kafka's protocol guide. Rules that concern
several requests are in [ADR 5](../adr/0005-where-we-differ-from-apache-kafka.md), the rights that each needs in
`broker/security/rights.py`, limits of size in [bounded work](../bounded-work.md)."""
_OF_NODES: Final = """\
[A node](../cluster.md) serves requests as every broker does, except these. Forwarded ones are served only in versions
that the cluster serves, too."""
_ERRORS: Final = """\
# Errors

The error codes that clients of this broker see, and when. With \\* the same request may succeed later; Kafka's
clients try again by themselves until their time is up. They also open new sessions and join groups again."""
_COMMANDS: Final = """\
# Commands

Every command with its options. `--help` of each says more and has examples; [the command line](../../docs/cli.md)
shows them at work."""
_METRICS: Final = """\
# All metrics

Their names, labels and help texts. Counters end in `_total`; what is neither marked nor a counter is a gauge.
[Metrics](../../docs/metrics.md) has queries, and says how the names follow from Apache Kafka's."""
_TABLES: Final = {
    "The broker": (BUILD, PROCESS, LISTENERS, QUOTAS, QUOTA_USAGES, REQUESTS, REQUEST_ERRORS, LEFT_OUT),
    "Disk, logs, transactions, redrives": DATA_FOLDER,
    "Coordinators and groups": COORDINATORS,
    "Share groups": SHARES,
    "Nodes in front of a cluster": OF_NODES,
}
_IN_COMMON: Final = """\
Commands whose section lists the fields of their JSON talk to a cluster, and take these options; `migrate` has two
addresses instead of `-b`. `shareq json-schema COMMAND` explains the fields."""


def pages() -> dict[str, str]:
    """Return the text of each page, by the name of its file."""
    return {
        "properties.md": _page(properties()),
        "requests.md": _page(requests()),
    }


def site_pages() -> dict[str, str]:
    """Return the pages that are made for the site alone, by the names of their files."""
    return {
        "errors.md": _page(errors()),
        "commands.md": _page(commands()),
        "metrics.md": _page(metrics()),
        "python.md": _page(interfaces()),
    }


def _page(lines: Iterable[str]) -> str:
    return re.sub(r"\n{3,}", "\n\n", "\n".join([_MADE, "", *lines])).rstrip() + "\n"


# Properties.


def properties() -> Iterator[str]:
    """Yield the properties of brokers, topics and groups."""
    yield from _PROPERTIES.splitlines()
    yield from _definition("Of the broker", BROKER_KEYS)
    yield from _definition("Of a topic", TOPIC_KEYS)
    yield from _definition("Of a group", GROUP_KEYS)


def _definition(title: str, keys: ConfigDef) -> Iterator[str]:
    yield from ("", f"## {title}", "")
    inert: list[ConfigKey[Any]] = []
    fixed: list[ConfigKey[Any]] = []
    bounds: list[ConfigKey[Any]] = []
    others: list[ConfigKey[Any]] = []
    brokers: list[tuple[str, ConfigKey[Any]]] = []
    for key in sorted(keys, key=lambda each: each.name):
        if _WITHOUT_EFFECT.match(key.doc) and "Of a node" not in key.doc:
            inert.append(key)
        elif key.doc.startswith(_DEFAULT_ALONE):
            fixed.append(key)
        elif name := _of_the_broker(key):
            brokers.append((name, key))
        else:
            (bounds if _BOUND.fullmatch(key.doc) else others).append(key)
    yield from (f"* {_setting(key)}: {key.doc}" for key in others)
    yield from _as_of_the_broker(brokers)
    if bounds:
        yield from ("", "The least and greatest values that a group may set for itself:", "")
        yield from (f"* {_setting(key)}" for key in bounds)
    for what, some in (
        ("Accepted for compatibility, without effect", inert),
        ("There is no remote storage: of these only the default is accepted", fixed),
    ):
        if some:
            yield from ("", f"{what}: {', '.join(f'`{key.name}`' for key in some)}.")


def _as_of_the_broker(named: list[tuple[str, ConfigKey[Any]]]) -> Iterator[str]:
    """Yield the properties that fall back to one of the broker's, which the section of the broker explains."""
    others = list(named)
    for prefix in ("", "log.", "group."):
        alike = [(name, key) for name, key in named if name == prefix + key.name]
        others = [each for each in others if each not in alike]
        if alike:
            of = f"`{prefix}` and the same name" if prefix else "the same name"
            yield from ("", f"By default the broker's of {of}: {', '.join(f'`{key.name}`' for _, key in alike)}.")
    if others:
        yield from (
            "",
            "By default the broker's property of another name:",
            "",
            *(f"* `{key.name}`: `{name}`." for name, key in others),
        )


def _of_the_broker(key: ConfigKey[Any]) -> str | None:
    """Return the broker's property that a topic's or a group's falls back to."""
    return next((name for name in (*key.broker_names, f"group.{key.name}") if name in BROKER_KEYS.keys), None)


def _setting(key: ConfigKey[Any]) -> str:
    """Return a property as a file would have it, with its default and the other allowed values."""
    running = {UpdateMode.READ_ONLY: "", UpdateMode.CLUSTER_WIDE: r"\*", UpdateMode.PER_BROKER: r"\*\*"}
    first = key.name if key.default is None else f"{key.name}={format_value(key.default)}"
    names = ", ".join(f"`{each}`" for each in (first, *key.aliases)) + running[key.mode]
    return names if key.validator is None else f"{names} ({_allowed(key.validator.allowed)})"


def _allowed(text: str) -> str:
    for pattern, shorter in _SHORTER:
        text = re.sub(pattern, shorter, text)
    return text


# Requests.


def requests() -> Iterator[str]:
    """Yield RPCs by subject, from the cards of their handlers."""
    yield from _REQUESTS.splitlines()
    by_subject: dict[str, list[tuple[ApiKey, HandlerRow]]] = {subject: [] for subject in _SUBJECTS}
    for key, row in HANDLERS.items():
        by_subject["not_offered" if key in REFUSALS else row.module.split(".")[-2]].append((key, row))
    for subject, rows in by_subject.items():
        yield from ("", f"## {_SUBJECTS[subject]}", "")
        by_text: dict[str, list[str]] = {}
        for key, row in rows:
            served, text = _request(key, row, whole=row.own or subject == "not_offered")
            by_text.setdefault(text, []).append(served)
        yield from (f"* {', '.join(served)}{': ' if text else ''}{text}" for text, served in by_text.items())
    yield from _of_nodes()


def _of_nodes() -> Iterator[str]:
    """Yield the RPCs that a node in front of a cluster does not answer as every broker does, and what it does with
    them.
    """
    yield from ("", "## At a node", "", *_OF_NODES.splitlines())
    by_way: dict[str, dict[str, list[str]]] = {}
    for key, module in (*FORWARDED.items(), *OWN.items()):
        head, _, behaviour = _docstring(f"shareq.cluster.forward.handlers.{module}").partition("\n\nBehaviour: ")
        way = " ".join(head.split()).partition(",")[2].partition(": v")[0].strip(" .") or "forwarded"
        text = behaviour.removeprefix("as the cluster's.").strip() or "as the cluster's."
        by_way.setdefault(way, {}).setdefault(text, []).append(_name(key))
    for keys, way, text in (
        (REFUSED, "refused", "POLICY_VIOLATION: logs, and markers in them, are the cluster's."),
        (OF_PRODUCERS, "refused with `--no-proxy`", "POLICY_VIOLATION: producers are to use the cluster."),
        (NOT_OFFERED, "not offered", "About logs of one's own, or levels of features, which are the cluster's."),
    ):
        by_way.setdefault(way, {})[text] = sorted(map(_name, keys))
    for way, by_text in by_way.items():
        yield from ("", f"{way[:1].upper()}{way[1:]}:", "")
        for text, names in by_text.items():
            behaviour = _SHOUTED.sub(r"`\1`", f"{text[:1].upper()}{text[1:]}")
            yield " ".join(f"* {', '.join(f'**{name}**' for name in names)}: {behaviour}".split())


def _name(key: ApiKey) -> str:
    return key.name.title().replace("_", "")


def _request(key: ApiKey, row: HandlerRow, whole: bool) -> tuple[str, str]:
    """Return a request's title and its description. `whole`: no other document describes its behaviour."""
    if key in REFUSALS:
        texts = [REFUSALS[key].behaviour]
    else:
        card = _CARD.match(_docstring(row.module))
        if card is None:
            raise ValueError(f"{row.module}: its docstring is no card")
        texts = [card["behaviour"] if whole else "", card["here"] or ""]
    first, last = row.served.first, row.served.last
    served = f"{first}–{last}" if first != last else str(first)
    if row.advertised.first != first:
        served += f" ({row.advertised.first} and later are advertised)"
    text = " ".join(each[:1].upper() + each[1:] for each in texts if each)
    number = f"{int(key)}, shareq's own" if row.own else str(int(key))
    return f"**{_name(key)}** ({number}) {served}", _SHOUTED.sub(r"`\1`", " ".join(text.split()))


def _docstring(module: str) -> str:
    """Return a module's docstring without importing it."""
    found = importlib.util.find_spec(module)
    assert found is not None
    assert found.origin is not None
    return inspect.cleandoc(ast.get_docstring(ast.parse(Path(found.origin).read_text())) or "")


# Errors.


def named_in_sources() -> set[str]:
    """Return the error codes that the broker and the coordinators name."""
    paths = (path for folder in ("broker", "coordinator") for path in (ROOT / folder).rglob("*.py"))
    return {name for path in paths for name in re.findall(r"\bErrorCode\.([A-Z_]+)", path.read_text())} - {"NONE"}


def errors() -> Iterator[str]:
    """Yield error codes, and when they come."""
    notes = tomllib.loads(NOTES.read_text())
    if notes.keys() != named_in_sources():
        raise ValueError(f"{NOTES}: {notes.keys() ^ named_in_sources()} are there alone, or in the sources alone")
    yield from (*_ERRORS.splitlines(), "")
    for code in ErrorCode:
        if code.name in notes:
            again = r"\*" if code in RETRIABLE else ""
            yield f"* `{code.name}` ({int(code)}){again}: {notes[code.name].replace('](../', '](../../docs/')}"


# Commands.


def commands() -> Iterator[str]:
    """Yield every command of `shareq`, with its options and the fields of its JSON."""
    yield from _COMMANDS.splitlines()
    context = click.Context(command_line, info_name="shareq")
    found = list(_leaves(command_line, context))
    everywhere = list(dict(_options(common_options(), context)).values())
    counted = Counter(line for _, command, inner in found for _, line in _options(command.params, inner))
    shared = [line for line, times in counted.items() if times >= _SEVERAL and line not in everywhere]
    yield from ("", "## In common", "", *_IN_COMMON.splitlines(), "", *everywhere)
    yield from ("", "Several commands, whose sections name them, take these:", "", *shared, "", EXIT_CODES)
    for name, command, inner in found:
        usage = " ".join(each for each in command.collect_usage_pieces(inner) if each != "[OPTIONS]")
        yield from ("", f"## {name}", "", *([f"`{name} {usage}`", ""] if usage else []))
        yield from (inspect.cleandoc(command.help or "").partition("\n\n")[0], "")
        about_a_cluster = isinstance(command, ClusterCommand)
        also = []
        for first, line in _options(command.params, inner):
            if line in shared:
                also.append(f"`{first}`")
            elif not (about_a_cluster and line in everywhere):
                yield line
        if also:
            yield from ("", f"Also {', '.join(also)}.")
        if isinstance(command, ClusterCommand) and command.row is not None:
            fields = ", ".join(f"`{each}`" for each in command.row._fields)  # type: ignore[attr-defined]  # a NamedTuple
            yield from ("", f"JSON: {fields}.")
        yield from _exit_codes(command.epilog or "")


def _leaves(group: click.Group, context: click.Context) -> Iterator[tuple[str, click.Command, click.Context]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context)
        if isinstance(command, click.Group):
            yield from _leaves(command, inner)
        else:
            yield inner.command_path, command, inner


def _options(params: Iterable[click.Parameter], context: click.Context) -> Iterator[tuple[str, str]]:
    """Yield the first name of each option and its line.

    They come from the options themselves, because click's layout for a terminal differs between releases.
    """
    for each in params:
        if not isinstance(each, click.Option) or each.hidden:
            continue
        names = ", ".join(sorted((*each.opts, *each.secondary_opts), key=len))
        value = "" if each.is_flag or each.count else f" {each.make_metavar(context)}".replace("INTEGER RANGE", "N")
        default = f"Default: {each.default}." if each.show_default and each.default not in (None, False) else ""
        required = "Required." if each.required else ""
        words = " ".join(" ".join((each.help or "", default, required)).split())
        yield each.opts[0], f"* `{names}{value}`: {words}"


def _exit_codes(epilog: str) -> Iterator[str]:
    """Yield the exit codes that only this command has."""
    for part in epilog.replace("\b\n", "").strip().split("\n\n"):
        text = " ".join(part.split())
        if text.startswith("Exit codes:") and text != EXIT_CODES:
            yield from ("", text)


# Metrics.


def metrics() -> Iterator[str]:
    """Yield the metrics of a broker, and those that a node has."""
    yield from _METRICS.splitlines()
    seen: set[str] = set()
    for title, tables in _TABLES.items():
        yield from ("", f"## {title}", "")
        for family in (family for table in tables for family in table):
            if family.name not in seen:
                labels = f"{{{','.join(family.labels)}}}" if family.labels else ""
                kind = f" ({family.kind.value})" if family.kind in (Kind.HISTOGRAM, Kind.SUMMARY) else ""
                text = _PLACEHOLDER.sub(r"`\g<0>`", family.text)
                yield f"* `{family.name}{labels}`{kind}: {text}"
            seen.add(family.name)


def main() -> int:
    """Run the command."""
    if sys.argv[1:] == ["--site"]:
        OF_THE_SITE.mkdir(parents=True, exist_ok=True)
        for name, text in site_pages().items():
            (OF_THE_SITE / name).write_text(text)
        return 0
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
