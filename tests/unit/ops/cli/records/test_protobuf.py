"""Values of Protobuf: the path to their message, descriptors with imports from a registry, and bytes of any kind."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shareq.client.errors import ClientError
from shareq.ops.cli.records import decoding
from shareq.ops.cli.records.decoding import decoder
from shareq.ops.cli.records.registry import SchemaRegistry

pytest.importorskip("google.protobuf")

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2

from shareq.ops.cli.records.protobuf import message_path

STRING, INT64, MESSAGE = 9, 3, 11
File: TypeAlias = descriptor_pb2.FileDescriptorProto


class Registry(SchemaRegistry):
    def __init__(self, answers: Mapping[str, object]) -> None:
        super().__init__("http://registry")
        self.answers, self.asked = answers, list[str]()

    def _asked(self, path: str) -> Mapping[str, Any]:
        self.asked.append(path)
        found = self.answers.get(path)
        if not isinstance(found, dict):
            raise ClientError(f"the schema registry refused {path}: 404")
        return found


def schema(file: File, **more: object) -> dict[str, object]:
    return {"schemaType": "PROTOBUF", "schema": base64.b64encode(file.SerializeToString()).decode(), **more}


def field(name: str, number: int, kind: int, type_name: str | None = None) -> Any:
    return descriptor_pb2.FieldDescriptorProto(name=name, number=number, type=kind, label=1, type_name=type_name)


def orders() -> File:
    file = File(name="orders.proto", package="shop", syntax="proto3")
    file.dependency.extend(["google/protobuf/timestamp.proto", "prices.proto"])
    order = file.message_type.add(name="Order")
    order.field.extend(
        [
            field("fruit_name", 1, STRING),
            field("ordered_at", 2, MESSAGE, ".google.protobuf.Timestamp"),
            field("price", 3, MESSAGE, ".shop.Price"),
        ]
    )
    line = order.nested_type.add(name="Line")
    line.field.append(field("count", 1, INT64))
    file.message_type.add(name="Refund").field.append(field("reason", 1, STRING))
    return file


def prices() -> File:
    file = File(name="prices.proto", package="shop", syntax="proto3")
    file.message_type.add(name="Price").field.append(field("cents", 1, INT64))
    return file


REFERENCE = {"name": "prices.proto", "subject": "shop/prices", "version": 2}
ANSWERS = {
    "/schemas/ids/7?format=serialized": schema(orders(), references=[REFERENCE]),
    "/subjects/shop%2Fprices/versions/2?format=serialized": schema(prices()),
    "/schemas/ids/8?format=serialized": {"schema": "{}"},
    "/schemas/ids/9?format=serialized": {"schemaType": "PROTOBUF", "schema": 'syntax = "proto3";'},
    "/schemas/ids/10?format=serialized": schema(orders()),
    "/schemas/ids/11?format=serialized": schema(orders(), references=[{**REFERENCE, "version": 3}]),
}


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Registry:
    made = Registry(ANSWERS)
    monkeypatch.setattr(decoding, "SchemaRegistry", lambda url: made)
    return made


@pytest.fixture
def decode(registry: Registry) -> Callable[[bytes | None], decoding.Text]:
    return decoder("protobuf", registry.url)


def framed(number: int, path: bytes, body: bytes) -> bytes:
    return struct.pack(">bI", 0, number) + path + body


def order() -> bytes:
    pool = descriptor_pool.DescriptorPool()
    stamps = File()
    timestamp_pb2.DESCRIPTOR.CopyToProto(stamps)
    for each in (stamps, prices(), orders()):
        pool.Add(each)
    made = message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Order"))()
    made.fruit_name, made.price.cents, made.ordered_at.seconds = "pears", 2**60, 1_800_000_000
    return bytes(made.SerializeToString())


def test_the_first_message_with_imports(registry: Registry, decode: Callable[[bytes | None], decoding.Text]) -> None:
    expected = {"fruit_name": "pears", "ordered_at": "2027-01-15T08:00:00Z", "price": {"cents": str(2**60)}}
    for path in (b"\0", b"\2\0"):  # short for the first one, and in full
        found = decode(framed(7, path, order()))
        assert (json.loads(found.text or ""), found.encoding) == (expected, "protobuf")
    assert registry.asked == list(ANSWERS)[:2]


def test_other_messages_of_the_file(decode: Callable[[bytes | None], decoding.Text]) -> None:
    assert decode(framed(7, b"\2\2", b"\n\4late")) == ('{"reason": "late"}', "protobuf")
    assert decode(framed(7, b"\4\0\0", b"\x08\x05")) == ('{"count": "5"}', "protobuf")


NO_PATHS = (b"", b"\1", b"\2\4", b"\4\2\0", b"\x80", b"\x42" + 33 * b"\0", b"\xff\xff\xff\xff\xff\1")


@pytest.mark.parametrize("path", NO_PATHS)
def test_a_path_to_no_message_is_shown_as_without_a_schema(
    decode: Callable[[bytes | None], decoding.Text], path: bytes
) -> None:
    assert decode(framed(7, path, b"")).encoding in ("utf-8", "base64")


@given(st.binary(max_size=60))
def test_bytes_of_any_kind_are_shown(data: bytes) -> None:
    made = Registry(ANSWERS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoding, "SchemaRegistry", lambda url: made)
        decode = decoder("protobuf", made.url)
    found = decode(framed(7, b"", data))
    assert found.text is not None
    found.text.encode()


@given(st.lists(st.integers(0, 2**20), min_size=1, max_size=32), st.binary(max_size=5))
def test_a_path_is_read_as_it_was_written(path: list[int], behind: bytes) -> None:
    written = b"".join(map(zigzag, [len(path), *path]))
    assert message_path(written + behind) == (path, len(written))


def zigzag(value: int) -> bytes:
    value, out = value << 1, bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (8, "schema 8 of http://registry is not of Protobuf"),
        (9, "schema 9 of http://registry cannot be read: it is no descriptor: "),
        (10, "schema 10 of http://registry cannot be read: it imports prices.proto, to which it has no reference"),
        (11, "the schema registry refused /subjects/shop%2Fprices/versions/3?format=serialized: 404"),
        (12, "the schema registry refused /schemas/ids/12?format=serialized: 404"),
    ],
)
def test_a_schema_that_cannot_be_had_is_one_clear_line(
    decode: Callable[[bytes | None], decoding.Text], number: int, said: str
) -> None:
    with pytest.raises(ClientError) as raised:
        decode(framed(number, b"\0", b""))
    assert str(raised.value).startswith(said)


def test_files_that_import_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    one = File(name="one.proto", syntax="proto3", dependency=["two.proto"])
    two = File(name="two.proto", syntax="proto3", dependency=["one.proto"])
    to_one, to_two = ({"name": f"{name}.proto", "subject": name, "version": 1} for name in ("one", "two"))
    made = Registry(
        {
            "/schemas/ids/1?format=serialized": schema(one, references=[to_two]),
            "/subjects/two/versions/1?format=serialized": schema(two, references=[to_one]),
            "/subjects/one/versions/1?format=serialized": schema(one, references=[to_two]),
        }
    )
    monkeypatch.setattr(decoding, "SchemaRegistry", lambda url: made)
    with pytest.raises(ClientError, match="cannot be read"):
        decoder("protobuf", made.url)(framed(1, b"\0", b""))
    assert len(made.asked) == 3


def test_a_schema_of_very_many_files(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"/schemas/ids/1?format=serialized": chained("schema", 0)}
    files |= {f"/subjects/{n}/versions/1?format=serialized": chained(str(n), n + 1) for n in range(300)}
    made = Registry(files)
    monkeypatch.setattr(decoding, "SchemaRegistry", lambda url: made)
    with pytest.raises(ClientError, match="one of more than 200 files"):
        decoder("protobuf", made.url)(framed(1, b"\0", b""))


def chained(name: str, imported: int) -> dict[str, object]:
    file = File(name=name, syntax="proto3", dependency=[f"{imported}.proto"])
    return schema(file, references=[{"name": f"{imported}.proto", "subject": str(imported), "version": 1}])


def test_a_field_whose_type_the_registry_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """In descriptors of Redpanda's registry a field of a message type names that type, but has no type number."""
    file = File(name="a.proto", syntax="proto3")
    outer = file.message_type.add(name="Outer")
    outer.field.append(descriptor_pb2.FieldDescriptorProto(name="inner", number=1, label=1, type_name=".Inner"))
    file.message_type.add(name="Inner").field.append(field("count", 1, INT64))
    made = Registry({"/schemas/ids/1?format=serialized": schema(file)})
    monkeypatch.setattr(decoding, "SchemaRegistry", lambda url: made)
    assert decoder("protobuf", made.url)(framed(1, b"\0", b"\n\2\x08\3")).text == '{"inner": {"count": "3"}}'
