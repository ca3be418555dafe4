"""Every message in every version reads back as written; values that cannot be written are refused."""

from __future__ import annotations

import pytest

from shareq.protocol.errors import UnencodableMessage
from shareq.protocol.generator.names import snake
from shareq.protocol.generator.spec import FieldSpec
from tests.support.each import for_each
from tests.support.kafka.random_messages import MESSAGE_NAMES, KnownMessage, RandomMessages, message_versions

SAMPLES = 10


@for_each("name", MESSAGE_NAMES)
def test_every_version_reads_back_what_it_wrote(name: str) -> None:
    messages = RandomMessages(f"round trip {name}")
    for known, version in message_versions(name):
        for _ in range(SAMPLES):
            message = messages.message(known, version)
            data = message.encode(version)
            read, end = known.message_class.decode(data, version)
            assert read == message, f"version {version}"
            assert end == len(data)
            assert read.encode(version) == data


@for_each("name", MESSAGE_NAMES)
def test_a_message_is_read_from_the_middle_of_a_buffer(name: str) -> None:
    messages = RandomMessages(f"offset {name}")
    for known, version in message_versions(name):
        message = messages.message(known, version)
        out = bytearray(b"before")
        message.encode_into(out, version)
        end = len(out)
        out += b"after"
        assert known.message_class.decode(memoryview(out), version, 6) == (message, end)


@for_each("name", MESSAGE_NAMES)
def test_defaults_round_trip_in_every_version(name: str) -> None:
    for known, version in message_versions(name):
        data = known.message_class().encode(version)
        assert known.message_class.decode(data, version) == (known.message_class(), len(data))


@for_each("name", MESSAGE_NAMES)
def test_a_field_of_another_version_is_dropped_if_ignorable_and_refused_if_not(name: str) -> None:
    for known, version in message_versions(name):
        for field in known.codec.layouts.by_version[version].fields:
            if not field.absent or field.spec not in known.codec.fields(known.codec.message.root):
                continue
            message = known.message_class()
            setattr(message, snake(field.spec.name), _other_than_default(known, field.spec))
            if field.spec.ignorable:
                assert message.encode(version) == known.message_class().encode(version)
            else:
                with pytest.raises(UnencodableMessage, match=snake(field.spec.name)):
                    message.encode(version)


@for_each("name", MESSAGE_NAMES)
def test_null_is_refused_where_the_version_does_not_allow_it(name: str) -> None:
    for known, version in message_versions(name):
        for field in known.codec.layouts.by_version[version].fields:
            of = field.spec.type
            if field.absent or field.nullable or not of.may_be_null or (field.tagged and of.array):
                continue  # in a tag, nothing and an empty array are the same: not written
            message = known.message_class()
            setattr(message, snake(field.spec.name), None)
            with pytest.raises(UnencodableMessage):
                message.encode(version)


@for_each("name", MESSAGE_NAMES)
def test_unknown_tags_are_refused_in_versions_without_tags(name: str) -> None:
    for known, version in message_versions(name):
        if known.codec.layouts.by_version[version].flexible or not known.codec.layouts.ever_flexible:
            continue
        message = known.message_class(unknown_tags=((99, b"x"),))  # type: ignore[call-arg]
        with pytest.raises(UnencodableMessage, match="unknown_tags"):
            message.encode(version)


def _other_than_default(known: KnownMessage, spec: FieldSpec) -> object:
    if spec.type.array:
        return [known.class_of(spec.type.element)()] if spec.type.struct else ["x" if _is_text(spec) else 1]
    if spec.type.struct:
        other = known.class_of(spec.type.element)()
        if not spec.default_is_null:
            other.unknown_tags = ((99, b"x"),)  # type: ignore[attr-defined]
        return other
    match spec.type.element:
        case "bool":
            return not spec.default
        case "string":
            return "other"
        case "bytes" | "records":
            return b"other"
        case "uuid":
            return b"u" * 16
    assert isinstance(spec.default, (int, float))
    return spec.default + 1 if spec.default < 1 else spec.default - 1


def _is_text(spec: FieldSpec) -> bool:
    return spec.type.element == "string"
