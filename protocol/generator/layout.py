"""The layout of a struct on the wire in one version: the fields and their forms that the emitters write code for.

Two versions with equal layouts share one decoder and one encoder.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from shareq.protocol.generator.spec import FieldSpec, MessageSpec, SchemaError, StructSpec


@dataclass(frozen=True)
class FieldLayout:
    """A field in one version. It is either absent, tagged, or positional (neither of the others)."""

    spec: FieldSpec
    absent: bool
    tagged: bool
    nullable: bool
    compact: bool  # uvarint n + 1 as the length, not int16 or int32
    struct: StructLayout | None  # the element's, for structs and arrays of structs

    @property
    def positional(self) -> bool:
        return not (self.absent or self.tagged)

    @cached_property
    def min_size(self) -> int:
        """The fewest bytes that a positional field takes."""
        of = self.spec.type
        if of.fixed_size is not None:
            return of.fixed_size
        if of.struct and not of.array:
            assert self.struct is not None
            return 1 if self.nullable else self.struct.min_size
        if self.compact:
            return 1
        return 2 if of.element == "string" and not of.array else 4


@dataclass(frozen=True)
class StructLayout:
    """A struct in one version. `version`, the lowest with this layout, names it; equality ignores it."""

    spec: StructSpec
    flexible: bool
    fields: tuple[FieldLayout, ...]
    version: int = field(compare=False)

    @cached_property
    def min_size(self) -> int:
        """The fewest bytes that the struct takes."""
        return sum(item.min_size for item in self.fields if item.positional) + self.flexible

    def tagged(self) -> list[FieldLayout]:
        """Return the tagged fields of this version, by tag."""
        return sorted((item for item in self.fields if item.tagged), key=lambda item: item.spec.tag or 0)

    def foreign_tags(self) -> list[int]:
        """Return the tags of fields that the struct has in other versions only."""
        return sorted(item.spec.tag for item in self.fields if item.spec.tag is not None and not item.tagged)


class Layouts:
    """All layouts of one message."""

    def __init__(self, message: MessageSpec) -> None:
        self.message = message
        self.ever_flexible = any(version in message.flexible_versions for version in message.valid_versions)
        self._interned: dict[StructLayout, StructLayout] = {}
        self.by_version = {version: self._struct(message.root, version) for version in message.valid_versions}
        self.used_fields = self._used_fields()
        self._check_elements()

    def _check_elements(self) -> None:
        """Check arrays. Raises SchemaError if their elements take no bytes, because their count would be unbounded."""
        for layout in self.reachable():
            for item in layout.fields:
                if item.spec.type.array and item.struct is not None and not item.struct.min_size:
                    where = f"{self.message.file}: {layout.spec.name}.{item.spec.name}"
                    element, version = item.spec.type.element, item.struct.version
                    raise SchemaError(f"{where}: an array of {element}, which takes no bytes in version {version}")

    def _struct(self, struct: StructSpec, version: int) -> StructLayout:
        flexible = version in self.message.flexible_versions
        fields = tuple(self._field(item, version, flexible) for item in struct.fields)
        layout = StructLayout(struct, flexible, fields, version)
        return self._interned.setdefault(layout, layout)

    def _field(self, spec: FieldSpec, version: int, flexible: bool) -> FieldLayout:
        absent = version not in spec.versions
        compact = flexible if spec.flexible_versions is None else flexible and version in spec.flexible_versions
        struct = self._struct(self.message.structs[spec.type.element], version) if spec.type.struct else None
        return FieldLayout(
            spec=spec,
            absent=absent,
            tagged=not absent and version in spec.tagged_versions,
            nullable=not absent and version in spec.nullable_versions,
            compact=not absent and compact,
            struct=None if absent else struct,
        )

    def _used_fields(self) -> dict[str, list[FieldSpec]]:
        present: set[FieldSpec] = set()
        for layout in self.reachable():
            present.update(item.spec for item in layout.fields if not item.absent)
        structs = (self.message.root, *self.message.structs.values())
        return {struct.name: [spec for spec in struct.fields if spec in present] for struct in structs}

    def reachable(self) -> Iterator[StructLayout]:
        """Yield all layouts that some version uses, each once, members before the structs that have them."""
        seen: set[int] = set()
        for layout in self.by_version.values():
            yield from self._walk(layout, seen)

    def _walk(self, layout: StructLayout, seen: set[int]) -> Iterator[StructLayout]:
        if id(layout) in seen:
            return
        seen.add(id(layout))
        for item in layout.fields:
            if item.struct is not None:
                yield from self._walk(item.struct, seen)
        yield layout

    def versions_of(self, layout: StructLayout) -> list[int]:
        """Return the message versions that use a layout."""
        return [version for version, root in self.by_version.items() if self._uses(root, layout)]

    def _uses(self, root: StructLayout, layout: StructLayout) -> bool:
        return root is layout or any(
            item.struct is not None and self._uses(item.struct, layout) for item in root.fields
        )

    def nullable_ever(self, spec: FieldSpec) -> bool:
        """Return True if a field may be null in some valid version."""
        if spec.default_is_null and spec.type.may_be_null:
            return True
        return any(item.spec is spec and item.nullable for layout in self.reachable() for item in layout.fields)

    def structs_in_use(self) -> list[StructSpec]:
        """Return the nested structs that some valid version has, in order of declaration."""
        used = {layout.spec.name for layout in self.reachable()}
        return [struct for name, struct in self.message.structs.items() if name in used]
