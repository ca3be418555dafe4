"""Decodes Protobuf values by the descriptors of a schema registry."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.message import DecodeError

from shareq.client.errors import ClientError
from shareq.ops.cli.records.registry import SchemaRegistry

_MOST_FILES: Final = 200
_DEEPEST: Final = 32
_GOOGLES: Final = re.compile(r"google/(protobuf|type)/([a-z_]{1,40})\.proto")


def reader(registry: SchemaRegistry, number: int) -> Callable[[bytes], Any]:
    """Return a function that reads what follows the schema's number in a value: a path to the message, its bytes.

    Raise ClientError if the descriptor, or one that it imports, is unavailable or invalid. The function raises
    ValueError, or DecodeError of Protobuf, for bytes that are not of the schema.
    """
    files = _Files(registry)
    main = files.add(registry.protobuf(number), f"schema {number}")
    pool = files.pool

    def read(data: bytes) -> Any:
        path, begin = message_path(data)
        name = _message_name(main, path)
        message = message_factory.GetMessageClass(pool.FindMessageTypeByName(name))()
        message.ParseFromString(data[begin:])
        return json_format.MessageToDict(message, preserving_proto_field_name=True, descriptor_pool=pool)

    return read


def message_path(data: bytes) -> tuple[list[int], int]:
    """Return the indexes that lead to a message in its file, from outer to inner, and the number of their bytes.

    They are written as a count and as many numbers, each a varint in zigzag form; a count of 0 stands for the first
    message alone. Raise ValueError for anything else.
    """
    count, at = _zigzag(data, 0)
    if not 0 <= count <= _DEEPEST:
        raise ValueError(f"{count} indexes of messages")
    path = []
    for _ in range(count):
        index, at = _zigzag(data, at)
        path.append(index)
    return path or [0], at


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift, byte in enumerate(data[at : at + 5]):
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at + shift + 1
    raise ValueError("no varint")


def _message_name(file: descriptor_pb2.FileDescriptorProto, path: list[int]) -> str:
    names = [file.package] if file.package else []
    kinds = file.message_type
    for index in path:
        if not 0 <= index < len(kinds):
            raise ValueError(f"no message {index}")
        names.append(kinds[index].name)
        kinds = kinds[index].nested_type
    return ".".join(names)


class _Files:
    """The descriptors of one schema, in their own pool, since two schemas may have files of the same name."""

    def __init__(self, registry: SchemaRegistry) -> None:
        self.pool: Final = descriptor_pool.DescriptorPool()
        self._registry = registry
        self._names: set[str] = set()

    def add(self, schema: Mapping[str, Any], name: str) -> descriptor_pb2.FileDescriptorProto:
        """Add a file after the files that it imports. Raise ClientError."""
        self._names.add(name)
        if len(self._names) > _MOST_FILES:
            raise ClientError(f"{name} of {self._registry.url} is one of more than {_MOST_FILES} files of a schema")
        try:
            found = descriptor_pb2.FileDescriptorProto.FromString(
                base64.b64decode(str(schema["schema"]), validate=True)
            )
        except (ValueError, DecodeError) as error:
            raise self._unreadable(name, f"it is no descriptor: {error}") from None
        found.name = name
        references = schema.get("references")
        known = {str(each.get("name")): each for each in references or () if isinstance(each, dict)}
        for imported in found.dependency:
            if imported not in self._names:
                self._import(imported, known.get(imported), name)
        try:
            self.pool.Add(found)
            self.pool.FindFileByName(name)
        except Exception as error:  # TypeError or KeyError, by the implementation of Protobuf
            raise self._unreadable(name, str(error)) from None
        return found

    def _import(self, name: str, reference: Mapping[str, Any] | None, importer: str) -> None:
        if reference is not None:
            self.add(self._registry.referred(reference), name)
            return
        google = _GOOGLES.fullmatch(name)
        try:
            if google is None:
                raise ImportError
            file = import_module(f"google.{google[1]}.{google[2]}_pb2").DESCRIPTOR
        except ImportError:
            raise self._unreadable(importer, f"it imports {name}, to which it has no reference") from None
        own = descriptor_pb2.FileDescriptorProto()
        file.CopyToProto(own)
        for each in own.dependency:
            if each not in self._names:
                self._import(each, None, name)
        self._names.add(name)
        self.pool.Add(own)

    def _unreadable(self, name: str, why: str) -> ClientError:
        return ClientError(f"{name} of {self._registry.url} cannot be read: {why}")
