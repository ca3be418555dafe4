"""Keys and values as text: each format, invalid input, and schemas from a registry."""

from __future__ import annotations

import io
import json
import struct
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random

import pytest

from shareq.client.admin.redrives import letter_of
from shareq.client.errors import ClientError, Unreachable
from shareq.ops.cli.output.schema import to_json
from shareq.ops.cli.records.decoding import decoder
from shareq.ops.cli.records.text import line_of, record_row
from shareq.ops.cli.shared.exits import CommandEnd
from shareq.protocol.records.batch import decode_records
from tests.support.bad_records.records import BadRecord, bad_records, batch_of
from tests.support.processes import finished

CHAIN = {"type": "record", "name": "Link", "fields": [{"name": "next", "type": ["null", "Link"]}]}
SCHEMA = {"type": "record", "name": "Order", "fields": [{"name": "fruit", "type": "string"}]}


@pytest.mark.parametrize(
    ("form", "data", "expected"),
    [
        ("auto", b"pears", ("pears", "utf-8")),
        ("auto", b"\xff\x00", ("/wA=", "base64")),
        ("auto", None, (None, None)),
        ("text", b"a\xffb", ("a�b", "utf-8")),
        ("text", None, (None, None)),
        ("hex", b"\x00\xff", ("00ff", "hex")),
        ("hex", None, (None, None)),
        ("json", b'{ "a":\n 1 }', ('{"a": 1}', "json")),
        ("json", '"ä"'.encode(), ('"ä"', "json")),
        ("json", b"{broken", ("{broken", "utf-8")),
        ("json", b"\xff", ("/w==", "base64")),
        ("json", b'"\\ud800"', ('"\\ud800"', "json")),  # half a character: no stream takes it as it is
        ("json", b"[" * 100_000, ("[" * 100_000, "utf-8")),
        ("json", None, (None, None)),
    ],
)
def test_forms(form: str, data: bytes | None, expected: tuple[str | None, str | None]) -> None:
    assert decoder(form, None)(data) == expected


class _Registry(BaseHTTPRequestHandler):
    asked: list[str]

    def do_GET(self) -> None:
        type(self).asked.append(self.path)
        known = {
            "/schemas/ids/7": {"schema": json.dumps(SCHEMA)},
            "/schemas/ids/9": {"schemaType": "JSON", "schema": ""},
            "/schemas/ids/10": {"schema": json.dumps(CHAIN)},
            "/schemas/ids/11": {"schema": '{"type": "array", "items": ' * 90_000},
            "/schemas/ids/12": {"schema": '{"type": "no such type"}'},
            "/schemas/ids/13": {"schema": '{"type": "record", "name": "M", "fields": [{"name": "m", "type": "M"}]}'},
        }
        body = json.dumps(known.get(self.path, {"error_code": 40403})).encode()
        if self.path == "/schemas/ids/14":
            known, body = {self.path: {}}, b"[" * 100_000
        self.send_response(200 if self.path in known else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def registry() -> Iterator[str]:
    _Registry.asked = []
    with ThreadingHTTPServer(("127.0.0.1", 0), _Registry) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
        thread.join()


def framed(number: int, body: bytes) -> bytes:
    return struct.pack(">bI", 0, number) + body


def test_avro_by_the_schema_that_a_value_names(registry: str) -> None:
    fastavro = pytest.importorskip("fastavro")
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(SCHEMA), {"fruit": "pears"})
    decode = decoder("avro", registry)
    assert decode(framed(7, out.getvalue())) == ('{"fruit": "pears"}', "avro")
    assert decode(framed(7, out.getvalue())) == ('{"fruit": "pears"}', "avro")
    assert _Registry.asked == ["/schemas/ids/7"]
    assert decode(b"plain text") == ("plain text", "utf-8")
    assert decode(framed(7, b""))[1] in ("utf-8", "base64")
    assert decode(None) == (None, None)
    with pytest.raises(ClientError, match=r"refused .*/schemas/ids/8: 404"):
        decode(framed(8, b""))
    with pytest.raises(ClientError, match=r"schema 9 of .* is not of Avro"):
        decode(framed(9, b""))


def test_avro_nested_too_deep_is_shown_as_it_would_be_without_a_schema(registry: str) -> None:
    """A reader without a depth limit would crash its process, so a process of its own decodes."""
    pytest.importorskip("fastavro")
    script = """
import sys
from shareq.ops.cli.records.decoding import decoder
decode, chain = decoder("avro", sys.argv[1]), b"\\0\\0\\0\\0\\n"
print(decode(chain + b"\\2" * 3 + b"\\0"))
for deep in (1_000, 5_000, 1_000_000):
    value = chain + b"\\2" * deep + b"\\0"
    assert decode(value) == (value.decode(), "utf-8")
print(decode(b"\\0\\0\\0\\0\\r"))
"""
    ended = finished([sys.executable, "-c", script, registry])
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.splitlines() == [
        """Text(text='{"next": {"next": {"next": {"next": null}}}}', encoding='avro')""",
        r"Text(text='\x00\x00\x00\x00\r', encoding='utf-8')",
    ]


@pytest.mark.parametrize("number", [11, 12])
def test_a_schema_that_cannot_be_read_is_one_clear_line(registry: str, number: int) -> None:
    pytest.importorskip("fastavro")
    with pytest.raises(ClientError, match=rf"schema {number} of http\S+ cannot be read: \S.*$"):
        decoder("avro", registry)(framed(number, b"x"))


def test_an_answer_of_a_registry_nested_too_deep_is_no_schema(registry: str) -> None:
    pytest.importorskip("fastavro")
    with pytest.raises(Unreachable, match=r"no schema from http\S+/schemas/ids/14: "):
        decoder("avro", registry)(framed(14, b"x"))


def test_a_registry_that_is_not_there() -> None:
    pytest.importorskip("fastavro")
    with pytest.raises(Unreachable, match=r"no schema from http://127\.0\.0\.1:1/schemas/ids/7"):
        decoder("avro", "http://127.0.0.1:1")(framed(7, b"x"))


def test_avro_without_fastavro_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastavro", None)
    monkeypatch.delitem(sys.modules, "shareq.ops.cli.records.avro", raising=False)
    with pytest.raises(CommandEnd) as ended:
        decoder("avro", "http://here")
    assert ended.value.code == 2
    assert ended.value.message == "--decode avro: it needs fastavro, which is not installed: pip install fastavro"


def test_avro_without_a_registry_is_one_clear_line() -> None:
    pytest.importorskip("fastavro")
    with pytest.raises(CommandEnd) as ended:
        decoder("avro", None)
    assert "--schema-registry" in ended.value.message


def test_bad_records_have_a_row_and_a_line_in_every_form() -> None:
    """Records have times after the year 9999 and before 1970, names and keys of any bytes, deeply nested JSON."""
    bad = list(bad_records(Random(5), 100, 1_800_000_000_000, 1_000))
    times = [-(2**63) + 1, -1, 0, 253_402_300_799_999, 253_402_300_800_000, 2**62]
    bad += [BadRecord(None, None, [(b"\xff", None)], at) for at in times]
    for each in bad:  # in a batch of its own: a time delta of more than 64 bits cannot be written
        (record,) = decode_records(batch_of([each]))
        row = record_row("t", 0, record)
        json.dumps(to_json(row), ensure_ascii=False).encode()
        line_of(row).encode()
        letter = letter_of(record.headers)
        assert letter.partition is None or letter.partition < 10**19
        for form in ("auto", "json", "text", "hex"):
            (decoder(form, None)(record.value).text or "").encode()
