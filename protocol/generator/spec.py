"""The parser of schema files to specs: Kafka's message schema language, read strictly.

An unknown key is an error, so that no part of a newer schema is ignored silently. Apache Kafka's own files are read
unchanged: `//` comments, defaults and booleans with or without quotes. A bare `"default": null` means "no default
given" (only the quoted "null" makes null the default), as Kafka's reader takes it.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from pathlib import Path
from typing import Final

from shareq.protocol.generator import checks
from shareq.protocol.generator.versions import NONE, Versions

Default = int | float | bool | str | bytes | None


class SchemaError(ValueError):
    """The error for a schema file that does not follow the language. The text names the file and the place in it."""


class Kind(Enum):
    """The values of a message's `type`."""

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
LONGEST_STRING: Final = INTEGER_RANGES["int16"][1]
"""The most bytes of a string in versions whose lengths are not compact."""
PRIMITIVES: Final = frozenset(FIXED_SIZES) | {"string", "bytes", "records"}
_INTEGER: Final = re.compile(r"-?(0x[0-9a-fA-F]{1,16}|[0-9]{1,20})")
_TOO_DEEP: Final = f"structs are nested more than {checks.DEEPEST} deep"
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
        """The bytes of a fixed-width field; None for any other field."""
        return None if self.array else FIXED_SIZES.get(self.element)

    @property
    def may_be_null(self) -> bool:
        return self.array or self.struct or self.element in ("string", "bytes", "records")

    def __str__(self) -> str:
        return f"[]{self.element}" if self.array else self.element


@dataclass(frozen=True, slots=True, eq=False)
class FieldSpec:
    """One field. `default` is the value; for arrays and structs it is None (null) or b"" (empty, with `default_is_null`
    False).
    """

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
    """One schema file. `structs` are all nested structs by name, in order of their first declaration."""

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
    """Return the messages of the `*.json` files in sub-folders of `folder`, ordered by name. Raises `SchemaError`."""
    specs = [load_file(path, path.relative_to(folder).as_posix()) for path in folder.glob("*/*.json")]
    specs.sort(key=lambda spec: spec.name)
    for previous, spec in pairwise(specs):
        if previous.name == spec.name:
            raise SchemaError(f"{spec.file}: {spec.name} is also in {previous.file}")
    owners: dict[int, MessageSpec] = {}
    for spec in specs:
        if spec.kind is Kind.REQUEST and spec.api_key is not None and not spec.valid_versions.empty:
            owner = owners.setdefault(spec.api_key, spec)
            if owner is not spec:
                key = f"apiKey {spec.api_key} is also that of {owner.name} in {owner.file}"
                raise SchemaError(f"{spec.file}: {spec.name}: {key}")
    return specs


def load_file(path: Path, shown_as: str) -> MessageSpec:
    """Return the message of one file. Raises `SchemaError`."""
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise SchemaError(f"{shown_as}: not UTF-8: {error}") from error
    return parse_message(text, shown_as)


def parse_message(text: str, file: str) -> MessageSpec:
    """Return the message in the text of a file; `file` is its name for errors and banners. Raises `SchemaError`."""
    return _MessageParser(file).message(parse_json(strip_comments(text), file))


def parse_json(text: str, file: str) -> object:
    """Return the value of a file's JSON text. Raises `SchemaError`, also for an object with a duplicate key."""

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"{checks.shown(twice)} is given twice")
        return found

    try:
        return json.loads(text, object_pairs_hook=once)
    except RecursionError as error:
        raise SchemaError(f"{file}: nested too deeply") from error
    except ValueError as error:  # of the syntax, or of a number with thousands of digits
        raise SchemaError(f"{file}: {error}") from error


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
    """A JSON object with its place in the file, which errors name."""

    def __init__(self, raw: object, where: str, keys: Iterable[str]) -> None:
        if not isinstance(raw, dict):
            raise SchemaError(f"{where}: expected an object")
        self.raw = raw
        self.where = where
        unknown = sorted(set(raw) - set(keys))
        if unknown:
            shown = ", ".join(key if key.isidentifier() else checks.shown(key) for key in unknown[:5])
            raise SchemaError(f"{where}: unknown key {shown}")

    def text(self, key: str, default: str | None = None) -> str:
        value = self.raw.get(key, default)
        if not isinstance(value, str):
            raise SchemaError(f"{self.where}: {key} must be a string")
        if not _is_encodable(value):
            raise SchemaError(f"{self.where}: {key} must be text that UTF-8 can write")
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
    """The parser of one message. It collects the structs, whose names are unique within the message."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.structs: dict[str, StructSpec] = {}
        self.open = 0  # structs whose fields are being read
        self.flexible = NONE

    def message(self, raw: object) -> MessageSpec:
        node = _Node(raw, self.file, _MESSAGE_KEYS)
        name = node.text("name")
        problem = checks.class_name_problem(name)
        if problem is not None:
            raise node.error(problem)
        node.where = f"{self.file}: {name}"
        kind = _kind(node)
        api_key = node.integer("apiKey")
        if (api_key is None) != (kind in (Kind.HEADER, Kind.DATA)):
            raise node.error(f"apiKey does not go with type {kind.value}")
        if api_key is not None and not 0 <= api_key <= INTEGER_RANGES["int16"][1]:
            raise node.error(f"apiKey is {checks.shown(api_key)}, not an int16 from 0 on")
        valid = node.versions("validVersions")
        if valid.highest - valid.lowest >= checks.MOST_VERSIONS:
            raise node.error(f"validVersions is {valid}: more than {checks.MOST_VERSIONS} versions")
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
            listeners=tuple(_listener(node, listener) for listener in node.objects("listeners")),
            root=root,
            structs=self.structs,
            file=self.file,
        )

    def _declare(self, node: _Node, name: str, versions: Versions) -> None:
        problem = checks.class_name_problem(name)
        if problem is not None:
            raise node.error(problem)
        if name in self.structs:
            raise node.error(f"struct {name} is declared twice")
        if self.open >= checks.DEEPEST:
            raise node.error(_TOO_DEEP)
        self.structs[name] = StructSpec(name, versions, ())  # the place in the order: outer structs first
        self.open += 1
        self.structs[name] = StructSpec(name, versions, self._fields(node, name), node.text("about", ""))
        self.open -= 1

    def _resolve(self, root: StructSpec) -> None:
        for struct in (root, *self.structs.values()):
            for field in struct.fields:
                if field.type.struct and field.type.element not in self.structs:
                    raise SchemaError(f"{self.file}: {struct.name}.{field.name}: no struct {field.type.element}")
        if root.name in self.structs:
            raise SchemaError(f"{self.file}: {root.name}: the message and one of its structs have the same name")
        nesting = {
            struct.name: [(field.name, field.type.element) for field in struct.fields if field.type.struct]
            for struct in (root, *self.structs.values())
        }
        circle = checks.cycle(nesting)
        if circle is not None:
            way = [f"{struct}.{field}" for struct, field in circle]
            raise SchemaError(f"{self.file}: {way[-1]}: struct {circle[0][0]} contains itself: {', '.join(way)}")
        if checks.depth(nesting) > checks.DEEPEST:
            raise SchemaError(f"{self.file}: {root.name}: {_TOO_DEEP}")

    def _fields(self, node: _Node, owner: str) -> tuple[FieldSpec, ...]:
        fields: list[FieldSpec] = []
        for raw in node.objects("fields"):
            name = raw.get("name", "?") if isinstance(raw, dict) else "?"
            problem = checks.field_name_problem(name) if isinstance(name, str) and name != "?" else None
            if problem is not None:
                shown = name if name.isidentifier() and name.isascii() and len(name) <= checks.LONGEST_NAME else "?"
                raise SchemaError(f"{self.file}: {owner}.{shown}: {problem}")
            fields.append(self._field(_Node(raw, f"{self.file}: {owner}.{name}", _FIELD_KEYS)))
        names = [field.name for field in fields]
        tags = sorted(field.tag for field in fields if field.tag is not None)
        if len(set(names)) < len(names):
            raise node.error(f"{owner}: a field name is used twice")
        pair = checks.shared_name(names)
        if pair is not None:
            raise SchemaError(f"{self.file}: {owner}: fields {pair[0]!r} and {pair[1]!r} would share a name in Python")
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


def _kind(node: _Node) -> Kind:
    try:
        return Kind(node.text("type"))
    except ValueError as error:
        raise node.error(str(error)) from error


def _listener(node: _Node, value: object) -> str:
    if not isinstance(value, str) or not (value.isascii() and value.isalpha()):
        raise node.error(f"a listener must be a word, not {checks.shown(value)}")
    return value


def _field_type(node: _Node) -> FieldType:
    text = node.text("type")
    array = text.startswith("[]")
    element = text[2:] if array else text
    if not element.isidentifier() or (element not in PRIMITIVES and not element[0].isupper()):
        raise node.error(f"unknown type {checks.shown(text)}")
    if array and element == "records":
        raise node.error("there are no arrays of records")
    return FieldType(element, array)


def _check_entity(node: _Node) -> None:
    node.flag("mapKey")
    node.flag("zeroCopy")
    entity = node.text("entityType", "unknown")
    if entity not in _ENTITY_TYPES:
        raise node.error(f"unknown entityType {checks.shown(entity)}")


def _default(node: _Node, of: FieldType, always_nullable: bool) -> Default:
    raw = node.raw.get("default")
    if isinstance(raw, bool):
        raw = "true" if raw else "false"
    if raw is not None and not isinstance(raw, (str, int, float)):
        raise node.error("default must be a string, a number or a boolean")
    try:
        text = None if raw is None else str(raw)
    except ValueError as error:  # thousands of digits
        raise node.error(f"default: {error}") from error
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
        raise node.error(f"default {checks.shown(text)}: {error}") from error


def _parse_default(element: str, text: str | None) -> Default:
    if element == "string":
        return _parse_string(text or "")
    if element == "uuid":
        return _parse_uuid(text) if text else bytes(16)
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


def _is_encodable(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)


def _parse_string(text: str) -> str:
    if not _is_encodable(text):
        raise ValueError("must be text that UTF-8 can write")
    size = len(text.encode())
    if size > LONGEST_STRING:
        raise ValueError(f"takes {size} bytes, more than {LONGEST_STRING}")
    return text


def _parse_uuid(text: str) -> bytes:
    value = base64.b64decode(text + "==", altchars=b"-_", validate=True)
    if len(value) != FIXED_SIZES["uuid"]:
        raise ValueError(f"has {len(value)} bytes, not 16")
    return value


def _parse_integer(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise ValueError("must be a number, in digits or from 0x on in hexadecimal ones")
    return int(text, 16 if "x" in text else 10)
