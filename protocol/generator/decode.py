"""The generation of decoding functions from layouts.

A function reads one struct, or a whole array of them in one loop. Adjacent fixed-width fields become one `unpack`; the
first byte behind them (a compact length, the number of tags) or a classic length joins in, since at least that much
must exist. `pos` only moves forward, so a value that runs past the end is noticed when the next field is read, or in
`Message.decode`, and slices never take more than the input.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from shareq.protocol.generator.emit import CodeBuffer
from shareq.protocol.generator.layout import FieldLayout, StructLayout
from shareq.protocol.generator.model import FORMAT_CODES, ROWS_READ, MessageCodec
from shareq.protocol.generator.names import snake

_OUR_LOCALS: Final = {
    *("data", "pos", "count", "n", "end", "items", "item", "elements", "view"),
    *("tags", "tag", "after", "unknown", "unknown_tags"),
    *("int", "str", "bytes", "list", "tuple", "len", "range", "memoryview", "bytearray"),
}

_A_FEW: Final = 3  # array elements; up to here setting up an iterator costs more than it saves


def local_name(field: FieldLayout) -> str:
    """Return the name of the local variable for a field."""
    name = snake(field.spec.name)
    return f"{name}_" if name in _OUR_LOCALS else name


def _is_compact_int8s(field: FieldLayout) -> bool:
    of = field.spec.type
    return of.array and of.element == "int8" and field.compact and not field.nullable


class _Regular(NamedTuple):
    """The elements of the usual size: the fields that are read from each, as (struct code, local variable), the
    constructor call, and the values that are equal in all.
    """

    run: list[tuple[str, str]]
    arguments: list[str]
    usual: dict[str, int]

    @property
    def codes(self) -> str:
        return "".join(code for code, _ in self.run)

    @property
    def size(self) -> int:
        return struct.calcsize(">" + self.codes)


class DecodeEmitter:
    """The emitter of one message's decoding functions."""

    def __init__(self, out: CodeBuffer, codec: MessageCodec) -> None:
        self.out = out
        self.codec = codec
        self.module = codec.module
        self._run: list[tuple[str, str]] = []  # (struct code, local variable) read in one go

    def emit(self, layout: StructLayout, *, array: bool, comment: str) -> None:
        """Emit the function for one struct or an array of it, and the function for its tagged fields."""
        cls = self.codec.class_of(layout.spec.name)
        if array and self._has_rows(layout):
            self._rows_maker(layout, cls)
        self.out.blank()
        name = self.codec.function("read", layout, "_array" if array else "")
        parameters = ["data: bytes", "pos: int", "count: int"] if array else ["data: bytes", "pos: int"]
        result = f"{self.codec.array_of(layout.spec.name)}[{cls}]" if array else cls
        self.out.bracketed(f"def {name}(", parameters, f") -> tuple[{result}, int]:")
        with self.out.indented():
            self.out.comment(comment)
            if any(field.positional and field.spec.type.element == "records" for field in layout.fields):
                self.out.line("view = memoryview(data)")
            if array:
                self._array_body(layout, cls)
            else:
                self._fields(layout)
                self._finish(layout, cls, "return {}, pos")

    def _array_body(self, layout: StructLayout, cls: str) -> None:
        size = max(layout.min_size, 1)
        product = "count" if size == 1 else f"count * {size}"
        with self.out.block(f"if not 0 <= {product} <= len(data) - pos:"):
            self.out.line(f"raise {self.module.use('bad_count')}(count)")
        self.out.line(f"items: list[{cls}] = []")
        if self._can_be_regular(layout):
            self._regular_elements(layout, cls)
        with self.out.block("for _ in range(count):"):
            self._fields(layout)
            self._finish(layout, cls, "items.append({})")
        self.out.line("return items, pos")

    def _can_be_regular(self, layout: StructLayout) -> bool:
        """Return True if all elements usually have one size: fixed-width fields, lists of one int8, no tags."""
        positional = [field for field in layout.fields if field.positional]
        return bool(positional) and all(
            field.spec.type.fixed_size is not None or _is_compact_int8s(field) for field in positional
        )

    def _has_rows(self, layout: StructLayout) -> bool:
        """Return True if an array may be kept as bytes when all its elements have the usual size."""
        return layout.spec.name in ROWS_READ and layout.flexible and self._can_be_regular(layout)

    def _regular_elements(self, layout: StructLayout, cls: str) -> None:
        """Emit a loop that reads elements of the usual size in one pass; from the first other element on, the general
        loop reads.

        For a few elements the general loop is quicker.
        """
        out = self.out
        regular = self._regular(layout)
        size = regular.size
        values = f"data[pos : pos + count * {size}]"
        fits = f" and count * {size} <= len(data) - pos" if layout.flexible else ""
        with out.block(f"if count > {_A_FEW}{fits}:"):
            if self._has_rows(layout):
                self._rows(layout, regular)
                values = "rows"
            out.line(f"elements = {self.module.iterate(regular.codes)}({values})")
            names = [name for _, name in regular.run]
            unpacked = f"({names[0]},)" if len(names) == 1 else ", ".join(names)
            if out.fits(f"for {unpacked} in elements:"):
                out.line(f"for {unpacked} in elements:")
            else:
                out.bracketed("for (", names, ") in elements:", display=True)
            with out.indented():
                unusual = [f"{name} != {value}" if value else name for name, value in regular.usual.items()]
                if unusual:
                    with out.block(f"if {' or '.join(unusual)}:"):
                        out.line("break")
                self._append(cls, regular.arguments)
            out.line(f"pos += len(items) * {size}")
            out.line("count -= len(items)")

    def _regular(self, layout: StructLayout) -> _Regular:
        run: list[tuple[str, str]] = []
        arguments: list[str] = []
        usual: dict[str, int] = {}
        for field in layout.fields:
            local = local_name(field)
            if not field.positional:
                if field.spec in self.codec.fields(layout.spec):
                    arguments.append(self.codec.fresh_default(field.spec))
            elif field.spec.type.array:
                run += [("B", f"{local}_n"), ("b", local)]
                arguments.append(f"[{local}]")
                usual[f"{local}_n"] = 2
            else:
                run.append((FORMAT_CODES[field.spec.type.element], local))
                arguments.append(local)
        if layout.flexible:
            run.append(("B", "n"))
            usual["n"] = 0
        return _Regular(run, arguments, usual)

    def _rows_maker(self, layout: StructLayout, cls: str) -> None:
        """Emit the function that makes the elements of an array that was kept as bytes."""
        out, regular = self.out, self._regular(layout)
        out.blank()
        with out.block(f"def {self.codec.function('make', layout, '_array')}(data: bytes) -> list[{cls}]:"):
            values = f"{self.module.iterate(regular.codes)}(data)"
            names = ["_" if name in regular.usual else name for _, name in regular.run]
            out.line("return [")
            with out.indented():
                out.line(f"{cls}({', '.join(regular.arguments)})")
                out.line(f"for {', '.join(names)} in {values}")
            out.line("]")

    def _rows(self, layout: StructLayout, regular: _Regular) -> None:
        """Emit the return of an array as bytes, if all its elements have the usual size."""
        out, size = self.out, regular.size
        out.line(f"rows = data[pos : pos + count * {size}]")
        conditions: list[str] = []
        codes = ""
        for code, name in regular.run:
            if name in regular.usual:
                value = bytes((regular.usual[name],))
                conditions.append(f'rows[{struct.calcsize(">" + codes)}::{size}] == b"\\{value[0]}" * count')
            codes += "x" if name in regular.usual else code
        with out.block(f"if {' and '.join(conditions)}:"):
            make = self.codec.function("make", layout, "_array")
            out.line(f'return {self.module.use_rows("Rows")}(rows, count, "{codes}", {make}), pos + count * {size}')

    def _append(self, cls: str, arguments: list[str]) -> None:
        expression = f"items.append({cls}({', '.join(arguments)}))"
        if self.out.fits(expression):
            self.out.line(expression)
        else:
            self.out.bracketed(f"item = {cls}(", arguments, ")")
            self.out.line("items.append(item)")

    def _fields(self, layout: StructLayout) -> None:
        for field in layout.fields:
            if field.positional:
                self._positional(field)
        if layout.flexible:
            self._read_first("B")
        else:
            self._flush()

    def _finish(self, layout: StructLayout, cls: str, use: str) -> None:
        """Emit the construction of the object, with its tags if the version has them; hand the expression to `use`."""
        out = self.out
        known = layout.flexible and bool(layout.tagged() or layout.foreign_tags())
        arguments = [
            local_name(field) if field.positional else self.codec.fresh_default(field.spec)
            for field in layout.fields
            if field.spec in self.codec.fields(layout.spec)
        ]
        if known:
            out.bracketed(f"item = {cls}(", arguments, ")")
            with out.block("if n:"):
                out.line(f"pos = {self.codec.function('read', layout, '_tags')}(item, data, pos, n)")
            out.line(use.format("item"))
            return
        if layout.flexible:
            out.line(f"unknown_tags: {self.module.use('Tags')} = ()")
            with out.block("if n:"):
                out.line(f"unknown_tags, pos = {self.module.use('read_tags')}(data, pos, n)")
            arguments.append("unknown_tags")
        expression = use.format(f"{cls}({', '.join(arguments)})")
        if out.fits(expression):
            out.line(expression)
        else:
            out.bracketed(f"item = {cls}(", arguments, ")")
            out.line(use.format("item"))

    def emit_tags(self, layout: StructLayout) -> None:
        """Emit the function that reads a tag buffer into an object with default values."""
        out = self.out
        cls = self.codec.class_of(layout.spec.name)
        name = self.codec.function("read", layout, "_tags")
        out.blank()
        out.bracketed(f"def {name}(", [f"item: {cls}", "data: bytes", "pos: int", "first: int"], ") -> int:")
        with out.indented():
            out.line(f"tags, after = {self.module.use('read_tags')}(data, pos, first)")
            out.line("unknown: list[tuple[int, bytes]] = []")
            with out.block("for tag, data in tags:"):
                self._tag_branches(layout, cls)
            out.line("item.unknown_tags = tuple(unknown)")
            out.line("return after")

    def _tag_branches(self, layout: StructLayout, cls: str) -> None:
        out = self.out
        tagged = layout.tagged()
        if tagged:
            out.line("pos = 0")
        word = "if"
        for field in tagged:
            with out.block(f"{word} tag == {field.spec.tag}:"):
                self._tagged(field)
            word = "elif"
        foreign = layout.foreign_tags()
        if foreign:
            condition = f"tag == {foreign[0]}" if len(foreign) == 1 else f"tag in ({', '.join(map(str, foreign))})"
            with out.block(f"{word} {condition}:"):
                out.line(f'raise {self.module.use("bad_tag")}("{cls}", tag)')
        with out.block("else:"):
            out.line("unknown.append((tag, data))")
            if tagged:
                out.line("continue")
        if tagged:
            with out.block("if pos != len(data):"):
                out.line(f'raise {self.module.use("bad_tag_size")}("{cls}", tag, len(data), pos)')

    def _tagged(self, field: FieldLayout) -> None:
        local = local_name(field)
        if field.spec.type.struct and not field.spec.type.array and field.nullable:
            self.out.line(f"{local}: {self.codec.python_type(field.spec)} = None")
            self.out.line(f"n, pos = {self.module.use('read_uvarint')}(data, pos)")
            with self.out.block("if n:"):
                self._struct(field, local)
        else:
            self._positional(field)
            self._flush()
        self.out.line(f"item.{snake(field.spec.name)} = {local}")

    # -- one field

    def _positional(self, field: FieldLayout) -> None:
        of = field.spec.type
        local = local_name(field)
        if of.fixed_size is not None:
            self._run.append((FORMAT_CODES[of.element], local))
        elif of.struct and not of.array:
            self._single_struct(field, local)
        elif field.compact:
            self._compact(field, local)
        else:
            self._classic(field, local)

    def _single_struct(self, field: FieldLayout, local: str) -> None:
        if not field.nullable:
            self._flush()
            self._struct(field, local)
            return
        self._read_first("b")
        self.out.line(f"{local}: {self.codec.python_type(field.spec)} = None")
        with self.out.block("if n >= 0:"):
            self._struct(field, local)

    def _struct(self, field: FieldLayout, local: str) -> None:
        assert field.struct is not None
        self.out.line(f"{local}, pos = {self.codec.function('read', field.struct)}(data, pos)")

    def _compact(self, field: FieldLayout, local: str) -> None:
        self._read_first("B")
        out = self.out
        if field.nullable:
            out.line(f"{local}: {self.codec.python_type(field.spec)} = None")
            with out.block("if n:"):
                self._compact_value(field, local, "n > 127")
        else:
            self._compact_value(field, local, "not 0 < n < 128")

    def _compact_value(self, field: FieldLayout, local: str, rare: str) -> None:
        of = field.spec.type
        if of.array and of.element == "int8":
            self._compact_int8s(local)
            return
        if of.array:  # their readers refuse the count -1
            reader, rare = "read_length", "n > 127"
        elif of.element == "string":
            reader = "read_string_length"
        else:
            reader = "read_bytes_length"
        with self.out.block(f"if {rare}:"):
            self.out.line(f"n, pos = {self.module.use(reader)}(data, pos)")
        self._value(field, local, "n - 1")

    def _compact_int8s(self, local: str) -> None:
        """Emit the reading of AcknowledgeTypes. Nearly every batch has a list of one small number, so this case has
        code of its own.
        """
        out = self.out
        with out.block("if n == 2 and data[pos] < 128:"):
            out.line(f"{local} = [data[pos]]")
            out.line("pos += 1")
        with out.block("else:"):
            out.line(f"{local}, pos = {self.module.use('read_compact_int8s')}(data, pos, n)")

    def _classic(self, field: FieldLayout, local: str) -> None:
        out = self.out
        of = field.spec.type
        self._read_first("h" if of.element == "string" and not of.array else "i")
        checks_itself = of.array
        if not field.nullable:
            if not checks_itself:
                with out.block("if n < 0:"):
                    out.line(f"raise {self.module.use('bad_length')}(n)")
            self._value(field, local, "n")
            return
        out.line(f"{local}: {self.codec.python_type(field.spec)} = None")
        with out.block("if n != -1:" if checks_itself else "if n >= 0:"):
            self._value(field, local, "n")
        if not checks_itself:
            with out.block("elif n != -1:"):
                out.line(f"raise {self.module.use('bad_length')}(n)")

    def _value(self, field: FieldLayout, local: str, count: str) -> None:
        """Emit the reading of a value after its length; `count` is the expression for the length."""
        of = field.spec.type
        if of.array:
            self.out.line(f"{local}, pos = {self._array_reader(field, count)}")
            return
        slices = {
            "string": "data[pos:end].decode()",
            "bytes": "data[pos:end]",
            "records": "view[pos:end]",
        }
        self.out.line(f"end = pos + {count}")
        self.out.line(f"{local} = {slices[of.element]}")
        self.out.line("pos = end")

    def _array_reader(self, field: FieldLayout, count: str) -> str:
        of = field.spec.type
        if of.struct:
            assert field.struct is not None
            return f"{self.codec.function('read', field.struct, '_array')}(data, pos, {count})"
        if of.element == "string":
            name = "read_compact_strings" if field.compact else "read_strings"
        elif of.element == "bytes":
            name = "read_compact_byte_strings" if field.compact else "read_byte_strings"
        elif of.element == "uuid":
            name = "read_uuids"
        else:
            return f'{self.module.use("read_numbers")}(data, pos, {count}, "{FORMAT_CODES[of.element]}")'
        return f"{self.module.use(name)}(data, pos, {count})"

    # -- fixed-width runs

    def _read_first(self, code: str) -> None:
        """End a run of fields with a number that the next fields depend on, in the local variable `n`."""
        self._run.append((code, "n"))
        self._flush()

    def _flush(self) -> None:
        run, self._run = self._run, []
        if not run:
            return
        codes = "".join(code for code, _ in run)
        locals_ = [name for _, name in run]
        if codes == "B":
            self.out.line(f"{locals_[0]} = data[pos]")
        elif codes == "?":
            self.out.line(f"{locals_[0]} = data[pos] != 0")
        else:
            target = f"({locals_[0]},)" if len(run) == 1 else ", ".join(locals_)
            tail = f" = {self.module.unpack(codes)}(data, pos)"
            if len(target) + len(tail) + 8 > 120:
                self.out.bracketed("(", locals_, ")" + tail, one_per_line=True)
            else:
                self.out.line(target + tail)
        self.out.line(f"pos += {struct.calcsize('>' + codes)}")
