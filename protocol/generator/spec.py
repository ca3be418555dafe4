"""Schema files to specs: Kafka's message schema language, read strictly.

A key that is not known here is an error, so that a newer schema never loses a meaning silently. Apache Kafka's own
files are read unchanged: `//` comments, defaults and booleans with or without quotes. A bare `"default": null` means
"no default given" (only the quoted "null" makes null the default), as Kafka's reader takes it.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from pathlib import Path
from typing import Final

from shareq.protocol.generator.versions import NONE, Versions

Default = int | float | bool | str | bytes | None


class SchemaError(ValueError):
    """A schema file that does not follow the language. The text names the file and the place in it."""


class Kind(Enum):
    """The `type` of a message."""

    REQUEST = "request"
    RESPONSE = "response"
    HEADER = "header"
    DATA = "data"
    COORDINATOR_KEY = "coordinator-key"
    COORDINATOR_VALUE = "coordinator-value"
    METADATA = "metadata"


INTEGER_RANGES: Final[dict[str, tuple[int, int]]] = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint16": (0, 2**16 - 1),
    "uint32": (0, 2**32 - 1),
}
FIXED_SIZES: Final = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "uint16": 2,
    "uint32": 4,
    "float64": 8,
    "uuid": 16,
}
PRIMITIVES: Final = frozenset(FIXED_SIZES) | {"string", "bytes", "records"}
_ENTITY_TYPES: Final = frozenset({"topicName", "brokerId", "groupId", "producerId", "transactionalId", "unknown"})


@dataclass(frozen=True, slots=True)
class FieldType:
    """`element` is a primitive's or a struct's name; `array` says whether it is `[]element`."""

    element: str
    array: bool

    @property
    def struct(self) -> bool:
        return self.element not in PRIMITIVES

    @property
    def fixed_size(self) -> int | None:
        """Bytes of a fixed-width field; None for everything else."""
        return None if self.array else FIXED_SIZES.get(self.element)

    @property
    def may_be_null(self) -> bool:
        return self.array or self.struct or self.element in ("string", "bytes", "records")

    def __str__(self) -> str:
        return f"[]{self.element}" if self.array else self.element


@dataclass(frozen=True, slots=True, eq=False)
class FieldSpec:
    """One field. `default` is the value, for arrays and structs None (null) or b"" (empty, `default_is_null` False)."""

    name: str
    type: FieldType
    versions: Versions
    nullable_versions: Versions
    tag: int | None
    tagged_versions: Versions
    flexible_versions: Versions | None
    default: Default
    ignorable: bool
    about: str

    @property
    def default_is_null(self) -> bool:
        return self.default is None


@dataclass(frozen=True, slots=True, eq=False)
class StructSpec:
    """A struct with its fields in wire order."""

    name: str
    versions: Versions
    fields: tuple[FieldSpec, ...]
    about: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class MessageSpec:
    """One schema file. `structs` are all nested ones by name, in order of first declaration."""

    name: str
    kind: Kind
    api_key: int | None
    valid_versions: Versions
    flexible_versions: Versions
    latest_version_unstable: bool
    listeners: tuple[str, ...]
    root: StructSpec
    structs: Mapping[str, StructSpec]
    file: str


def load_folder(folder: Path) -> list[MessageSpec]:
    """Every `*.json` file under `folder` that is a message, ordered by name. Raises `SchemaError`."""
    specs = [load_file(path, path.relative_to(folder).as_posix()) for path in folder.glob("*/*.json")]
    specs.sort(key=lambda spec: spec.name)
    for previous, spec in pairwise(specs):
        if previous.name == spec.name:
            raise SchemaError(f"{spec.file}: {spec.name} is also in {previous.file}")
    return specs


def load_file(path: Path, shown_as: str) -> MessageSpec:
    """The message of one file. Raises `SchemaError`."""
    return parse_message(path.read_text("utf-8"), shown_as)


def parse_message(text: str, file: str) -> MessageSpec:
    """The message of one file's text; `file` is for errors and banners. Raises `SchemaError`."""
    try:
        raw = json.loads(strip_comments(text))
    except json.JSONDecodeError as error:
        raise SchemaError(f"{file}: {error}") from error
    return _MessageParser(file).message(raw)


def strip_comments(text: str) -> str:
    """Remove `//` comments, which run to the end of the line and do not start inside a string."""
    kept = []
    for line in text.split("\n"):
        in_string = False
        at = 0
        while at < len(line):
            if line[at] == "\\" and in_string:
                at += 1
            elif line[at] == '"':
                in_string = not in_string
            elif not in_string and line.startswith("//", at):
                line = line[:at]
                break
            at += 1
        kept.append(line)
    return "\n".join(kept)


_MESSAGE_KEYS: Final = {
    *("name", "type", "apiKey", "validVersions", "flexibleVersions", "latestVersionUnstable", "deprecatedVersions"),
    *("listeners", "commonStructs", "about", "fields"),
}
_STRUCT_KEYS: Final = {"name", "versions", "about", "fields"}
_FIELD_KEYS: Final = {
    *("name", "type", "versions", "nullableVersions", "tag", "taggedVersions", "flexibleVersions", "default"),
    *("ignorable", "mapKey", "zeroCopy", "entityType", "about", "fields"),
}


class _Node:
    """A JSON object with the place it stands at, for errors that name it."""

    def __init__(self, raw: object, where: str, keys: Iterable[str]) -> None:
        if not isinstance(raw, dict):
            raise SchemaError(f"{where}: expected an object")
        self.raw = raw
        self.where = where
        unknown = sorted(set(raw) - set(keys))
        if unknown:
            raise SchemaError(f"{where}: unknown key {', '.join(unknown)}")

    def text(self, key: str, default: str | None = None) -> str:
        value = self.raw.get(key, default)
        if not isinstance(value, str):
            raise SchemaError(f"{self.where}: {key} must be a string")
        return value

    def versions(self, key: str, default: Versions | None = None) -> Versions:
        if key not in self.raw and default is not None:
            return default
        try:
            return Versions.parse(self.text(key))
        except ValueError as error:
            raise SchemaError(f"{self.where}: {key}: {error}") from error

    def flag(self, key: str) -> bool:
        value = self.raw.get(key, False)
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
        if not isinstance(value, bool):
            raise SchemaError(f"{self.where}: {key} must be true or false")
        return value

    def integer(self, key: str) -> int | None:
        value = self.raw.get(key)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            raise SchemaError(f"{self.where}: {key} must be a number")
        return value

    def objects(self, key: str) -> list[object]:
        value = self.raw.get(key, [])
        if not isinstance(value, list):
            raise SchemaError(f"{self.where}: {key} must be an array")
        return value

    def error(self, text: str) -> SchemaError:
        return SchemaError(f"{self.where}: {text}")


class _MessageParser:
    """Reads one message; collects its structs, whose names are the message's own."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.structs: dict[str, StructSpec] = {}
        self.flexible = NONE

    def message(self, raw: object) -> MessageSpec:
        node = _Node(raw, self.file, _MESSAGE_KEYS)
        name = node.text("name")
        try:
            kind = Kind(node.text("type"))
        except ValueError as error:
            raise node.error(str(error)) from error
        api_key = node.integer("apiKey")
        if (api_key is None) != (kind in (Kind.HEADER, Kind.DATA)):
            raise node.error(f"apiKey does not go with type {kind.value}")
        valid = node.versions("validVersions")
        self.flexible = node.versions("flexibleVersions", NONE)
        if not (self.flexible.empty or self.flexible.open_ended):
            raise node.error("flexibleVersions must be none or N+")
        node.versions("deprecatedVersions", NONE)
        for raw_struct in node.objects("commonStructs"):
            struct = _Node(raw_struct, f"{self.file}: commonStructs", _STRUCT_KEYS)
            self._declare(struct, struct.text("name"), struct.versions("versions"))
        root = StructSpec(name, valid, self._fields(node, name), node.text("about", ""))
        self._resolve(root)
        return MessageSpec(
            name=name,
            kind=kind,
            api_key=api_key,
            valid_versions=valid,
            flexible_versions=self.flexible,
            latest_version_unstable=node.flag("latestVersionUnstable"),
            listeners=tuple(str(listener) for listener in node.objects("listeners")),
            root=root,
            structs=self.structs,
            file=self.file,
        )

    def _declare(self, node: _Node, name: str, versions: Versions) -> None:
        if name in self.structs:
            raise node.error(f"struct {name} is declared twice")
        self.structs[name] = StructSpec(name, versions, ())  # the place in the order: outer structs first
        self.structs[name] = StructSpec(name, versions, self._fields(node, name), node.raw.get("about", ""))

    def _resolve(self, root: StructSpec) -> None:
        for struct in (root, *self.structs.values()):
            for field in struct.fields:
                if field.type.struct and field.type.element not in self.structs:
                    raise SchemaError(f"{self.file}: {struct.name}.{field.name}: no struct {field.type.element}")

    def _fields(self, node: _Node, owner: str) -> tuple[FieldSpec, ...]:
        fields: list[FieldSpec] = []
        for raw in node.objects("fields"):
            name = raw.get("name", "?") if isinstance(raw, dict) else "?"
            fields.append(self._field(_Node(raw, f"{self.file}: {owner}.{name}", _FIELD_KEYS)))
        names = [field.name for field in fields]
        tags = sorted(field.tag for field in fields if field.tag is not None)
        if len(set(names)) < len(names):
            raise node.error(f"{owner}: a field name is used twice")
        if tags != list(range(len(tags))):
            raise node.error(f"{owner}: tags must be 0, 1, 2, ...; they are {tags}")
        return tuple(fields)

    def _field(self, node: _Node) -> FieldSpec:
        field_type = _field_type(node)
        tagged = node.versions("taggedVersions", NONE)
        versions = node.versions("versions", tagged if not tagged.empty else None)
        nullable = node.versions("nullableVersions", NONE)
        tag = node.integer("tag")
        flexible = node.versions("flexibleVersions", NONE) if "flexibleVersions" in node.raw else None
        _check_entity(node)
        self._check_tag(node, tag, tagged, versions, field_type)
        if flexible is not None and field_type.element not in ("string", "bytes"):
            raise node.error("flexibleVersions is for string and bytes only")
        if not nullable.empty and not field_type.may_be_null:
            raise node.error(f"{field_type} cannot be null")
        if "fields" in node.raw:
            if not field_type.struct:
                raise node.error(f"{field_type} has no fields")
            self._declare(node, field_type.element, versions)
        return FieldSpec(
            name=node.text("name"),
            type=field_type,
            versions=versions,
            nullable_versions=nullable,
            tag=tag,
            tagged_versions=tagged,
            flexible_versions=flexible,
            default=_default(node, field_type, nullable.covers(versions) and not nullable.empty),
            ignorable=node.flag("ignorable"),
            about=node.text("about", ""),
        )

    def _check_tag(self, node: _Node, tag: int | None, tagged: Versions, versions: Versions, of: FieldType) -> None:
        if tag is None and tagged.empty:
            return
        if tag is None or tagged.empty:
            raise node.error("tag and taggedVersions belong together")
        if not tagged.open_ended:
            raise node.error("taggedVersions must be N+")
        if not versions.covers(tagged) or not self.flexible.covers(tagged):
            raise node.error("taggedVersions must be within versions and within the message's flexibleVersions")
        if of.element == "records":
            raise node.error("records cannot be tagged")


def _field_type(node: _Node) -> FieldType:
    text = node.text("type")
    array = text.startswith("[]")
    element = text[2:] if array else text
    if not element.isidentifier() or (element not in PRIMITIVES and not element[0].isupper()):
        raise node.error(f"unknown type {text!r}")
    if array and element == "records":
        raise node.error("there are no arrays of records")
    return FieldType(element, array)


def _check_entity(node: _Node) -> None:
    node.flag("mapKey")
    node.flag("zeroCopy")
    entity = node.text("entityType", "unknown")
    if entity not in _ENTITY_TYPES:
        raise node.error(f"unknown entityType {entity!r}")


def _default(node: _Node, of: FieldType, always_nullable: bool) -> Default:
    raw = node.raw.get("default")
    if isinstance(raw, bool):
        raw = "true" if raw else "false"
    if raw is not None and not isinstance(raw, (str, int, float)):
        raise node.error("default must be a string, a number or a boolean")
    text = None if raw is None else str(raw)
    if text == "null" and of.may_be_null:
        if not always_nullable:
            raise node.error("null is the default, but the field is not nullable in all its versions")
        return None
    if of.array or of.struct or of.element in ("bytes", "records"):
        if text:
            raise node.error(f"null is the only default {of} can have")
        return None if of.element == "records" else b""
    try:
        return _parse_default(of.element, text)
    except ValueError as error:
        raise node.error(f"default {text!r}: {error}") from error


def _parse_default(element: str, text: str | None) -> Default:
    if element == "string":
        return text or ""
    if element == "uuid":
        return base64.urlsafe_b64decode(text + "==") if text else bytes(16)
    if element == "bool":
        if text and text.lower() not in ("true", "false"):
            raise ValueError("must be true or false")
        return text is not None and text.lower() == "true"
    if element == "float64":
        value = float(text or "0")
        if not math.isfinite(value):
            raise ValueError("must be finite")
        return value
    number = _parse_integer(text) if text else 0
    lowest, highest = INTEGER_RANGES[element]
    if not lowest <= number <= highest:
        raise ValueError(f"out of range for {element}")
    return number


def _parse_integer(text: str) -> int:
    digits = text.lstrip("-")
    value = int(digits, 16) if digits.startswith("0x") else int(digits)
    return -value if text.startswith("-") else value
