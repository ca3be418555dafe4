"""Values to which a property only refers (KIP-297): `${PROVIDER:KEY}` and `${PROVIDER:PATH:KEY}`.

    config.providers=file,env,directory
    config.providers.file.class=org.apache.kafka.common.config.provider.FileConfigProvider
    config.providers.file.param.allowed.paths=/run/secrets
    listener.name.clients.plain.sasl.jaas.config=${file:/run/secrets/users.properties:jaas}

The providers are Apache Kafka's three, with the names of its classes. A reference to a missing value is an error
here; Apache Kafka keeps the text of the reference, which then becomes the password. No error message of this module
contains a value.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from shareq.protocol.config_def import ConfigError

PROVIDERS_KEY: Final = "config.providers"

_PREFIX: Final = f"{PROVIDERS_KEY}."
_PACKAGE: Final = "org.apache.kafka.common.config.provider."
_REFERENCE: Final = re.compile(r"\$\{([^}:]*):(?:([^}:]*):)?([^}]*)\}")

Provider = Callable[[str, str], str]
"""A function that returns the value for a path ("" if the reference has none) and a key.

It raises LookupError if there is no such value; the text completes a sentence.
"""


def resolve(
    sources: Sequence[Mapping[str, str]], environment: Mapping[str, str]
) -> tuple[list[dict[str, str]], frozenset[str]]:
    """Return the sources of properties with every reference replaced, and the names of properties with a reference.

    Providers declared in a later source replace those of an earlier one. Raise ConfigError for an unknown provider, and
    for a reference to a missing value. If several sources set a property, only the last of them decides whether the
    property is among these names.
    """
    settings = {name: text for source in sources for name, text in source.items() if name.startswith(PROVIDERS_KEY)}
    providers = _providers(settings, environment)
    resolved: list[dict[str, str]] = []
    found: set[str] = set()
    for source in sources:
        texts: dict[str, str] = {}
        for name, text in source.items():
            texts[name] = text if name in settings else _replaced(name, text, providers)
            if texts[name] is not text:
                found.add(name)
            else:
                found.discard(name)
        resolved.append(texts)
    return resolved, frozenset(found)


def is_reference(text: str) -> bool:
    """Return True if the text is a reference and nothing else."""
    return _REFERENCE.fullmatch(text) is not None


def _replaced(name: str, text: str, providers: Mapping[str, Provider]) -> str:
    """Return the text with its references replaced; the same text if it has none."""
    at, pieces = 0, []
    for match in _REFERENCE.finditer(text):
        provider = providers.get(match[1])
        if provider is None:
            continue  # as in Apache Kafka, whatever else looks like it is left alone
        try:
            value = provider(match[2] or "", match[3])
        except LookupError as error:
            raise ConfigError(name, match[0], str(error.args[0])) from None
        pieces += [text[at : match.start()], value]
        at = match.end()
    return "".join((*pieces, text[at:])) if pieces else text


def _providers(settings: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, Provider]:
    result: dict[str, Provider] = {}
    for name in filter(None, (each.strip() for each in settings.get(PROVIDERS_KEY, "").split(","))):
        key = f"{_PREFIX}{name}.class"
        class_name = settings.get(key, "").strip()
        parameters = f"{_PREFIX}{name}.param."
        match class_name.removeprefix(_PACKAGE):
            case "FileConfigProvider":
                result[name] = partial(_of_file, _allowed_paths(settings, parameters))
            case "DirectoryConfigProvider":
                result[name] = partial(_of_directory, _allowed_paths(settings, parameters))
            case "EnvVarConfigProvider":
                result[name] = partial(_of_environment, environment, _pattern(settings, parameters))
            case _:
                classes = ", ".join(f"{_PACKAGE}{each}ConfigProvider" for each in ("File", "Directory", "EnvVar"))
                raise ConfigError(key, class_name or "(none)", f"must be one of {classes}")
    return result


def _allowed_paths(settings: Mapping[str, str], parameters: str) -> tuple[str, ...] | None:
    """Return the folders and files that a provider may read, with all below them; None for no restriction."""
    key = f"{parameters}allowed.paths"
    text = settings.get(key, "").strip()
    if not text:
        return None
    paths = tuple(each.strip() for each in text.split(","))
    for path in paths:
        if not os.path.isabs(path) or not os.path.exists(path):
            raise ConfigError(key, path, "must be absolute paths that exist, with commas between several")
    return tuple(map(os.path.normpath, paths))


def _pattern(settings: Mapping[str, str], parameters: str) -> re.Pattern[str] | None:
    key = f"{parameters}allowlist.pattern"
    text = settings.get(key)
    if text is None:
        return None
    try:
        return re.compile(text)
    except re.error as error:
        raise ConfigError(key, text, f"must be a regular expression: {error}") from None


def _check_path(path: str, allowed: tuple[str, ...] | None) -> None:
    if not path:
        raise LookupError("must name a path, as ${PROVIDER:/PATH:KEY}")
    normal = os.path.normpath(path)
    if allowed is not None and not any(normal == each or normal.startswith(f"{each.rstrip('/')}/") for each in allowed):
        raise LookupError(f"must have a path below one of its provider's allowed.paths ({', '.join(allowed)})")


def _of_file(allowed: tuple[str, ...] | None, path: str, key: str) -> str:
    import javaproperties

    _check_path(path, allowed)
    try:
        with open(path, "rb") as file:
            values: dict[str, str] = javaproperties.load(file)
    except OSError as error:
        raise LookupError(f"must name a file that can be read: {path}: {error.strerror}") from None
    except ValueError:
        raise LookupError(f"must name a file of properties, which {path} is not") from None
    if key not in values:
        raise LookupError(f"must name a property in {path}, which has no {key}")
    return values[key]


def _of_directory(allowed: tuple[str, ...] | None, path: str, key: str) -> str:
    _check_path(path, allowed)
    if not key or "/" in key:
        raise LookupError(f"must name a file in {path}")
    file_name = os.path.join(path, key)
    try:
        with open(file_name, encoding="utf-8", newline="") as file:
            return file.read()
    except OSError as error:
        raise LookupError(f"must name a file that can be read: {file_name}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise LookupError(f"must name a file of text in UTF-8, which {file_name} is not") from None


def _of_environment(environment: Mapping[str, str], pattern: re.Pattern[str] | None, path: str, key: str) -> str:
    if path:
        raise LookupError("must be ${PROVIDER:NAME}, without a path")
    if pattern is not None and not pattern.fullmatch(key):
        raise LookupError("must name a variable that its provider's allowlist.pattern lets through")
    if key not in environment:
        raise LookupError("must name a variable of the environment that is set")
    return environment[key]
