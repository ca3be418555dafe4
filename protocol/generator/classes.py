"""The generation of class definitions from specs."""

from __future__ import annotations

from shareq.protocol.generator.emit import CodeBuffer
from shareq.protocol.generator.model import MessageCodec
from shareq.protocol.generator.names import snake
from shareq.protocol.generator.spec import StructSpec


def emit_struct_class(out: CodeBuffer, codec: MessageCodec, struct: StructSpec, about: str) -> None:
    base = codec.module.use("Structure")
    with out.block(f"class {codec.class_of(struct.name)}({base}):"):
        out.docstring(_class_text(codec, struct, about))
        out.line()
        _emit_slots_and_init(out, codec, struct)


def emit_message_class(out: CodeBuffer, codec: MessageCodec, tables: list[tuple[str, str, str]]) -> None:
    """Emit the class of a message. `tables` has (version, decoder's name, encoder's name) for each valid version."""
    message = codec.message
    base = codec.module.use("Message")
    with out.block(f"class {message.name}({base}):"):
        versions = str(message.valid_versions)
        out.docstring(_class_text(codec, message.root, message.root.about or f"{message.name}, versions {versions}."))
        out.line()
        if message.api_key is not None:
            out.line(f"API_KEY = {message.api_key}")
        out.line(f"MIN_VERSION = {message.valid_versions.lowest}")
        out.line(f"MAX_VERSION = {message.valid_versions.highest}")
        if not message.flexible_versions.empty:
            out.line(f"FLEXIBLE_FROM = {message.flexible_versions.lowest}")
        for name, column in (("DECODERS", 1), ("ENCODERS", 2)):
            items = [f"{row[0]}: {row[column]}" for row in tables]
            out.bracketed(f"{name} = {{", items, "}", display=True)
        out.line()
        _emit_slots_and_init(out, codec, message.root)


def _class_text(codec: MessageCodec, struct: StructSpec, about: str) -> str:
    fields = [field for field in codec.fields(struct) if field.about]
    if not fields:
        return about
    notes = "\n".join(f"* `{snake(field.name)}`: {field.about}" for field in fields)
    return f"{about}\n\n{notes}"


def _emit_slots_and_init(out: CodeBuffer, codec: MessageCodec, struct: StructSpec) -> None:
    fields = codec.fields(struct)
    names = [snake(field.name) for field in fields]
    parameters = [codec.parameter(field) for field in fields]
    if codec.layouts.ever_flexible:
        names.append("unknown_tags")
        parameters.append(f"unknown_tags: {codec.module.use('Tags')} = ()")
    slots = [f'"{name}"' for name in names]
    out.bracketed("FIELDS = (", [f"{slots[0]},"] if len(slots) == 1 else slots, ")", display=True)
    out.line("__slots__ = FIELDS")
    if not names:
        return
    out.line()
    out.bracketed("def __init__(", ["self", *parameters], ") -> None:", one_per_line=len(parameters) > 2)
    with out.indented():
        for field in fields:
            value = codec.initial(field)
            if out.fits(f"self.{snake(field.name)} = {value}"):
                out.line(f"self.{snake(field.name)} = {value}")
            else:
                out.bracketed(f"self.{snake(field.name)} = (", [value], ")")
        if codec.layouts.ever_flexible:
            out.line("self.unknown_tags = unknown_tags")


def emit_default_checks(out: CodeBuffer, codecs: dict[str, tuple[MessageCodec, StructSpec]]) -> None:
    """Emit a function that compares a struct with its default, without making the default, for structs whose writers
    need it.
    """
    for name in sorted(codecs):
        codec, struct = codecs[name]
        conditions = [codec.is_default(field, f"item.{snake(field.name)}") for field in codec.fields(struct)]
        conditions = [f"({text})" if " and " in text else text for text in conditions]
        if codec.layouts.ever_flexible:
            conditions.append("not item.unknown_tags")
        if not conditions:
            conditions.append("True")
        out.blank()
        with out.block(f"def {name}(item: {codec.class_of(struct.name)}) -> bool:"):
            joined = f"return {' and '.join(conditions)}"
            if len(joined) + 4 <= 120:
                out.line(joined)
                continue
            out.line("return (")
            with out.indented():
                out.line(conditions[0])
                for condition in conditions[1:]:
                    out.line(f"and {condition}")
            out.line(")")
