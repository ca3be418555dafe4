"""`shareq console`: a web console of any cluster."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import socket
import sys
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import click

from shareq.client.config import ClientConfig
from shareq.client.errors import ConfigError
from shareq.ops.cli.shared.api import api_options, records_api
from shareq.ops.cli.shared.command import CONTEXT, Session
from shareq.ops.cli.shared.exits import USAGE, exit_with, read_properties, warn_of_readers
from shareq.ops.cli.shared.listening import address_of, bound_socket
from shareq.ops.cli.shared.profile import client_config

if TYPE_CHECKING:
    from shareq.ops.console.guard import Rules
    from shareq.ops.console.server import Cluster
    from shareq.ops.console.views.windows import Windows

DEFAULT_LISTEN: Final = "127.0.0.1:8080"
API_TIMEOUT_S: Final = 5.0
_OF_PROFILES: Final = "their addresses, properties and records APIs"
MISSING: Final = "the console needs aiohttp: pip install 'shareq[console]'"
EPILOG: Final = """\b
Examples:
  shareq console
      The cluster at 127.0.0.1:9092, at http://127.0.0.1:8080.
  shareq console broker.example.com:9095 --config admin.properties --token-file token
      With TLS and a login. Everything it shows needs the token, for it shows what that login may see.
  shareq console --profile work --profile test
      Two clusters, each with the address and properties of its profile; the pages choose between them.
  shareq console --profile here --api http://127.0.0.1:9465 --api-token-file operator
      With the windows: which member has which record. Only a broker of shareq knows.

\b
Without --token-file it changes nothing. With it, the token's holder may send dead letters back, reset groups, and
delete groups and topics. Nothing is encrypted: for other machines put a proxy with TLS before it, or use ssh -L.

\b
Exit codes: 0 stopped by a signal, 2 wrong options, or aiohttp is missing, 3 the address cannot be listened on.
"""


@click.command("console", context_settings=CONTEXT, epilog=EPILOG)
@click.argument("bootstrap", metavar="[HOST:PORT]", required=False)
@click.option(
    "--listen", metavar="HOST:PORT", default=DEFAULT_LISTEN, show_default=True, help="Where. Port 0: any free."
)
@click.option("--token-file", metavar="FILE", help="Has the token that changes need; without it nothing is changed.")
@click.option("--config", "config_file", metavar="FILE", help="Properties of a Kafka client: TLS, SASL.")
@click.option("--property", "properties", metavar="KEY=VALUE", multiple=True, help="One of them. Repeatable.")
@click.option(
    "--profile",
    "profiles",
    metavar="NAME",
    multiple=True,
    help="Of ~/.config/shareq/config.toml [SHAREQ_PROFILE]. Several show a cluster each.",
)
@api_options
@click.option("--of-broker", type=int, hidden=True, help="A listening socket's number: of `shareq serve --console`.")
def command(
    bootstrap: str | None,
    listen: str,
    token_file: str | None,
    config_file: str | None,
    properties: tuple[str, ...],
    profiles: tuple[str, ...],
    api: str | None,
    api_token_file: str | None,
    of_broker: int | None,
) -> None:
    """Serve a web console of a cluster, or of several: shareq, or any of Apache Kafka.

    Prints its address once it listens. It stops with Ctrl-C.
    """
    if find_spec("aiohttp") is None:
        exit_with(USAGE, MISSING)
    from shareq.ops.console.server import Cluster, Wish, run

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s console: %(message)s")
    private, clusters = False, dict[str, Cluster]()
    if of_broker is not None:
        config, windows, token, private = _from_broker(bootstrap, config_file)
        clusters["this broker"] = Cluster(config, windows)
        bound = socket.socket(fileno=of_broker)
    else:
        if len(profiles) > 1:
            if bootstrap or config_file or properties or api or api_token_file:
                exit_with(USAGE, f"console: several profiles: give {_OF_PROFILES} in them, not as options")
            clusters = {name: _cluster(None, None, (), name, environment=_home()) for name in profiles}
        else:
            profile = profiles[0] if profiles else None
            one = _cluster(bootstrap, config_file, properties, profile, api=api, api_token_file=api_token_file)
            clusters = {profile or one.address: one}
        token = None if token_file is None else read_token("--token-file", token_file)
        bound = bound_socket(listen, DEFAULT_LISTEN)
    with bound, contextlib.suppress(KeyboardInterrupt):
        rules = _rules(bound, token, [each.config for each in clusters.values()], private)
        address = address_of(bound)

        def ready() -> None:
            if of_broker is None:
                access = "read-only" if rules.token is None else "changes need the token"
                shown = " and ".join(each.address for each in clusters.values())
                click.echo(f"shareq console of {shown} at http://{address}/, {access}")

        run(Wish(clusters, rules), bound, ready=ready, with_stdin=of_broker is not None)


def _cluster(
    bootstrap: str | None,
    config_file: str | None,
    properties: tuple[str, ...],
    profile: str | None,
    *,
    api: str | None = None,
    api_token_file: str | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Cluster:
    """Return a cluster by its settings. Ends the command if they are invalid."""
    from shareq.ops.console.server import Cluster
    from shareq.ops.console.views.windows import Windows

    config = client_config(bootstrap, config_file, profile, properties, 30.0, environment)
    try:
        return Cluster(config, Windows(records_api(Session(config, False, profile), api, api_token_file, environment)))
    except ConfigError as error:
        exit_with(USAGE, f"--api {error}")


def _home() -> Mapping[str, str]:
    """Return the environment's variables that say where profiles are. The others hold settings of one cluster."""
    return {name: os.environ[name] for name in ("HOME", "XDG_CONFIG_HOME") if name in os.environ}


def _from_broker(bootstrap: str | None, config_file: str | None) -> tuple[ClientConfig, Windows, str | None, bool]:
    """Read the settings from the broker, secrets through standard input; the user's environment is not used.

    The third value is the console's token; the last is True if the broker has access rights, so that not every user may
    see everything.
    """
    from shareq.ops.console.views.windows import Windows
    from shareq.ops.records_api import RecordsApi

    given = read_properties(config_file) if config_file is not None else {}
    if bootstrap is not None:
        given = {"bootstrap.servers": bootstrap, **given}
    handed = json.loads(os.read(sys.stdin.fileno(), 65_536) or "{}")
    try:
        config = ClientConfig.from_properties(given)
        url = handed.get("records_api")
        api = None if url is None else RecordsApi(url, handed["token"], tls=config.tls, timeout_s=API_TIMEOUT_S)
        return config, Windows(api), handed.get("console_token"), bool(handed.get("token_to_read"))
    except ConfigError as error:
        exit_with(USAGE, f"--console-config: {error}")


def _rules(bound: socket.socket, token: str | None, configs: Iterable[ClientConfig], private: bool) -> Rules:
    """Return the rules. Ends the command if the console would show too much to too many users."""
    from shareq.ops.console.guard import Rules, exposure, is_loopback

    loopback = is_loopback(str(bound.getsockname()[0]))
    logs_in = private or any(each.sasl or (each.tls and each.tls.certificate) for each in configs)
    if problem := exposure(loopback, token, logs_in):
        exit_with(USAGE, f"the console on {address_of(bound)} {problem}")
    return Rules(token, token is not None and (logs_in or not loopback), loopback)


def read_token(option: str, path: str) -> str:
    """Return the token in a file, without surrounding white space.

    Ends the command for a token that could be guessed.
    """
    from shareq.ops.console.guard import LEAST_TOKEN

    try:
        with open(path, encoding="ascii") as file:
            token = file.read().strip()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "must be ASCII"
        exit_with(USAGE, f"{option} {path}: {reason}")
    if len(token) < LEAST_TOKEN or not token.isprintable() or " " in token:
        exit_with(USAGE, f"{option} {path}: must have a token of at least {LEAST_TOKEN} visible characters")
    warn_of_readers(option, path)
    return token
