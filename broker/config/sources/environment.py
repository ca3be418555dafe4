"""Properties from the environment: SHAREQ_LOG_RETENTION_MS is `log.retention.ms`.

    _     stands for .
    __    stands for _
    ___   stands for -

as in KAFKA_... of Apache Kafka's container image, so every property has a variable. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

PREFIX: Final = "SHAREQ_"
NOT_PROPERTIES: Final = frozenset(
    (
        "SHAREQ_API_TOKEN",
        "SHAREQ_API_TOKEN_FILE",
        "SHAREQ_API_URL",
        "SHAREQ_BOOTSTRAP_SERVERS",
        "SHAREQ_INSECURE",
        "SHAREQ_LOG_FORMAT",
        "SHAREQ_LOG_LEVEL",
        "SHAREQ_PROFILE",
        "SHAREQ_PURE",
        "SHAREQ_SCHEMA_REGISTRY_URL",
    )
)
"""Variables that have another meaning and name no property."""
OF_CLIENTS: Final = "SHAREQ_CLIENT_"
"""The prefix of variables that may be for commands about a cluster, and cause no warning."""

_UNDERSCORES: Final = re.compile("_{1,3}")
_STANDS_FOR: Final = (".", "_", "-")


def environment_properties(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the properties that variables set, by property name. An empty variable sets the property to an empty
    text.
    """
    return {
        property_name(variable): text
        for variable, text in environment.items()
        if variable.startswith(PREFIX) and variable not in NOT_PROPERTIES and len(variable) > len(PREFIX)
    }


def property_name(variable: str) -> str:
    """Return the property name that a variable stands for, even if no such property exists."""
    name = variable.removeprefix(PREFIX).lower()
    return _UNDERSCORES.sub(lambda match: _STANDS_FOR[len(match[0]) - 1], name)


def variable_name(name: str) -> str:
    """Return the variable that sets a property: the inverse of `property_name`."""
    return PREFIX + name.replace("_", "__").replace("-", "___").replace(".", "_").upper()
