"""The options of `shareq serve`, which override the file, the environment and --set."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from shareq.ops.cli.shared.exits import USAGE, exit_with, host_and_port, pairs, read_properties, warn_of_readers

if TYPE_CHECKING:
    from shareq.broker.config.broker_config import BrokerConfig
    from shareq.broker.process.http.console import ConsoleOptions
    from shareq.broker.process.scram_option import NewScramUser
    from shareq.broker.process.serve import Wanted
    from shareq.cluster.command import Node

logger = logging.getLogger(__name__)


class ServeOptions(NamedTuple):
    """The options of `shareq serve`, as they were given."""

    listen: str | None
    advertise: str | None
    insecure: bool
    data_dir: str | None
    config_file: str | None
    settings: Sequence[str]
    features: Sequence[str]
    metrics: str | None
    ephemeral: bool
    scram_users: Sequence[str]
    records_api: str | None
    records_api_token_file: str | None
    console: str | None
    console_token_file: str | None
    console_config: str | None
    log_level: str
    log_format: str
    cluster: str | None
    cluster_config: str | None
    node_config: str | None
    no_proxy: bool


def wanted_of(options: ServeOptions, environ: Mapping[str, str] = os.environ) -> Wanted:
    """Read the options of `shareq serve`, the file and the environment. Ends the command if they are invalid."""
    from shareq.broker.config.broker_config import BrokerConfig
    from shareq.broker.process.serve import Wanted
    from shareq.protocol.config_def import ConfigError

    refuse_without_effect(options)
    try:
        properties = read_properties(options.config_file) if options.config_file is not None else {}
        overrides = pairs("--set", options.settings)
        environment = dict(environ)
        apply_options(properties, environment, overrides, options.listen, options.data_dir)
        if options.advertise is not None:
            apply_advertise({**properties, **set_by(environment), **overrides}, overrides, options.advertise)
        apply_records_api(overrides, options.records_api, options.records_api_token_file)
        console_options = console_options_of(options.console, options.console_token_file, options.console_config)
        if console_options is not None:
            console_options = apply_console({**properties, **set_by(environment)}, overrides, console_options)
        config = BrokerConfig.load(properties, overrides, environment, of_node=options.cluster is not None)
    except ConfigError as error:
        exit_with(USAGE, str(error))
    address = None if options.metrics is None else host_and_port("--metrics", options.metrics, 9464)
    levels, users = levels_of(options.features), scram_users_of(options.scram_users)
    if options.cluster is None:
        return Wanted(config, levels, address, users, console_options)
    files = options.cluster_config, options.node_config
    node = node_of(config, options.cluster, *files, proxies=not options.no_proxy)
    return Wanted(node.config, levels, address, users, console_options, node.ground)


def refuse_without_effect(options: ServeOptions) -> None:
    """End the command for options that have no meaning with or without a cluster."""
    if options.cluster is None:
        if options.cluster_config is not None or options.node_config is not None or options.no_proxy:
            exit_with(USAGE, "--cluster-config, --node-config and --no-proxy need --cluster")
        return
    if options.data_dir is not None:
        exit_with(USAGE, "--data-dir: a node keeps no data; what it confirms is kept by the cluster of --cluster")
    if options.ephemeral:
        exit_with(USAGE, "--ephemeral: what a node confirms is kept by the cluster of --cluster, and is not removed")
    if options.features:
        exit_with(USAGE, "--feature: the levels of features are those of the cluster of --cluster")


def node_of(
    config: BrokerConfig, bootstrap: str, client_file: str | None, nodes_file: str | None, *, proxies: bool
) -> Node:
    """Return the node of --cluster, --cluster-config, --node-config and --no-proxy."""
    from shareq.client.errors import ConfigError
    from shareq.cluster import command

    client = _client_of("--cluster-config", client_file)
    among_nodes = _client_of("--node-config", nodes_file)
    try:
        return command.node_of(config, bootstrap, client, proxies=proxies, among_nodes=among_nodes)
    except ConfigError as error:
        exit_with(USAGE, f"--cluster {bootstrap}: {error}")


def _client_of(option: str, file: str | None) -> Mapping[str, str]:
    """Return the properties of a client in the file of an option."""
    if file is None:
        return {}
    found = read_properties(file, option)
    if any("password" in name or "jaas" in name for name in found):
        warn_of_readers(option, file)
    return found


def refuse_secrets(settings: Iterable[str]) -> None:
    """End the command if --set gives a secret: every user of the machine can read a command line."""
    for name, text in pairs("--set", settings).items():
        from shareq.broker.config.sources.environment import variable_name
        from shareq.broker.config.sources.on_command_line import has_secret

        if has_secret(name, text):
            exit_with(
                USAGE,
                f"--set {name}: every user of this machine can read it here: put it into the file of --config or into "
                f"the variable {variable_name(name)}, or point to it with ${{file:...}} (config.providers)",
            )


def configure_log(level: str, log_format: str) -> None:
    """Apply --log-level and --log-format."""
    from shareq.broker.process import logging_setup

    if log_format.lower() not in logging_setup.FORMATS:
        exit_with(USAGE, f"--log-format {log_format}: must be one of {', '.join(logging_setup.FORMATS)}")
    try:
        levels = logging_setup.parse_levels(level)
    except ValueError as error:
        exit_with(USAGE, f"--log-level {error}")
    logging_setup.configure(levels, log_format.lower())


def scram_users_of(texts: Iterable[str]) -> list[NewScramUser]:
    """Return the users of --add-scram. Errors do not repeat the given text, which may hold a password."""
    users = []
    for text in texts:
        from shareq.broker.process.scram_option import parse_add_scram

        try:
            user = parse_add_scram(text, os.environ)
        except ValueError as error:
            exit_with(USAGE, f"--add-scram: {error}")
        except OSError as error:
            exit_with(USAGE, f"--add-scram: {error.filename}: {error.strerror}")
        if user.in_option:
            logger.warning(
                "--add-scram: every user of this machine can read the password of %s in the command line: "
                "password-file=FILE and password-env=NAME keep it out of there",
                user.key.user,
            )
        users.append(user)
    return users


def levels_of(texts: Iterable[str]) -> dict[str, int]:
    """Return the levels of --feature, by name."""
    result: dict[str, int] = {}
    for name, level in pairs("--feature", texts, "NAME=LEVEL").items():
        if not level.isdecimal():
            exit_with(USAGE, f"--feature {name}={level}: the level must be a whole number from 0 on")
        result[name] = int(level)
    return result


def _listener_name(given: Mapping[str, str]) -> str:
    """Return the listener to which --listen gives an address.

    It is PLAINTEXT, unless the only listener in `given` has authentication, which --listen never removes.
    """
    pairs = (text.partition(":") for text in given.get("listener.security.protocol.map", "").split(","))
    protocols = {_upper(name): _upper(protocol) for name, _, protocol in pairs}
    names = _listener_names(given, protocols)
    if all(protocols.get(name, name) == "PLAINTEXT" for name in names):
        return "PLAINTEXT"
    if len(names) > 1:
        exit_with(USAGE, f"--listen: there are several listeners ({', '.join(names)}); set listeners instead")
    return names[0]


def _listener_names(given: Mapping[str, str], protocols: Mapping[str, str]) -> list[str]:
    """Return the client listeners that properties open; if none do, those that are advertised or protected."""
    controllers = set(map(_upper, given.get("controller.listener.names", "").split(",")))
    for key in ("listeners", "advertised.listeners"):
        names = [_upper(text.partition("://")[0]) for text in given.get(key, "").split(",") if text.strip()]
        names = [name for name in names if name not in controllers]
        if names:
            return names
    own = (key.split(".")[2].upper() for key in given if key.startswith("listener.name.") and key.count(".") > 2)
    return sorted({name for name in own if protocols.get(name, name).startswith(("SASL_", "SSL"))} - controllers)


def _upper(text: str) -> str:
    return text.strip().upper()


def set_by(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the properties in the environment."""
    if not any(name.startswith("SHAREQ_") for name in environment):
        return {}
    from shareq.broker.config.sources.environment import environment_properties

    return environment_properties(environment)


def apply_options(
    properties: dict[str, str],
    environment: dict[str, str],
    overrides: dict[str, str],
    listen: str | None,
    data_dir: str | None,
) -> None:
    """Let --listen and --data-dir override the file, the environment and --set."""
    if listen is not None:
        host_and_port("--listen", listen, 9092)
        below = {**properties, **set_by(environment)}
        name = _listener_name({**below, **overrides})
        overrides["listeners"] = f"{name}://{listen}"
        advertised = [text.strip() for text in below.get("advertised.listeners", "").split(",")]
        kept = [text for text in advertised if text.upper().startswith(f"{name}://")]
        if any(advertised) and kept != advertised:
            logger.warning("Property advertised.listeners is ignored but for %s, the listener of --listen", name)
        properties.pop("advertised.listeners", None)
        environment.pop("SHAREQ_ADVERTISED_LISTENERS", None)
        if kept:  # what other listeners advertise has no meaning here
            properties["advertised.listeners"] = ",".join(kept)
    if data_dir is not None:
        if not data_dir.strip():
            exit_with(USAGE, f"--data-dir {data_dir!r}: must name a folder")
        for names in (properties, overrides):
            names.pop("log.dirs", None)
        environment.pop("SHAREQ_LOG_DIRS", None)
        overrides["log.dir"] = data_dir


def apply_records_api(overrides: dict[str, str], address: str | None, token_file: str | None) -> None:
    """Let --records-api and --records-api-token-file override other settings of the records API."""
    if address is not None:
        host_and_port("--records-api", address, 9465)
        overrides["shareq.records.api.listen"] = address
    if token_file is not None:
        try:
            with open(token_file, encoding="utf-8") as file:
                overrides["shareq.records.api.token"] = file.read().strip()
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "is no UTF-8"
            exit_with(USAGE, f"--records-api-token-file {token_file}: {reason}")
        warn_of_readers("--records-api-token-file", token_file)


def console_options_of(address: str | None, token_file: str | None, config_file: str | None) -> ConsoleOptions | None:
    """Read --console, --console-token-file and --console-config."""
    if address is None:
        if token_file is not None or config_file is not None:
            exit_with(USAGE, "--console-token-file and --console-config need --console")
        return None
    from shareq.broker.process.http.console import ConsoleOptions, token_of
    from shareq.broker.process.sockets import Address

    token = None
    if token_file is not None:
        try:
            token = token_of(token_file)
        except ValueError as error:
            exit_with(USAGE, f"--console-token-file {token_file}: {error}")
        warn_of_readers("--console-token-file", token_file)
    client = {} if config_file is None else read_properties(config_file, "--console-config")
    protocol = client.get("security.protocol", "PLAINTEXT").upper()
    where = Address(*host_and_port("--console", address, 8080))
    return ConsoleOptions(where, token, token_file, config_file, protocol)


def apply_console(below: Mapping[str, str], overrides: dict[str, str], options: ConsoleOptions) -> ConsoleOptions:
    """Give a broker with a console the records API, unless `below` or the options have it already."""
    from shareq.broker.process.http.console import for_commands, with_records_api

    given = {**below, **overrides}
    overrides |= with_records_api(given, options.token)
    return options._replace(for_commands=for_commands(given, options.token_file))


def apply_advertise(given: Mapping[str, str], overrides: dict[str, str], advertise: str) -> None:
    """Let --advertise override other settings of the single listener."""
    host, _ = host_and_port("--advertise", advertise, 9092)
    if not host:
        exit_with(USAGE, f"--advertise {advertise}: must name a host that clients can connect to")
    opened = {"listeners": given.get("listeners", "PLAINTEXT://")}
    names = _listener_names({**given, **opened}, {})
    if len(names) > 1:
        exit_with(USAGE, f"--advertise: there are several listeners ({', '.join(names)}); set advertised.listeners")
    overrides["advertised.listeners"] = f"{names[0]}://{advertise}"
