"""A command's access to its cluster: options, the environment, a file of properties, a profile; the first wins."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from shareq.client.config import ClientConfig
from shareq.client.errors import ConfigError
from shareq.ops.cli.shared.exits import USAGE, exit_with, pairs, read_properties, wrong

DEFAULT_SERVER: Final = "127.0.0.1:9092"
PREFIX: Final = "SHAREQ_CLIENT_"
FIRST_CONTACT_MS: Final = 5_000
OTHERS: Final = ("api.", "schema.registry.")
"""The prefixes of a profile's settings that are not for a Kafka client."""
_LONGEST_S: Final = 86_400.0


def config_path(environment: Mapping[str, str]) -> Path:
    """Return the path of the file with profiles."""
    home = environment.get("XDG_CONFIG_HOME") or os.path.join(environment.get("HOME", "~"), ".config")
    return Path(home).expanduser() / "shareq" / "config.toml"


def client_config(
    bootstrap: str | None,
    config_file: str | None,
    profile: str | None,
    properties: Iterable[str],
    timeout_s: float,
    environment: Mapping[str, str] = os.environ,
) -> ClientConfig:
    """Return the configuration of a command's client. Ends the command with exit code 2 for an invalid one."""
    if not 0 < timeout_s <= _LONGEST_S:
        wrong("--timeout", f"{timeout_s:g}", f"must be above 0 and at most {_LONGEST_S:g} seconds")
    given: dict[str, str] = {"bootstrap.servers": DEFAULT_SERVER}
    given |= {
        name: text for name, text in profile_settings(profile, environment).items() if not name.startswith(OTHERS)
    }
    if path := config_file or environment.get("SHAREQ_CLIENT_CONFIG"):
        given |= read_properties(path)
    given |= _of_environment(environment)
    given |= pairs("--property", properties)
    if bootstrap or (bootstrap := environment.get("SHAREQ_BOOTSTRAP_SERVERS")):
        given["bootstrap.servers"] = bootstrap
    timeout_ms = str(max(1, round(timeout_s * 1000)))
    given.setdefault("default.api.timeout.ms", timeout_ms)
    given.setdefault("request.timeout.ms", timeout_ms)
    try:
        return ClientConfig.from_properties(given)
    except ConfigError as error:
        exit_with(USAGE, str(error))


def _of_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the properties in the environment: SHAREQ_CLIENT_SECURITY_PROTOCOL is security.protocol.

    Variables without CLIENT are the broker's.
    """
    return {
        name.removeprefix(PREFIX).lower().replace("_", "."): value
        for name, value in environment.items()
        if name.startswith(PREFIX) and name != "SHAREQ_CLIENT_CONFIG"
    }


def profile_settings(name: str | None, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Read a profile: the named one, or that of the environment, or the file's default.

    Ends the command if it is missing.
    """
    return _of_profile(name or environment.get("SHAREQ_PROFILE"), config_path(environment))


def _of_profile(name: str | None, path: Path) -> dict[str, str]:
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        if name is None:
            return {}
        wrong("--profile", name, f"there is no file {path}")
    except OSError as error:
        exit_with(USAGE, f"{path}: {error.strerror}")
    try:
        loaded = tomllib.loads(text.decode())
    except ValueError as error:
        exit_with(USAGE, f"{path}: {error}")
    profiles = loaded.get("profiles", {})
    name = name or loaded.get("default")
    if name is None:
        return {}
    if not isinstance(profiles, dict) or not isinstance(profiles.get(name), dict):
        known = ", ".join(sorted(profiles)) if isinstance(profiles, dict) and profiles else "none"
        wrong("--profile", name, f"is not in {path}, which has {known}")
    return dict(_flat(profiles[name]))


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, str]]:
    """Return names joined with dots: TOML reads security.protocol = "SSL" as a table in a table."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", str(value).lower() if isinstance(value, bool) else str(value)
