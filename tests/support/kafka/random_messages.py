"""Random messages of every type and version, made from the schemas.

A message has only fields that its version can express, so it must survive encoding and decoding unchanged. `tame` keeps
to values that other implementations' types can hold: known error codes, non-negative times, simple text.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, Final

from shareq.protocol.errors import ErrorCode
from shareq.protocol.generator.__main__ import SCHEMAS, is_unused
from shareq.protocol.generator.codec import module_text
from shareq.protocol.generator.layout import FieldLayout, StructLayout
from shareq.protocol.generator.model import MessageCodec, Module
from shareq.protocol.generator.names import module_name, snake
from shareq.protocol.generator.spec import INTEGER_RANGES, FieldSpec, Kind, MessageSpec, load_folder
from shareq.protocol.primitives import Message, Structure, Tags


@dataclass(frozen=True)
class KnownMessage:
    name: str
    kind: Kind
    api_key: int | None
    codec: MessageCodec
    classes: Any  # the generated module

    @property
    def message_class(self) -> type[Message]:
        found: type[Message] = getattr(self.classes, self.name)
        return found

    @property
    def versions(self) -> list[int]:
        return list(self.codec.message.valid_versions)

    def class_of(self, struct: str) -> type[Structure]:
        found: type[Structure] = getattr(self.classes, self.codec.class_of(struct))
        return found


@cache
def known_messages() -> dict[str, KnownMessage]:
    """Return every message that has versions, by name; messages that the product lacks get a codec made here."""
    modules: dict[str, list[MessageSpec]] = {}
    for message in load_folder(SCHEMAS):
        if not message.valid_versions.empty:
            modules.setdefault(module_name(message.name), []).append(message)
    known: dict[str, KnownMessage] = {}
    for name, messages in modules.items():
        classes = _executed(messages) if is_unused(messages[0]) else import_module(f"shareq.protocol.generated.{name}")
        for codec in Module(messages).codecs:
            spec = codec.message
            known[spec.name] = KnownMessage(spec.name, spec.kind, spec.api_key, codec, classes)
    return known


def _executed(messages: list[MessageSpec]) -> ModuleType:
    module = ModuleType(f"tests.generated.{module_name(messages[0].name)}")
    exec(compile(module_text(messages, ""), module.__name__, "exec"), module.__dict__)  # of our own schemas
    return module


MESSAGE_NAMES = sorted(known_messages())
_LAST_OF_4_3: Final = ErrorCode.SHARE_SESSION_LIMIT_REACHED
"""The last error code that other implementations know."""


def message_versions(name: str) -> Iterator[tuple[KnownMessage, int]]:
    known = known_messages()[name]
    for version in known.versions:
        yield known, version


class RandomMessages:
    """A source of messages. The same seed gives the same messages in the same order."""

    def __init__(self, seed: int | str, *, tame: bool = False, unknown_tags: bool = True) -> None:
        self._rng = random.Random(seed)
        self._tame = tame
        self._unknown_tags = unknown_tags and not tame

    def message(self, known: KnownMessage, version: int) -> Message:
        made = self._struct(known, known.codec.layouts.by_version[version], 0)
        assert isinstance(made, Message)
        return made

    def _struct(self, known: KnownMessage, layout: StructLayout, depth: int) -> Structure:
        made = known.class_of(layout.spec.name)()
        for field in layout.fields:
            if field.absent or (field.tagged and self._rng.random() < 0.4):
                continue
            setattr(made, snake(field.spec.name), self._field(known, field, depth))
        if layout.flexible and self._unknown_tags and self._rng.random() < 0.15:
            made.unknown_tags = self._tags(layout)  # type: ignore[attr-defined]
        return made

    def _tags(self, layout: StructLayout) -> Tags:
        known_tags = [field.spec.tag for field in layout.fields if field.spec.tag is not None]
        first = len(known_tags)
        tags = sorted({first + self._rng.choice((0, 1, 5, 200, 70_000)) for _ in range(self._rng.randint(1, 3))})
        return tuple((tag, self._rng.randbytes(self._rng.choice((0, 1, 4, 200)))) for tag in tags)

    def _field(self, known: KnownMessage, field: FieldLayout, depth: int) -> object:
        rng = self._rng
        if field.nullable and rng.random() < 0.25:
            return None
        if not field.spec.type.array:
            return self._value(known, field, depth)
        return [self._value(known, field, depth + 1) for _ in range(self._count(field, depth))]

    def _count(self, field: FieldLayout, depth: int) -> int:
        if field.spec.type.element == "int8" and self._rng.random() < 0.6:
            return 1  # as AcknowledgeTypes have it
        if not field.spec.type.struct and self._rng.random() < 0.05:
            return 130  # a compact count of two bytes
        return self._rng.choice((0, 1, 1, 2, 3, 6) if depth < 2 else (0, 1, 2, 5))

    def _value(self, known: KnownMessage, field: FieldLayout, depth: int) -> object:
        spec = field.spec
        if spec.type.struct:
            assert field.struct is not None
            return self._struct(known, field.struct, depth + 1)
        return self._primitive(spec)

    def _primitive(self, spec: FieldSpec) -> object:
        rng = self._rng
        match spec.type.element:
            case "bool":
                return rng.random() < 0.5
            case "float64":
                return rng.choice((0.0, -1.5, 1e300, rng.uniform(-1e6, 1e6)))
            case "uuid":
                return self._id()
            case "string":
                return self._named_text(spec)
            case "bytes" | "records":
                return rng.randbytes(rng.choice((0, 1, 7, 126, 127, 128, 300)))
            case integer:
                return self._integer(spec, integer)

    def _text(self) -> str:
        if self._tame:
            return self._rng.choice(("a", "orders", "x" * 126, "y" * 127, "z" * 300))
        return self._rng.choice(("", "a", "orders", "Grüße", "日本語" * 43, "x" * 126, "y" * 127, "z" * 300))

    def _named_text(self, spec: FieldSpec) -> str:
        return self._text()

    def _id(self) -> bytes:
        return bytes(16) if self._rng.random() < 0.2 else self._rng.randbytes(16)

    def _integer(self, spec: FieldSpec, of: str) -> int:
        lowest, highest = INTEGER_RANGES[of]
        if self._tame:
            if spec.name.endswith("ErrorCode"):
                return self._rng.randint(min(ErrorCode), _LAST_OF_4_3)
            return self._rng.randint(0, min(highest, 2**40))
        ends = (0, 1, lowest, highest, spec.default if isinstance(spec.default, int) else 0)
        return self._rng.choice(ends) if self._rng.random() < 0.5 else self._rng.randint(lowest, highest)


# What answers return, by the requests' names of it.
_LEARNT: Final = {
    "member_id": ("MemberId",),
    "member_epoch": ("MemberEpoch", "GenerationIdOrMemberEpoch"),
    "generation_id": ("GenerationId", "GenerationIdOrMemberEpoch"),
    "producer_id": ("ProducerId", "V3AndBelowProducerId"),
    "producer_epoch": ("ProducerEpoch", "V3AndBelowProducerEpoch"),
}


class LikelyMessages(RandomMessages):
    """Messages about existing topics, groups and the like, so that most are accepted; some numbers are extreme.

    `names` are texts and `numbers` numbers, by field name; other fields are empty, 0 or 1. `ids` are of topics.
    """

    def __init__(
        self,
        seed: int | str,
        *,
        names: Mapping[str, Sequence[str]],
        ids: Sequence[bytes],
        numbers: Mapping[str, Sequence[int]],
    ) -> None:
        super().__init__(seed, unknown_tags=False)
        self._names, self._ids, self._numbers = dict(names), ids, dict(numbers)
        self._first_names, self._first_numbers = names, numbers

    def learn(self, response: Message) -> None:
        """Use the member id, epochs and producer id of an answer in later messages."""
        for field in response.FIELDS:
            value = getattr(response, field)
            for name in _LEARNT.get(field, ()):
                if isinstance(value, str) and value:
                    self._names[name] = (*self._first_names.get(name, ()), value)
                elif isinstance(value, int) and value >= 0:
                    self._numbers[name] = (*self._first_numbers.get(name, ()), value, value)

    def _field(self, known: KnownMessage, field: FieldLayout, depth: int) -> object:
        unnamed = field.spec.type.element == "string" and field.spec.name not in self._names
        return None if field.nullable and unnamed else super()._field(known, field, depth)

    def _named_text(self, spec: FieldSpec) -> str:
        return self._rng.choice(self._names.get(spec.name, ("",)))

    def _id(self) -> bytes:
        return self._rng.choice(self._ids)

    def _count(self, field: FieldLayout, depth: int) -> int:
        return self._rng.choice((0, 1, 1, 1))

    def _integer(self, spec: FieldSpec, of: str) -> int:
        lowest, highest = INTEGER_RANGES[of]
        if self._rng.random() < 0.1:
            return self._rng.choice((lowest, -1, highest - 1, highest))
        return self._rng.choice(self._numbers.get(spec.name, (0, 1)))
