"""The generation of a module from specs: classes, and decoding and encoding functions for all versions of one RPC or
record.
"""

from __future__ import annotations

from typing import Final

from shareq.protocol.generator.classes import emit_default_checks, emit_message_class, emit_struct_class
from shareq.protocol.generator.decode import DecodeEmitter
from shareq.protocol.generator.emit import CodeBuffer
from shareq.protocol.generator.encode import EncodeEmitter
from shareq.protocol.generator.layout import StructLayout
from shareq.protocol.generator.model import MessageCodec, Module
from shareq.protocol.generator.spec import MessageSpec
from shareq.protocol.generator.versions import describe

COMMAND: Final = "python -m shareq.protocol.generator"


def banner(files: list[str], kafka_version: str) -> str:
    """Return the line that names a generated module's sources, and the command that makes it."""
    return f"Generated from {' and '.join(files)} (Apache Kafka {kafka_version}) by `{COMMAND}`. Do not edit."


def module_text(messages: list[MessageSpec], kafka_version: str) -> str:
    """Return the generated module of messages that belong together (request and response, key and value)."""
    module = Module(messages)
    body = CodeBuffer()
    for codec in module.codecs:
        _emit_message(body, codec)
    emit_default_checks(body, module.default_checks)
    return (_header(module, kafka_version) + body.text()).rstrip("\n") + "\n"


def _header(module: Module, kafka_version: str) -> str:
    out = CodeBuffer()
    names = [f"{message.name} {message.valid_versions}" for message in module.messages]
    files = [f"schemas/{message.file}" for message in module.messages]
    out.docstring(f"{' and '.join(names)}.\n\n{banner(files, kafka_version)}")
    out.line()
    out.line("from __future__ import annotations")
    out.line()
    if module.has_sequences:
        out.line("from collections.abc import Sequence")
    if module.struct_lines():
        out.line("from struct import Struct")
    if module.has_sequences or module.struct_lines():
        out.line()
    if module.primitives:
        names = sorted(module.primitives, key=lambda name: (not name.isupper(), name.lower() == name, name))
        out.bracketed(
            "from shareq.protocol.primitives import (" if len(names) > 1 else "from shareq.protocol.primitives import ",
            names,
            ")" if len(names) > 1 else "",
            one_per_line=len(names) > 1,
        )
    if module.rows:
        out.line(f"from shareq.protocol.rows import {', '.join(sorted(module.rows))}")
    if module.struct_lines():
        out.line()
        for line in module.struct_lines():
            out.line(line)
    return out.text() + "\n\n"


def _emit_message(out: CodeBuffer, codec: MessageCodec) -> None:
    layouts = codec.layouts
    abouts = _struct_abouts(codec)
    for struct in layouts.structs_in_use():
        out.blank()
        emit_struct_class(out, codec, struct, abouts[struct.name])
    singles, arrays = _uses(codec)
    for layout in layouts.reachable():
        versions = layouts.versions_of(layout)
        comment = f"{layout.spec.name}, version{'s' if len(versions) > 1 else ''} {describe(versions)}"
        decoder, encoder = DecodeEmitter(out, codec), EncodeEmitter(out, codec)
        for array, wanted in ((False, singles), (True, arrays)):
            if layout in wanted:
                decoder.emit(layout, array=array, comment=comment)
        if layout.flexible and (layout.tagged() or layout.foreign_tags()):
            decoder.emit_tags(layout)
        for array, wanted in ((False, singles), (True, arrays)):
            if layout in wanted:
                encoder.emit(layout, array=array, comment=comment)
    out.blank()
    tables = [
        (str(version), codec.function("read", layout), codec.function("write", layout))
        for version, layout in layouts.by_version.items()
    ]
    emit_message_class(out, codec, tables)


def _uses(codec: MessageCodec) -> tuple[set[StructLayout], set[StructLayout]]:
    """Return the layouts that are read one at a time, and those that are read as arrays."""
    singles = set(codec.layouts.by_version.values())
    arrays: set[StructLayout] = set()
    for layout in codec.layouts.reachable():
        for field in layout.fields:
            if field.struct is not None:
                (arrays if field.spec.type.array else singles).add(field.struct)
    return singles, arrays


def _struct_abouts(codec: MessageCodec) -> dict[str, str]:
    """Return a sentence for each nested struct: the description of its field, or the place of its use."""
    abouts: dict[str, str] = {}
    structs = (codec.message.root, *codec.message.structs.values())
    for struct in structs:
        for field in struct.fields:
            if field.type.struct:
                where = f"{struct.name}.{field.name}"
                role = "An element" if field.type.array else "The value"
                abouts.setdefault(field.type.element, f"{role} of {where}.")
    return abouts
