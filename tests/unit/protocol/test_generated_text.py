"""The output of the generator: its text for small schemas, and the behaviour of the generated code."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from shareq.protocol.errors import MalformedMessage, UnencodableMessage
from shareq.protocol.generator.spec import SchemaError
from tests.support.kafka.schemas import field, generated_module, generated_text, message


def function(text: str, name: str) -> str:
    start = text.index(f"def {name}(")
    end = text.find("\n\n\n", start)
    return text[start : end if end >= 0 else None].rstrip()


def test_adjacent_fixed_width_fields_are_one_unpack_with_the_next_length() -> None:
    text = generated_text(message(field("A", "int32"), field("B", "int64"), field("Name", "string")))
    assert '_unpack_iqh = Struct(">iqh").unpack_from' in text
    assert function(text, "_read_test_request_0") == (
        "def _read_test_request_0(data: bytes, pos: int) -> tuple[TestRequest, int]:\n"
        "    # TestRequest, versions 0-1\n"
        "    a, b, n = _unpack_iqh(data, pos)\n"
        "    pos += 14\n"
        "    if n < 0:\n"
        "        raise bad_length(n)\n"
        "    end = pos + n\n"
        "    name = data[pos:end].decode()\n"
        "    pos = end\n"
        "    return TestRequest(a, b, name), pos"
    )


def test_versions_with_the_same_layout_share_their_functions() -> None:
    text = generated_text(message(field("A", "int32"), field("B", "int32", versions="1+")))
    assert text.count("def _read_") == 3
    assert "DECODERS = {0: _read_test_request_0, 1: _read_test_request_1, 2: _read_test_request_2" in text
    assert "3: _read_test_request_2" in text
    assert "# TestRequest, versions 2-3" in text


def test_writing_mirrors_reading() -> None:
    text = generated_text(message(field("A", "int32"), field("B", "uuid"), field("Names", "[]string")))
    assert function(text, "_write_test_request_2") == (
        "def _write_test_request_2(out: bytearray, item: TestRequest) -> None:\n"
        "    # TestRequest, versions 2-3\n"
        "    if len(item.b) != 16:\n"
        "        raise bad_uuid(item.b)\n"
        "    out += _pack_iu(item.a, item.b)\n"
        "    n = len(item.names) + 1\n"
        "    out += SMALL[n] if n < 128 else uvarint(n)\n"
        "    put_compact_strings(out, item.names)\n"
        "    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS"
    )


def test_arrays_of_structs_are_read_in_one_loop_after_a_check_of_the_count() -> None:
    inner = field("Items", "[]Item", fields=[field("A", "int64"), field("B", "int8")])
    text = generated_text(message(inner, flexibleVersions="none"))
    assert function(text, "_read_item_array_0") == (
        "def _read_item_array_0(data: bytes, pos: int, count: int) -> tuple[list[Item], int]:\n"
        "    # Item, versions 0-3\n"
        "    if not 0 <= count * 9 <= len(data) - pos:\n"
        "        raise bad_count(count)\n"
        "    items: list[Item] = []\n"
        "    if count > 3:\n"
        "        elements = _iterate_qb(data[pos : pos + count * 9])\n"
        "        for a, b in elements:\n"
        "            items.append(Item(a, b))\n"
        "        pos += len(items) * 9\n"
        "        count -= len(items)\n"
        "    for _ in range(count):\n"
        "        a, b = _unpack_qb(data, pos)\n"
        "        pos += 9\n"
        "        items.append(Item(a, b))\n"
        "    return items, pos"
    )
    assert "unknown_tags" not in text


def test_an_array_of_equal_elements_is_read_in_one_pass_until_one_differs() -> None:
    """ShareAcknowledge's batches have two offsets, a list of one number, and no tags."""
    inner = field("Batches", "[]Batch", fields=[field("First", "int64"), field("Types", "[]int8"), field("Id", "uuid")])
    module = generated_module(message(inner))
    text = generated_text(message(inner))
    assert "if count > 3 and count * 27 <= len(data) - pos:" in text
    usual = [module.Batch(at, [at % 128], bytes(16)) for at in range(6)]
    unusual = [
        module.Batch(7, [], bytes(16)),
        module.Batch(7, [-1], bytes(16)),
        module.Batch(7, [1, 2], bytes(16)),
        module.Batch(7, [1] * 200, bytes(16)),
        module.Batch(7, [1], bytes(16), ((5, b"x"),)),
    ]
    for odd in unusual:
        for at in range(7):
            request = module.TestRequest([*usual[:at], odd, *usual[at:]])
            for version in (0, 2) if not odd.unknown_tags else (2,):
                data = request.encode(version)
                assert module.TestRequest.decode(data, version) == (request, len(data))
                for length in range(len(data)):
                    with pytest.raises(MalformedMessage):
                        module.TestRequest.decode(data[:length], version)


def test_the_class_says_where_it_comes_from() -> None:
    text = generated_text(message(field("A", "int32", about="The first."), about="A test."))
    assert text.startswith(
        '"""TestRequest 0-3.\n\nGenerated from schemas/rpc/Test.json (Apache Kafka 4.3.1) by '
        '`python -m shareq.protocol.generator`. Do not edit.\n"""\n'
    )
    assert '    """A test.\n\n    * `a`: The first.\n    """' in text
    for line in ("API_KEY = 7", "MIN_VERSION = 0", "MAX_VERSION = 3", "FLEXIBLE_FROM = 2"):
        assert f"    {line}\n" in text


def test_struct_names_that_clash_in_a_module_get_the_messages_name() -> None:
    inner = [field("A", "int32")]
    request = message(field("Topics", "[]Topic", fields=inner), field("Own", "[]Own", fields=inner))
    response = message(field("Topics", "[]Topic", fields=inner), type="response", name="TestResponse")
    module = generated_module(request, response)
    assert {"TestRequestTopic", "TestResponseTopic", "Own"} <= set(vars(module))
    assert "Topic" not in vars(module)


def test_a_field_that_no_valid_version_has_is_left_out() -> None:
    """For example, ShareFetchRequest.PartitionMaxBytes exists only in the withdrawn version 0."""
    module = generated_module(message(field("A", "int32", versions="0"), field("B", "int32"), validVersions="1-3"))
    assert module.TestRequest.FIELDS == ("b", "unknown_tags")


def test_mutable_defaults_are_fresh_each_time() -> None:
    module = generated_module(
        message(field("Names", "[]string"), field("Item", "Item", fields=[field("A", "[]int32")]))
    )
    one, other = module.TestRequest(), module.TestRequest()
    one.names.append("x")
    one.item.a.append(1)
    assert (other.names, other.item.a) == ([], [])


TAGGED: dict[str, Any] = {"versions": "2+", "taggedVersions": "2+"}


def test_tags_are_written_in_order_whatever_the_order_in_the_file() -> None:
    """TransactionLogValue, for example, lists tag 3 before tag 2."""
    fields = [
        field("C", "int8", tag=2, **TAGGED),
        field("A", "int8", tag=0, **TAGGED),
        field("B", "int8", tag=1, **TAGGED),
    ]
    module = generated_module(message(*fields))
    data = module.TestRequest(c=3, a=1, b=2, unknown_tags=((9, b"z"), (5, b""))).encode(2)
    assert data == bytes((5, 0, 1, 1, 1, 1, 2, 2, 1, 3, 5, 0, 9, 1, ord("z")))
    assert module.TestRequest.decode(data, 2)[0].unknown_tags == ((5, b""), (9, b"z"))


def test_a_tag_equal_to_its_default_is_not_written() -> None:
    module = generated_module(message(field("A", "int8", tag=0, default="7", **TAGGED)))
    assert module.TestRequest().encode(2) == b"\0"
    assert module.TestRequest(0).encode(2) == b"\x01\x00\x01\x00"
    assert module.TestRequest.decode(b"\x01\x00\x01\x07", 2)[0].a == 7


def test_a_known_tag_given_as_unknown_is_refused() -> None:
    module = generated_module(message(field("A", "int8", tag=0, **TAGGED)))
    with pytest.raises(UnencodableMessage, match="tag 0"):
        module.TestRequest(1, unknown_tags=((0, b"x"),)).encode(2)


def test_a_nullable_struct_has_an_int8_marker_and_in_a_tag_an_unsigned_one() -> None:
    inner = {"fields": [field("A", "int16")], "nullableVersions": "0+", "default": "null"}
    module = generated_module(
        message(field("S", "Inner", **inner), field("T", "Other", tag=0, **TAGGED | inner | {"nullableVersions": "2+"}))
    )
    request = module.TestRequest
    assert request().encode(0) == b"\xff"
    assert request(module.Inner(5)).encode(0) == b"\x01\x00\x05"
    assert request(module.Inner(5)).encode(2) == b"\x01\x00\x05\x00" + b"\x00"
    assert request(None, module.Other(6)).encode(2) == b"\xff" + b"\x01\x00\x04\x01\x00\x06\x00"
    for data, version in ((b"\xff", 0), (b"\x80", 0), (b"\x01\x00\x05", 0)):
        assert (request.decode(data, version)[0].s is None) == (data[0] > 127)


def test_a_bare_null_default_means_empty_so_null_is_written() -> None:
    """As in Kafka, null is size 1, byte 0, while an omitted tag reads back as the empty struct."""
    inner = {"fields": [field("A", "int16")], "nullableVersions": "2+", "default": None}
    module = generated_module(
        message(field("S", "Inner", tag=0, **TAGGED | inner), field("L", "[]int32", tag=1, **TAGGED | {
            "nullableVersions": "2+", "default": None}))
    )  # fmt: skip
    request = module.TestRequest
    assert request().encode(2) == b"\0"
    assert request.decode(b"\0", 2)[0] == request(module.Inner(), [])
    assert request(None, None).encode(2) == b"\x02" + b"\x00\x01\x00" + b"\x01\x01\x00"
    assert request.decode(request(None, None).encode(2), 2)[0] == request(None, None)


def test_null_only_in_the_versions_that_allow_it() -> None:
    module = generated_module(message(field("A", "[]int32", nullableVersions="1+"), field("B", "string")))
    with pytest.raises(UnencodableMessage, match=r"TestRequest\.a may not be null"):
        module.TestRequest(None).encode(0)
    assert module.TestRequest(None).encode(1) == b"\xff\xff\xff\xff" + b"\0\0"
    with pytest.raises(MalformedMessage):
        module.TestRequest.decode(b"\xff\xff\xff\xff" + b"\0\0", 0)


def test_a_client_id_stays_classic_in_a_flexible_version() -> None:
    fields = [
        field("ClientId", "string", flexibleVersions="none", nullableVersions="0+"),
        field("Other", "string", versions="0+"),
    ]
    module = generated_module(message(*fields))
    assert module.TestRequest("me", "x").encode(2) == b"\x00\x02me" + b"\x02x" + b"\0"


def test_strings_above_the_limit_are_refused_in_both_forms() -> None:
    module = generated_module(message(field("A", "string")))
    longest = module.TestRequest("x" * 32767)
    for version in (0, 2):
        assert module.TestRequest.decode(longest.encode(version), version)[0] == longest
        with pytest.raises(UnencodableMessage):
            module.TestRequest("é" * 16384).encode(version)  # 32,768 bytes


@pytest.mark.parametrize(
    ("of", "value"),
    [("int8", 128), ("int16", -32769), ("int32", 2**31), ("int64", 2**63), ("uint16", -1), ("uuid", b"short")],
)
def test_numbers_out_of_range_are_refused(of: str, value: object) -> None:
    module = generated_module(message(field("A", of)))
    out = bytearray(b"before")
    with pytest.raises(UnencodableMessage):
        module.TestRequest(value).encode_into(out, 2)
    assert out == b"before"


def test_int8_arrays_are_signed() -> None:
    module = generated_module(message(field("A", "[]int8")))
    for values in ([], [0], [127], [-128], [1, 2, 3], [-1, 0, 1], [5] * 130):
        for version in (0, 2):
            data = module.TestRequest(values).encode(version)
            assert module.TestRequest.decode(data, version)[0].a == values
    assert module.TestRequest([-1, 4]).encode(0) == struct.pack(">ibb", 2, -1, 4)
    with pytest.raises(UnencodableMessage):
        module.TestRequest([128]).encode(2)


def test_any_byte_but_zero_is_true() -> None:
    module = generated_module(message(field("A", "bool"), field("Name", "string"), field("B", "bool")))
    assert module.TestRequest.decode(b"\x07\x00\x00\x02", 0)[0] == module.TestRequest(True, "", True)
    assert module.TestRequest(True, "", True).encode(0) == b"\x01\x00\x00\x01"


def test_map_keys_keep_order_and_duplicates() -> None:
    inner = field("Topics", "[]Topic", fields=[field("Name", "string", mapKey=True)])
    module = generated_module(message(inner))
    topics = [module.Topic("b"), module.Topic("a"), module.Topic("b")]
    data = module.TestRequest(topics).encode(2)
    assert module.TestRequest.decode(data, 2)[0].topics == topics


def test_records_are_a_view_of_the_input() -> None:
    module = generated_module(message(field("Records", "records", nullableVersions="0+")))
    data = module.TestRequest(b"batch").encode(2)
    records = module.TestRequest.decode(data, 2)[0].records
    assert isinstance(records, memoryview)
    assert records.obj is data
    assert module.TestRequest(records).encode(2) == data
    assert module.TestRequest().records is None


# -- found by random schemas


def test_a_struct_without_fields_is_its_default() -> None:
    """A version without the field could not be written otherwise."""
    module = generated_module(message(field("A", "Empty", versions="1+", fields=[]), field("B", "int32")))
    assert module.TestRequest.decode(module.TestRequest(b=5).encode(0), 0)[0].b == 5


def test_a_version_that_writes_nothing_has_a_body() -> None:
    module = generated_module(message(field("A", "int32", versions="2+", ignorable=True)))
    assert module.TestRequest(7).encode(0) == b""


def test_elements_that_take_no_bytes_are_refused() -> None:
    """Four bytes could announce two billion elements."""
    inner = field("Elements", "[]Element", fields=[field("A", "int32", versions="3+")])
    with pytest.raises(SchemaError, match=r"^rpc/Test\.json: TestRequest\.Elements: an array of Element, which takes"):
        generated_text(message(inner))
