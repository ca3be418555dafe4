from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tests.interop.support.clients.commands import Unavailable, librdkafka_security
from tests.interop.support.json_process import ProgramError
from tests.interop.support.protocol import PLAIN_LOGIN, program_arguments
from tests.support.processes import finished

TIMEOUT_S: Final = 40


class Kcat:
    """The part of `Client`'s commands that kcat can do. Raises Unavailable if it is not installed."""

    def __init__(self) -> None:
        if shutil.which("kcat") is None:
            raise Unavailable("kcat is not on the PATH")

    def call(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Run a command. Raise ProgramError with kcat's output."""
        arguments = program_arguments(arguments, PLAIN_LOGIN)
        security = librdkafka_security(arguments.get("login"), arguments.get("tls"))
        settings = {"broker.address.family": "v4", **security}
        command: dict[str, Any] = {"bootstrap": arguments["bootstrap"], **arguments, "settings": settings}
        actions = {"produce": _produce, "fetch": _fetch, "offsets": _offsets, "group": _group}
        return actions[do](command)

    def close(self) -> None:
        """Do nothing: nothing is running."""


def _command_line(command: Mapping[str, Any], *options: str) -> list[str]:
    settings = [word for name, value in command["settings"].items() for word in ("-X", f"{name}={value}")]
    return ["kcat", "-q", "-b", command["bootstrap"], *settings, *options]


def _run(command: Mapping[str, Any], *options: str, given: str = "") -> str:
    line = _command_line(command, *options)
    done = finished(line, stdin=given, timeout_s=TIMEOUT_S)
    if done.returncode:
        raise ProgramError(done.stderr)
    return done.stdout


def _produce(command: dict[str, Any]) -> dict[str, Any]:
    settings = command["settings"]
    settings["compression.codec"] = command.get("compression", "none")
    if command.get("idempotent"):
        settings["enable.idempotence"] = "true"
    if command.get("transaction"):
        settings["transactional.id"] = command["transaction"]
    headers = [word for name, text in command.get("headers", {}).items() for word in ("-H", f"{name}={text}")]
    options = ["-P", "-t", command["topic"], *headers]
    lines = "".join(f"{value}\n" for value in command["values"])
    if command.get("abort"):
        _interrupted(_command_line(command, *options), lines)
    else:
        _run(command, *options, given=lines)
    return {}


def _interrupted(line: Sequence[str], given: str) -> None:
    """Send SIGINT before the input ends: kcat then aborts its transaction."""
    process = subprocess.Popen([*line, "-v"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with process:
        assert process.stdin is not None
        process.stdin.write(given)
        process.stdin.flush()
        process.terminate()
        process.wait(TIMEOUT_S)


def _fetch(command: dict[str, Any]) -> dict[str, Any]:
    level = "read_committed" if command.get("committed") else "read_uncommitted"
    command["settings"]["isolation.level"] = level
    records = _records(command, "-C", "-t", command["topic"], "-p", "0", "-o", "beginning", "-c", str(command["count"]))
    return {"records": records}


def _group(command: dict[str, Any]) -> dict[str, Any]:
    command["settings"]["auto.offset.reset"] = "earliest"
    if command.get("instance"):
        command["settings"]["group.instance.id"] = command["instance"]
    # `-G group topic ...` takes the rest of the line, so it comes last.
    records = _records(command, "-c", str(command["count"]), "-G", command["group"], command["topic"])
    return {"values": [record["value"] for record in records]}


def _records(command: Mapping[str, Any], *options: str) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in _run(command, "-J", *options).splitlines()]
    return [
        {"offset": row["offset"], "value": row["payload"], "headers": _pairs(row.get("headers", []))} for row in rows
    ]


def _pairs(flat: Sequence[str]) -> dict[str, str]:
    """Return kcat's list name, value, name, value ... as a dictionary."""
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _offsets(command: dict[str, Any]) -> dict[str, Any]:
    def asked(timestamp: int) -> int:
        found = re.search(r"offset (\d+)", _run(command, "-Q", "-t", f"{command['topic']}:0:{timestamp}"))
        assert found is not None
        return int(found[1])

    return {"earliest": asked(-2), "latest": asked(-1)}
