"""`shareq json-schema` and `shareq completion`: about the commands themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click

from shareq.ops.cli import COMMANDS, command_of
from shareq.ops.cli.output.schema import schema_of
from shareq.ops.cli.shared.command import CONTEXT, ClusterCommand
from shareq.ops.cli.shared.exits import NOT_FOUND, exit_with

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_SHAREQ_COMPLETE"
# A file of zsh's function path is the body of the function _shareq. click's script asks whether it is being loaded:
# that is so in the first call alone, and the second completion of a session would offer nothing.
_FIRST_CALL = "[[ $zsh_eval_context[-1] == loadautofunc ]]"
_EVERY_CALL = '[[ "$funcstack[1]" == _shareq ]]'


def leaves() -> Iterator[tuple[str, ClusterCommand]]:
    """Yield all commands about a cluster, with the words that call them."""
    for name in COMMANDS:
        found = command_of(name)
        if isinstance(found, click.Group):
            for each, one in found.commands.items():
                if isinstance(one, ClusterCommand):
                    yield f"{name} {each}", one
        elif isinstance(found, ClusterCommand):
            yield name, found


def schema(words: str, found: ClusterCommand) -> dict[str, Any]:
    """Return the schema of a command's output with --json."""
    assert found.row is not None
    return schema_of(found.row, found.shape, f"shareq {words} --json")


@click.command("json-schema", context_settings=CONTEXT, epilog="\b\nExamples:\n  shareq json-schema topics list")
@click.argument("words", metavar="[COMMAND]...", nargs=-1)
def json_schema(words: tuple[str, ...]) -> None:
    """Print the JSON Schema of a command's --json; without a command, of all, by command.

    Commands that stream print one such object a line: produce, consume, tail, share consume, share peek, dlq show, top.
    """
    known = dict(leaves())
    if not words:
        found: Any = {name: schema(name, each) for name, each in known.items()}
    elif (name := " ".join(words)) in known:
        found = schema(name, known[name])
    else:
        exit_with(NOT_FOUND, f"json-schema {name}: there is no such command; there are {', '.join(known)}")
    click.echo(json.dumps(found, indent=2))


@click.command(
    "completion",
    context_settings=CONTEXT,
    epilog="\b\nExamples:\n"
    "  shareq completion bash > ~/.local/share/bash-completion/completions/shareq\n"
    '  shareq completion zsh > "${fpath[1]}/_shareq"\n'
    "  shareq completion fish > ~/.config/fish/completions/shareq.fish",
)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that completes commands and options in a shell."""
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None
    script = found(context.find_root().command, {}, "shareq", VARIABLE).source()
    click.echo(script.replace(_FIRST_CALL, _EVERY_CALL) if shell == "zsh" else script)


commands: dict[str, click.Command] = {"json-schema": json_schema, "completion": completion}
