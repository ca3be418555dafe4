"""One generated module while it is being written: its names, imports and struct formats, shared by all emitters."""

from __future__ import annotations

from typing import Final

from shareq.protocol.generator.emit import literal
from shareq.protocol.generator.layout import Layouts, StructLayout
from shareq.protocol.generator.names import snake
from shareq.protocol.generator.spec import FieldSpec, MessageSpec, StructSpec

FORMAT_CODES: Final = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint16": "H",
    "uint32": "I",
    "float64": "d",
    "uuid": "16s",
}
ROWS_WRITTEN: Final = frozenset(("AcquiredRecords", "StateBatch"))
"""The structs of fixed-width fields of which a broker writes dozens in an answer: tuples may stand for them."""

ROWS_READ: Final = frozenset(("AcknowledgementBatch",))
"""The structs of which requests have dozens, nearly always of one width: they are made only when they are read."""

_PYTHON_TYPES: Final = {
    "bool": "bool",
    "float64": "float",
    "uuid": "bytes",
    "string": "str",
    "bytes": "bytes",
    "records": "bytes | memoryview",
}


class Module:
    """The names that a module's text refers to, collected while it is emitted."""

    def __init__(self, messages: list[MessageSpec]) -> None:
        self.messages = messages
        self.primitives: set[str] = set()  # names imported from shareq.protocol.primitives
        self.rows: set[str] = set()  # and from shareq.protocol.rows
        self.has_sequences = False
        self.packers: set[str] = set()  # struct formats, without the byte order
        self.unpackers: set[str] = set()
        self.iterators: set[str] = set()
        self.default_checks: dict[str, tuple[MessageCodec, StructSpec]] = {}
        self.codecs = [MessageCodec(self, message) for message in messages]
        self._name_structs()

    def _name_structs(self) -> None:
        """Set the class names of structs: Kafka's names, with the message's name in front if two messages of the module
        use one.
        """
        owners: dict[str, int] = {message.name: 2 for message in self.messages}
        for codec in self.codecs:
            for struct in codec.layouts.structs_in_use():
                owners[struct.name] = owners.get(struct.name, 0) + 1
        for codec in self.codecs:
            for struct in codec.layouts.structs_in_use():
                clash = owners[struct.name] > 1
                codec.class_names[struct.name] = codec.message.name + struct.name if clash else struct.name

    def use(self, name: str) -> str:
        """Import a name of shareq.protocol.primitives, and return it."""
        self.primitives.add(name)
        return name

    def use_rows(self, name: str) -> str:
        """Import a name of shareq.protocol.rows, and return it."""
        self.rows.add(name)
        return name

    def pack(self, codes: str) -> str:
        """Return the name of the packer for a format."""
        self.packers.add(codes)
        return f"_pack_{format_name(codes)}"

    def unpack(self, codes: str) -> str:
        """Return the name of the unpacker for a format."""
        self.unpackers.add(codes)
        return f"_unpack_{format_name(codes)}"

    def iterate(self, codes: str) -> str:
        """Return the name of the unpacker for repeated values of a format."""
        self.iterators.add(codes)
        return f"_iterate_{format_name(codes)}"

    def struct_lines(self) -> list[str]:
        """Return the definitions of all packers and unpackers."""
        users = ((self.iterators, "iterate", "iter_unpack"), (self.unpackers, "unpack", "unpack_from"))
        return [
            f'_{verb}_{format_name(codes)} = Struct(">{codes}").{method}'
            for used, verb, method in (*users, (self.packers, "pack", "pack"))
            for codes in sorted(used)
        ]


class MessageCodec:
    """A message of a module: its layouts, class names and types."""

    def __init__(self, module: Module, message: MessageSpec) -> None:
        self.module = module
        self.message = message
        self.layouts = Layouts(message)
        self.class_names = {message.name: message.name}

    def class_of(self, struct: str) -> str:
        return self.class_names[struct]

    def function(self, verb: str, layout: StructLayout, form: str = "") -> str:
        """Return a function's name, such as `_read_fetch_topic_12`; the number is the lowest version with the
        layout.
        """
        return f"_{verb}_{snake(self.class_of(layout.spec.name))}{form}_{layout.version}"

    def fields(self, struct: StructSpec) -> list[FieldSpec]:
        """Return the fields of a struct that exist in some valid version."""
        return self.layouts.used_fields[struct.name]

    def nullable(self, field: FieldSpec) -> bool:
        return self.layouts.nullable_ever(field)

    def python_type(self, field: FieldSpec) -> str:
        """Return the annotation of a field."""
        of = field.type
        name = self.class_of(of.element) if of.struct else _PYTHON_TYPES.get(of.element, "int")
        if of.array:
            name = f"{self.array_of(of.element)}[{name}]"
        return f"{name} | None" if self.nullable(field) else name

    def array_of(self, element: str) -> str:
        """Return the type of an array of these elements."""
        if element in ROWS_READ:
            self.module.has_sequences = True
            return "Sequence"
        return "list"

    def fresh_default(self, field: FieldSpec) -> str:
        """Return an expression for the default, which makes a new object if it is mutable."""
        of = field.type
        if field.default_is_null:
            return "None"
        if of.array:
            return "[]"
        if of.struct:
            return f"{self.class_of(of.element)}()"
        return self.literal(field)

    def parameter(self, field: FieldSpec) -> str:
        """Return the field as a parameter of `__init__`.

        If the default is a new struct, the annotation includes the placeholder for it.
        """
        name, annotation = snake(field.name), self.python_type(field)
        if field.default_is_null or not (field.type.array or field.type.struct):
            return f"{name}: {annotation} = {self.literal(field)}"
        if field.type.array:
            return f"{name}: {annotation} = {self.module.use('EMPTY')}"
        if self.nullable(field):
            return f"{name}: {annotation} | {self.module.use('Unset')} = {self.module.use('UNSET')}"
        return f"{name}: {annotation} | None = None"

    def initial(self, field: FieldSpec) -> str:
        """Return the expression that `__init__` assigns to a field."""
        name = snake(field.name)
        if field.default_is_null or not (field.type.array or field.type.struct):
            return name
        if field.type.array:
            return f"[] if {name} is EMPTY else {name}"
        if self.nullable(field):
            return f"{self.fresh_default(field)} if isinstance({name}, Unset) else {name}"
        return f"{self.fresh_default(field)} if {name} is None else {name}"

    def literal(self, field: FieldSpec) -> str:
        text = literal(field.default)
        return self.module.use(text) if text == "ZERO_UUID" else text

    def is_default(self, field: FieldSpec, value: str) -> str:
        """Return a condition that is true if `value` is the field's default."""
        if field.default_is_null:
            return f"{value} is None"
        if field.type.array:
            return f"{value} == []" if self.nullable(field) else f"not {value}"
        if field.type.struct:
            check = f"{self._default_check(field.type.element)}({value})"
            return f"{value} is not None and {check}" if self.nullable(field) else check
        if isinstance(field.default, bool):
            return value if field.default else f"not {value}"
        return f"{value} == {self.literal(field)}"

    def is_set(self, field: FieldSpec, value: str) -> str:
        """Return a condition that is true if `value` is not the field's default."""
        if field.default_is_null:
            return f"{value} is not None"
        if field.type.array:
            return f"{value} != []" if self.nullable(field) else value
        if field.type.struct:
            check = f"not {self._default_check(field.type.element)}({value})"
            return f"{value} is None or {check}" if self.nullable(field) else check
        if isinstance(field.default, bool):
            return f"not {value}" if field.default else value
        return f"{value} != {self.literal(field)}"

    def _default_check(self, struct: str) -> str:
        name = f"_is_default_{snake(self.class_of(struct))}"
        if name not in self.module.default_checks:
            spec = self.message.structs[struct]
            self.module.default_checks[name] = (self, spec)
            for field in self.fields(spec):  # the structs inside need theirs too
                self.is_default(field, "")
        return name


def format_name(codes: str) -> str:
    """Return a struct format as a part of a name: `iq16sB` becomes `iquB`."""
    return codes.replace("16s", "u").replace("?", "t")
