"""Random schemas, with names and texts of all kinds: one line refuses each, or its codecs work in all versions."""

from __future__ import annotations

import json
import random
from typing import Any, Final

import pytest

from shareq.protocol.generator.checks import defined_twice
from shareq.protocol.generator.codec import module_text
from shareq.protocol.generator.layout import Layouts
from shareq.protocol.generator.model import Module
from shareq.protocol.generator.spec import MessageSpec, SchemaError, parse_message
from tests.support.kafka.random_messages import KnownMessage, RandomMessages
from tests.support.kafka.schemas import generated_module

SEEDS: Final = 8
SCHEMAS_OF_A_SEED: Final = 40
LEAST_ACCEPTED: Final = 8  # at least so many are accepted; otherwise the codecs are hardly tested

PLAIN: Final = ("A", "Topics", "partitionIndex", "ErrorCode", "Name", "V3AndBelow", "KRaftVersion", "Id", "Enable2Pc")
ODD: Final = (
    *(
        "Self",
        "None",
        "Class",
        "Match",
        "Type",
        "Data",
        "Pos",
        "N",
        "Count",
        "Items",
        "Item",
        "View",
        "End",
        "Elements",
    ),
    *("Tags", "Tag", "After", "Unknown", "UnknownTags", "Int", "Str", "Bytes", "List", "Len", "Range", "Out", "Body"),
    *("Raw", "First", "Rows", "Append", "Struct", "Encode", "Decode", "Isinstance", "Print", "ValueError", "Empty"),
    *("FOO", "foo", "Foo", "FooArray", "FooTags", "Ack", "AckN", "ANullable", "../evil", "a b", "É", "x\n", "", "_a"),
    *("AcknowledgementBatch", "AcquiredRecords", "StateBatch", "Message", "Structure", "Unset", "ReadTags", "Uvarint"),
)
TEXTS: Final = (
    "",
    "plain",
    '"""',
    'ends in "',
    "\\",
    '\\"""',
    "a\nb",
    "\r\0\x0c\u2028",
    "Grüße " * 40,
    "\ud800",
    '"""\n1/0\n"""',
)
SCALARS: Final = ("bool", "int8", "int16", "int32", "int64", "uint16", "uint32", "float64", "uuid", "string", "bytes")
DEFAULTS: Final = ("0", "-1", "0x7f", "true", "null", "", "1.5", "\n", '"', "x\\", "Grüße", "--1", "nan", "300", "AAAA")


class Schemas:
    """A source of schemas, which are the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(f"schemas {seed}")

    def schema(self) -> str:
        odd = self._rng.choice((0.0, 0.05, 0.3))
        highest = self._rng.randint(0, 4)
        flexible = self._rng.choice(("none", "0+", f"{self._rng.randint(0, highest)}+"))
        common = [
            {"name": self._name(odd), "versions": "0+", "fields": self._fields(highest, flexible, 2, odd)}
            for _ in range(self._rng.choice((0, 0, 1, 2)))
        ]
        named = [str(struct["name"]) for struct in common]
        raw = {
            "apiKey": 7,
            "type": "request",
            "name": f"Fuzz{self._rng.randint(0, 9)}Request" if self._rng.random() >= odd else self._name(1.0),
            "validVersions": f"0-{highest}",
            "flexibleVersions": flexible,
            "about": self._text(odd),
            "commonStructs": common,
            "fields": self._fields(highest, flexible, 0, odd, named),
        }
        return json.dumps(raw)

    def _name(self, odd: float) -> str:
        if self._rng.random() < odd:
            return self._rng.choice(ODD)
        return f"{self._rng.choice(PLAIN)}{self._rng.randint(0, 99)}".removesuffix("0")

    def _text(self, odd: float) -> str:
        return self._rng.choice(TEXTS) if self._rng.random() < odd else "What it is."

    def _fields(
        self, highest: int, flexible: str, depth: int, odd: float, structs: list[str] | None = None
    ) -> list[dict[str, Any]]:
        fields: list[dict[str, Any]] = []
        tag = 0
        for _ in range(self._rng.randint(0 if depth else 1, 6)):
            made = self._field(highest, flexible, depth, odd, structs or [])
            if flexible != "none" and made["type"] != "records" and self._rng.random() < 0.2:
                made |= {"tag": tag, "taggedVersions": flexible, "versions": "0+", "ignorable": True}
                tag += 1
            fields.append(made)
        return fields

    def _field(self, highest: int, flexible: str, depth: int, odd: float, structs: list[str]) -> dict[str, Any]:
        rng = self._rng
        versions = rng.choice(("0+", "0+", f"{rng.randint(0, highest)}+", f"0-{rng.randint(0, highest)}"))
        made: dict[str, Any] = {"name": self._name(odd), "versions": versions, "about": self._text(odd)}
        kind = rng.random()
        array = "[]" if rng.random() < 0.4 else ""
        if kind < 0.2 and depth < 3:
            made |= {"type": array + self._class(odd), "fields": self._fields(highest, flexible, depth + 1, odd)}
        elif kind < 0.3 and structs:
            made["type"] = array + rng.choice(structs)
        elif kind < 0.35:
            made["type"] = "records"
        else:
            made["type"] = array + rng.choice(SCALARS)
        may_be_null = array or made["type"] in ("string", "bytes", "records") or "fields" in made
        if may_be_null and (made["type"] == "records" or rng.random() < 0.4):  # the default of records is null
            made["nullableVersions"] = versions
        if rng.random() < odd:
            made["default"] = rng.choice(DEFAULTS)
        if rng.random() < 0.3:
            made["ignorable"] = True
        return made

    def _class(self, odd: float) -> str:
        name = self._name(odd)
        return name[:1].upper() + name[1:]


def accepted_spec(text: str) -> MessageSpec | None:
    try:
        spec = parse_message(text, "rpc/Fuzz.json")
        Layouts(spec)
        return spec
    except SchemaError as error:
        refusal = str(error)
    assert refusal.startswith("rpc/Fuzz.json: "), refusal
    assert "\n" not in refusal
    return None


def works(text: str, seed: int) -> bool:
    spec = accepted_spec(text)
    if spec is None:
        return False
    if defined_twice(module_text([spec], "4.4.0")) is not None:
        return False  # the command refuses it, see `test_schema_names.py`
    module = generated_module(text)
    (codec,) = Module([spec]).codecs
    known = KnownMessage(spec.name, spec.kind, spec.api_key, codec, module)
    messages = RandomMessages(seed)
    for version in known.versions:
        default = known.message_class()
        assert known.message_class.decode(default.encode(version), version)[0] == default
        for _ in range(3):
            message = messages.message(known, version)
            data = message.encode(version)
            assert known.message_class.decode(data, version) == (message, len(data)), (version, text)
    return True


@pytest.mark.parametrize("seed", range(SEEDS))
def test_what_is_accepted_works_and_what_is_refused_is_refused_in_one_line(seed: int) -> None:
    schemas = Schemas(seed)
    accepted = 0
    for _ in range(SCHEMAS_OF_A_SEED):
        text = schemas.schema()
        try:
            accepted += works(text, seed)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {text}") from error
    assert accepted >= LEAST_ACCEPTED
