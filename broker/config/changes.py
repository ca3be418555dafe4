"""Incremental changes of a resource's properties: SET, DELETE, APPEND, SUBTRACT (KIP-339), decided without storing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any, Final, NamedTuple

from shareq.protocol.config_def import ConfigKey, ConfigType, ConfigValue, format_value
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode


class ConfigOp(IntEnum):
    """Operations by their numbers in IncrementalAlterConfigs."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


_OPERATIONS: Final = frozenset(ConfigOp)


class Alteration(NamedTuple):
    """One change of one property. `op` is the client's number; `value` is used by all operations except DELETE."""

    key: str
    op: int
    value: str | None


def check_alterations(alterations: Sequence[Alteration]) -> ApiError:
    """Return the first error in the changes that can be found without the current values, or NO_ERROR."""
    keys = [alteration.key for alteration in alterations]
    if len(set(keys)) != len(keys):
        return ApiError(ErrorCode.INVALID_REQUEST, "A configuration name appears more than once")
    for alteration in alterations:
        if alteration.op not in _OPERATIONS:
            return ApiError(ErrorCode.INVALID_REQUEST, f"Unknown operation {alteration.op} on {alteration.key}")
        if alteration.value is None and alteration.op != ConfigOp.DELETE:
            return ApiError(ErrorCode.INVALID_REQUEST, f"A null value is not supported for {alteration.key}")
    return NO_ERROR


def apply_alterations(
    current: Mapping[str, str],
    alterations: Sequence[Alteration],
    key_of: Callable[[str], ConfigKey[Any] | None],
    effective: Callable[[str], ConfigValue],
) -> dict[str, str] | ApiError:
    """Return a resource's own properties after changes that have passed `check_alterations`, or the error.

    APPEND and SUBTRACT change the list in effect; `effective` returns it if the resource has no value of its own.
    """
    result = dict(current)
    for alteration in alterations:
        name, value = alteration.key, alteration.value or ""
        if alteration.op == ConfigOp.DELETE:
            result.pop(name, None)
        elif alteration.op == ConfigOp.SET:
            result[name] = value
        else:
            key = key_of(name)
            if key is None or key.type is not ConfigType.LIST:
                verb = ConfigOp(alteration.op).name
                return ApiError(ErrorCode.INVALID_CONFIG, f"Can't {verb} to key {name}: it is not a list")
            text = result[name] if name in result else format_value(effective(name))
            result[name] = _edit_list(text, value, append=alteration.op == ConfigOp.APPEND)
    return result


def _edit_list(text: str, change: str, *, append: bool) -> str:
    items = [item.strip() for item in text.split(",") if item.strip()]
    for item in (part.strip() for part in change.split(",")):
        if append and item not in items:
            items.append(item)
        elif not append and item in items:
            items.remove(item)
    return ",".join(items)
