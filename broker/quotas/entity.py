"""Entities of quotas, the kinds of quotas, and their legal values (KIP-13, KIP-124, KIP-599, KIP-612)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"
KINDS: Final = (CLIENT_ID, USER, IP)
"""The kinds of entities by their names in requests, in the order in which errors name them."""

DEFAULT: Final = ""
"""The name of the default entity of a kind, for all without a quota of their own. No real name is empty."""

PRODUCER_BYTE_RATE: Final = "producer_byte_rate"
CONSUMER_BYTE_RATE: Final = "consumer_byte_rate"
REQUEST_PERCENTAGE: Final = "request_percentage"
CONTROLLER_MUTATION_RATE: Final = "controller_mutation_rate"
CONNECTION_CREATION_RATE: Final = "connection_creation_rate"


class QuotaEntity(NamedTuple):
    """The entity for which a quota is set. For each kind it has a name, DEFAULT, or None if the kind does not
    matter.

    It has a user, a client id, both, or an address (as text).
    """

    user: str | None = None
    client_id: str | None = None
    ip: str | None = None

    def by_kind(self) -> dict[str, str | None]:
        """Return the name by kind, None for the default; kinds that do not matter are left out."""
        named = ((CLIENT_ID, self.client_id), (USER, self.user), (IP, self.ip))
        return {kind: name or None for kind, name in named if name is not None}

    def __str__(self) -> str:
        """Format the entity as Apache Kafka writes it in errors."""
        entries = ", ".join(f"{kind}={'null' if name is None else name}" for kind, name in self.by_kind().items())
        return f"ClientQuotaEntity(entries={{{entries}}})"


class _Number(Enum):
    LONG = 2**63 - 1
    INT = 2**31 - 1
    DOUBLE = 0


_OF_CLIENTS: Final[Mapping[str, _Number]] = {
    PRODUCER_BYTE_RATE: _Number.LONG,
    CONSUMER_BYTE_RATE: _Number.LONG,
    REQUEST_PERCENTAGE: _Number.DOUBLE,
    CONTROLLER_MUTATION_RATE: _Number.DOUBLE,
}
_OF_ADDRESSES: Final[Mapping[str, _Number]] = {CONNECTION_CREATION_RATE: _Number.INT}
_EPSILON: Final = 1e-6


def entity_of(names: Mapping[str, str | None]) -> QuotaEntity | str:
    """Return the entity with these names by kind (None: the default), or the error in Apache Kafka's words."""
    if not names:
        return "Invalid empty client quota entity"
    for kind, name in names.items():
        if kind not in KINDS:
            return f"Unhandled client quota entity type: {kind}"
        if name == "":
            return f"Empty {kind} not supported"
    if IP in names and len(names) > 1:
        return "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId"
    address = names.get(IP)
    if address is not None and not _is_address(address):
        return f"{address} is not a valid IP or resolvable host."
    user, client_id, ip = (names[kind] or DEFAULT if kind in names else None for kind in (USER, CLIENT_ID, IP))
    return QuotaEntity(user, client_id, ip)


def value_problem(entity: QuotaEntity, key: str, value: float) -> str | None:
    """Return why an entity cannot have this quota, in Apache Kafka's words; None if it can."""
    number = (_OF_CLIENTS if entity.ip is None else _OF_ADDRESSES).get(key)
    if number is None:
        return f"Invalid configuration key {key}"
    if not value > 0:  # nor what is no number
        return f"Quota {key} must be greater than 0"
    if number is _Number.DOUBLE:
        return None
    if value > number.value:
        return f"Proposed value for {key} is too large for {'an' if number is _Number.INT else 'a'} {number.name}."
    return f"{key} cannot be a fractional value." if abs(value - round(value)) > _EPSILON else None


def _is_address(text: str) -> bool:
    """Return True for an address, False for a name, since looking a name up would hold the loop for seconds."""
    from ipaddress import ip_address  # not for every start

    try:
        ip_address(text)
    except ValueError:
        return False
    return True
