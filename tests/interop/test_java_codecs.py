"""Apache Kafka 4.3.1's own classes and schemas against ours."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from shareq.broker.dispatch.table import HANDLERS
from shareq.protocol.api_keys import ApiKey, codec
from shareq.protocol.errors import ErrorCode, is_retriable
from shareq.protocol.generator.__main__ import SCHEMAS, generate
from shareq.protocol.generator.codec import module_text
from shareq.protocol.generator.names import module_name
from shareq.protocol.generator.spec import MessageSpec, parse_message
from shareq.protocol.headers import request_header_version, response_header_version
from tests.interop.java_codecs_support import Case, kafka_schemas, rewritten_by_kafka, run_judge, why_no_judge
from tests.support.kafka.random_messages import MESSAGE_NAMES, RandomMessages, message_versions

pytestmark = [
    pytest.mark.interop,
    pytest.mark.skipif(why_no_judge() is not None, reason=why_no_judge() or ""),
]

SAMPLES = 5
OURS = {path.stem for path in (SCHEMAS / "shareq").glob("*.json")}
"""Messages of our own, which Apache Kafka does not know."""
OUR_KEYS = {key for key, row in HANDLERS.items() if row.own}


def test_kafka_rewrites_our_bytes_unchanged(tmp_path: Path) -> None:
    """Every message and version, unknown tags included."""
    messages = RandomMessages("for Java")
    cases = [
        Case(known, version, messages.message(known, version).encode(version))
        for name in MESSAGE_NAMES
        if name not in OURS
        for known, version in message_versions(name)
        for _ in range(SAMPLES)
    ]
    answers = rewritten_by_kafka(cases, tmp_path)
    wrong = [
        f"{case.message.name} {case.version}: {case.data.hex()} -> {answer!r}"
        for case, answer in zip(cases, answers, strict=True)
        if answer != case.data
    ]
    assert not wrong, f"{len(wrong)} of {len(cases)}; the first: {wrong[0][:1000]}"


def test_kafka_refuses_what_we_refuse_to_read(tmp_path: Path) -> None:
    """Nulls are refused where none is allowed, and so are tags of another version."""
    share_fetch_response = next(message_versions("ShareFetchResponse"))[0]
    fetch_request = next(message_versions("FetchRequest"))[0]
    empty_fetch = fetch_request.message_class().encode(14)
    cases = [
        Case(fetch_request, 14, empty_fetch[:-1] + b"\x01\x01\x0d" + bytes(13)),
        Case(share_fetch_response, 1, bytes(7) + bytes(4) + b"\x00\x01\x00"),
    ]
    answers = rewritten_by_kafka(cases, tmp_path)
    for case, answer in zip(cases, answers, strict=True):
        assert isinstance(answer, str), f"{case.message.name}: Kafka accepted it"
        with pytest.raises(ValueError, match=r"tag|null"):
            case.message.message_class.decode(case.data, case.version)


FILES = {"AbortedTxn"}
"""The structures that occur in a file of Kafka's log and nowhere else."""


def test_kafkas_own_schema_files_give_the_same_code() -> None:
    """The files are unmodified, with comments and unquoted defaults; the code is compared without docstrings."""
    modules: dict[str, list[MessageSpec]] = {}
    for name, text in sorted(kafka_schemas()):
        spec = parse_message(text, name)
        if not spec.valid_versions.empty and spec.name not in FILES:
            modules.setdefault(module_name(spec.name), []).append(spec)
    ours = generate(SCHEMAS, everything=True)
    alone = {f"{module_name(name)}.py" for name in OURS}
    assert alone <= set(ours)
    assert {f"{name}.py" for name in modules} == set(ours) - {"__init__.py", "index.py", "error_codes.py"} - alone
    for name, specs in modules.items():
        assert _code(module_text(specs, "")) == _code(ours[f"{name}.py"]), name


def _code(text: str) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)


def test_api_table_headers_and_error_codes_are_kafkas() -> None:
    facts = [line.split("\t") for line in run_judge("facts").splitlines()]
    apis = {int(row[1]): row for row in facts if row[0] == "api" and int(row[3]) <= int(row[4])}
    everything: dict[str, Any] = {}
    exec(generate(SCHEMAS, everything=True)["index.py"], everything)  # of our own schemas
    rows = everything["APIS"]
    assert set(apis) == set(rows) - OUR_KEYS
    assert set(ApiKey) < set(rows)
    assert len(OURS) == 2 * len(OUR_KEYS)
    for key, (_, _, name, lowest, highest, stable, headers) in apis.items():
        assert everything["ApiKey"](key).name == name
        _, _, first, last, _, unstable, _ = rows[key]
        assert (first, last) == (int(lowest), int(highest))
        assert unstable == (stable != highest)
        if key not in set(ApiKey):
            continue
        assert ApiKey(key).name == name
        api = codec(key)
        assert (api.min_version, api.max_version, api.latest_version_unstable) == (first, last, unstable)
        ours = [
            f"{version}:{request_header_version(key, version)}:{response_header_version(key, version)}"
            for version in range(api.min_version, api.max_version + 1)
        ]
        assert ours == headers.split()
    errors = {(int(row[1]), row[2], row[3] == "true") for row in facts if row[0] == "error"}
    assert errors == {(code.value, code.name, is_retriable(code)) for code in ErrorCode}
