"""The settings of a broker of either kind whose clients have to log in: one listener, CLIENTS; any token is
accepted.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

import pytest

from devtools.ports import free_port
from tests.interop.support.clients.commands import SCRAM_MODULE
from tests.interop.support.clients.features import MECHANISMS
from tests.support.clients.sasl import PLAIN_MODULE
from tests.support.clients.tokens import MODULE, VALIDATOR

SCRAM: Final = MECHANISMS[1:]
_ALLOWED: Final = "-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls="


def one_listener(
    kind: Literal["ours", "apache"], port: int, protocol: str, users: Sequence[str], password: str
) -> dict[str, str]:
    """Return the settings of a listener with all mechanisms; `users` are the users of PLAIN. Apache Kafka has a second
    listener, INTERNAL, where it is ANONYMOUS.
    """
    named = " ".join(f'user_{user}="{password}"' for user in users)
    shared = {
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "listener.name.clients.plain.sasl.jaas.config": f"{PLAIN_MODULE} required {named};",
    }
    if kind == "ours":
        return {
            **shared,
            "listeners": "CLIENTS://127.0.0.1:0",  # the port is an option of the command line
            "listener.security.protocol.map": f"CLIENTS:{protocol}",
        }
    internal, controller = free_port(), free_port()
    addresses = f"CLIENTS://127.0.0.1:{port},INTERNAL://127.0.0.1:{internal}"
    return {
        **shared,
        "listeners": f"{addresses},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": addresses,
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listener.security.protocol.map": f"CLIENTS:{protocol},INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "INTERNAL",
        **{f"listener.name.clients.{name.lower()}.sasl.jaas.config": f"{SCRAM_MODULE} required;" for name in SCRAM},
    }


def scram_users(users: Sequence[str], password: str) -> list[str]:
    """Return the users as `--add-scram` takes them, for both mechanisms."""
    return [f"{mechanism}=[name={user},password={password}]" for mechanism in SCRAM for user in users]


def token_settings(keys: Path, *listeners: str, **expected: str) -> dict[str, str]:
    """Return OAUTHBEARER settings of these listeners, besides `sasl.enabled.mechanisms`.

    `keys` is a JWKS; `expected` are `sasl.oauthbearer.*` without that prefix, underscores for dots.
    """
    own = [f"listener.name.{listener}.oauthbearer.sasl" for listener in listeners]
    return {
        **{f"{prefix}.jaas.config": f"{MODULE} required;" for prefix in own},
        **{f"{prefix}.server.callback.handler.class": VALIDATOR for prefix in own},
        "sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
        **{"sasl.oauthbearer." + name.replace("_", "."): value for name, value in expected.items()},
    }


def allow_urls(patch: pytest.MonkeyPatch, *files: Path) -> None:
    """Let Java processes started meanwhile read keys and tokens from these files."""
    patch.setenv("JAVA_TOOL_OPTIONS", _ALLOWED + ",".join(file.as_uri() for file in files))
