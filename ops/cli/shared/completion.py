"""Names of topics and groups for shell completion: few, quickly, or none; errors are silent."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

import click
from click.shell_completion import CompletionItem

from shareq.client.admin import Admin
from shareq.client.network import Network
from shareq.ops.cli.shared.profile import client_config

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MOST: Final = 200
"""The most names that are offered."""
PATIENCE_S: Final = 2.0
_KINDS: Final = {"share": ("share",), "groups": ("consumer", "classic")}
_BY_NAME: Final = {"topic": "topic", "topics": "topic", "queue": "topic", "source_topic": "topic"}
_GROUPS: Final = ("group", "groups")


class Named(click.types.StringParamType):
    """A text that names a topic, a group, or (`resource`) an object of the kind in the command's KIND."""

    def __init__(self, what: str) -> None:
        self.what = what

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete a name: return at most `MOST` with this beginning."""
        what = ctx.params.get("kind") if self.what == "resource" else self.what
        if what not in ("topic", "group"):
            return []
        with contextlib.suppress(Exception, SystemExit), contextlib.redirect_stderr(io.StringIO()):
            names = _names(what, _subject(ctx), ctx.params)
            found = islice((name for name in names if name.startswith(incomplete)), MOST)
            return [CompletionItem(name) for name in found]
        return []


def name_parameters(path: str, parameters: Iterable[click.Parameter]) -> None:
    """Add completion to a command's parameters, by their names. `path`: the command's words."""
    for each in parameters:
        if type(each.type) is not click.types.StringParamType:
            continue
        metavar, name = str(each.metavar or ""), str(each.name)
        if metavar.startswith("GROUP") or metavar == "[GROUP]..." or name in _GROUPS:
            each.type = Named("group")
        elif name in _BY_NAME and path != "topics create":
            each.type = Named(_BY_NAME[name])
        elif name == "patterns":
            each.type = Named("topic" if path.startswith("topics") else "group")
        elif name in ("resource", "resources") and path.startswith("configs"):
            each.type = Named("resource")


def _subject(ctx: click.Context) -> str:
    parent = ctx.parent
    return "" if parent is None else str(parent.info_name)


def _names(what: str, subject: str, options: Mapping[str, Any]) -> Iterator[str]:
    config = client_config(
        options.get("bootstrap"),
        options.get("config_file"),
        options.get("profile"),
        options.get("properties") or (),
        PATIENCE_S,
    )
    until_s = time.monotonic() + PATIENCE_S
    network = Network(config)
    try:
        network.brokers(timeout_ms=config.default_api_timeout_ms)
        admin = Admin(network)
        if what == "topic":
            names = (topic.name for topic in admin.topics.all() if not topic.internal)
        else:
            names = (row.group_id for row in admin.groups.find(_KINDS.get(subject, ("share",))))
        for name in names:
            yield name
            if time.monotonic() > until_s:
                return
    finally:
        network.close()
