"""The generation of encoding functions from layouts: the mirror of `decode`, with checks that a value can be
encoded.
"""

from __future__ import annotations

from typing import Final

from shareq.protocol.generator.emit import CodeBuffer
from shareq.protocol.generator.layout import FieldLayout, StructLayout
from shareq.protocol.generator.model import FORMAT_CODES, ROWS_WRITTEN, MessageCodec
from shareq.protocol.generator.names import snake

_ARRAY_WRITERS: Final = {
    # element: (classic, compact)
    "string": ("put_strings", "put_compact_strings"),
    "bytes": ("put_byte_strings", "put_compact_byte_strings"),
    "uuid": ("put_uuids", "put_uuids"),
    "int8": ("put_int8s", "put_int8s"),
}


class EncodeEmitter:
    """The emitter of one message's encoding functions."""

    def __init__(self, out: CodeBuffer, codec: MessageCodec) -> None:
        self.out = out
        self.codec = codec
        self.module = codec.module
        self.target = "out"  # the bytearray written to; tagged fields go to one of their own first
        self._run: list[tuple[str, str]] = []  # (struct code, expression) written in one go

    def emit(self, layout: StructLayout, *, array: bool, comment: str) -> None:
        """Emit the function for one struct or an array of it."""
        cls = self.codec.class_of(layout.spec.name)
        self.out.blank()
        name = self.codec.function("write", layout, "_array" if array else "")
        parameter = f"items: {self.codec.array_of(layout.spec.name)}[{cls}]" if array else f"item: {cls}"
        self.out.bracketed(f"def {name}(", ["out: bytearray", parameter], ") -> None:")
        with self.out.indented():
            self.out.comment(comment)
            if not self._has_body(layout):
                self.out.line("pass")
            elif array:
                self._rows(layout)
                with self.out.block("for item in items:"):
                    self._body(layout, cls)
            else:
                self._body(layout, cls)

    def _rows(self, layout: StructLayout) -> None:
        """Emit the writing of tuples, which may stand for the elements of an array: their fields in order."""
        fixed = [field.spec.type.element for field in layout.fields if field.positional]
        if layout.spec.name in ROWS_WRITTEN and layout.flexible and len(fixed) == len(layout.fields):
            codes = "".join(FORMAT_CODES[element] for element in fixed)
            with self.out.block("if items and isinstance(items[0], tuple):"):
                self.out.line(f'{self.module.use_rows("put_rows")}(out, items, "{codes}x")')
                self.out.line("return")

    def _has_body(self, layout: StructLayout) -> bool:
        return layout.flexible or self.codec.layouts.ever_flexible or bool(self.codec.fields(layout.spec))

    def _body(self, layout: StructLayout, cls: str) -> None:
        before = self.out.length
        self._statements(layout, cls)
        if self.out.length == before:  # fields that this version does not have, and drops
            self.out.line("pass")

    def _statements(self, layout: StructLayout, cls: str) -> None:
        out = self.out
        for field in layout.fields:
            if field.absent and not field.spec.ignorable and field.spec in self.codec.fields(layout.spec):
                name = snake(field.spec.name)
                with out.block(f"if {self.codec.is_set(field.spec, f'item.{name}')}:"):
                    out.line(f'raise {self.module.use("not_in_version")}("{cls}", "{name}")')
        if self.codec.layouts.ever_flexible and not layout.flexible:
            with out.block("if item.unknown_tags:"):
                out.line(f'raise {self.module.use("not_in_version")}("{cls}", "unknown_tags")')
        for field in layout.fields:
            if field.positional:
                self._field(field, cls)
        self._flush()
        if layout.flexible:
            self._tags(layout, cls)

    def _tags(self, layout: StructLayout, cls: str) -> None:
        out = self.out
        tagged = layout.tagged()
        tags = "item.unknown_tags"
        if tagged:
            tags = "tags"
            out.line("tags = item.unknown_tags")
        for field in tagged:
            with out.block(f"if {self.codec.is_set(field.spec, f'item.{snake(field.spec.name)}')}:"):
                out.line("body = bytearray()")
                self.target = "body"
                self._tagged(field, cls)
                self.target = "out"
                out.line(f"tags += (({field.spec.tag}, bytes(body)),)")
        out.line(f"out += {self.module.use('tag_buffer')}({tags}) if {tags} else {self.module.use('NO_TAGS')}")

    def _tagged(self, field: FieldLayout, cls: str) -> None:
        if field.spec.type.struct and not field.spec.type.array and field.nullable:
            value = f"item.{snake(field.spec.name)}"
            with self.out.block(f"if {value} is None:"):
                self.out.line(f"{self.target}.append(0)")
            with self.out.block("else:"):
                self.out.line(f"{self.target}.append(1)")
                self._struct(field, value)
        else:
            self._field(field, cls)
            self._flush()

    # -- one field

    def _field(self, field: FieldLayout, cls: str) -> None:
        of = field.spec.type
        value = f"item.{snake(field.spec.name)}"
        if of.fixed_size is not None:
            if of.element == "uuid":
                with self.out.block(f"if len({value}) != 16:"):
                    self.out.line(f"raise {self.module.use('bad_uuid')}({value})")
            self._run.append((FORMAT_CODES[of.element], value))
        elif not self.codec.nullable(field.spec):
            self._variable(field, value)
        elif field.nullable:
            self._nullable(field, value)
        else:
            with self.out.block(f"if {value} is None:"):
                self.out.line(f'raise {self.module.use("null_not_allowed")}("{cls}", "{snake(field.spec.name)}")')
            self._variable(field, value)

    def _nullable(self, field: FieldLayout, value: str) -> None:
        of = field.spec.type
        self._flush()
        with self.out.block(f"if {value} is None:"):
            if of.struct and not of.array:
                self.out.line(f"{self.target}.append(255)")
            elif field.compact:
                self.out.line(f"{self.target}.append(0)")
            else:
                self._run.append(("h" if of.element == "string" and not of.array else "i", "-1"))
                self._flush()
        with self.out.block("else:"):
            if of.struct and not of.array:
                self.out.line(f"{self.target}.append(1)")
            self._variable(field, value)
            self._flush()

    def _variable(self, field: FieldLayout, value: str) -> None:
        """Emit the length and payload of a value that is not null."""
        of = field.spec.type
        if of.struct and not of.array:
            self._flush()
            self._struct(field, value)
            return
        payload = value
        if of.element == "string" and not of.array:
            if field.compact:
                self._flush()
                self.out.line(f"{self.module.use('put_compact_string')}({self.target}, {value})")
                return
            self.out.line(f"raw = {value}.encode()")
            payload = "raw"
        if field.compact:
            self._flush()
            self.out.line(f"n = len({payload}) + 1")
            self.out.line(
                f"{self.target} += {self.module.use('SMALL')}[n] if n < 128 else {self.module.use('uvarint')}(n)"
            )
        else:
            self._run.append(("h" if payload == "raw" else "i", f"len({payload})"))
            self._flush()
        if of.array:
            self._array(field, value)
        elif of.element == "records":
            self.out.line(f"{self.module.use('put_records')}({self.target}, {payload})")
        else:
            self.out.line(f"{self.target} += {payload}")

    def _struct(self, field: FieldLayout, value: str) -> None:
        assert field.struct is not None
        self.out.line(f"{self.codec.function('write', field.struct)}({self.target}, {value})")

    def _array(self, field: FieldLayout, value: str) -> None:
        of = field.spec.type
        if of.struct:
            assert field.struct is not None
            self.out.line(f"{self.codec.function('write', field.struct, '_array')}({self.target}, {value})")
        elif of.element in _ARRAY_WRITERS:
            writer = self.module.use(_ARRAY_WRITERS[of.element][field.compact])
            self.out.line(f"{writer}({self.target}, {value})")
        else:
            code = FORMAT_CODES[of.element]
            self.out.line(f'{self.module.use("put_numbers")}({self.target}, {value}, "{code}")')

    def _flush(self) -> None:
        run, self._run = self._run, []
        if run:
            codes = "".join(code for code, _ in run)
            head = f"{self.target} += {self.module.pack(codes)}("
            self.out.bracketed(head, [expression for _, expression in run], ")")
