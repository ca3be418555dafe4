"""Valid requests of every RPC and version, made from the schemas and filled with the broker's objects.

A request has a scene: values by field name that belong together (a member, its group, its epoch). Elements of arrays
have scenes of their own (a topic, its id, its partitions). A field without a value in the scene has a likely one by its
name, otherwise its default.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, Final

from shareq.broker.dispatch.table import HANDLERS
from shareq.broker.handlers.not_offered import REFUSALS
from shareq.protocol.api_keys import ApiKey, codec
from shareq.protocol.generator.layout import FieldLayout, StructLayout
from shareq.protocol.generator.names import snake
from shareq.protocol.primitives import ZERO_UUID, Message, Structure
from tests.fuzz.facts import Facts
from tests.fuzz.pieces import fields_of
from tests.fuzz.scenes import table as scenes
from tests.support.kafka.random_messages import KnownMessage, known_messages

Scene = dict[str, Any]
"""The values of a request by field name, `Any` because fields have values of all types.

A callable makes its value from the randomness.
"""


class ValidRequests:
    """A maker of random valid requests from `facts`. The same facts and seed make the same requests."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self._rng: Random = facts.rng

    def request(self, api: ApiKey, version: int, given: Mapping[str, Any] = {}) -> Message:
        """Return a request; `given` overrides its scene. They are `Any`, because fields have values of all types."""
        known = known_request(api)
        make = scenes.REQUESTS.get(api)
        scene: Scene = {**(make(self.facts, version) if make is not None else {}), **given}
        made = self._struct(known, known.codec.layouts.by_version[version], scene)
        assert isinstance(made, Message)
        return made

    def _struct(self, known: KnownMessage, layout: StructLayout, scene: Scene) -> Structure:
        made = known.class_of(layout.spec.name)()
        for field in fields_of(layout):
            if field.tagged and field.spec.name not in scene:
                continue
            setattr(made, snake(field.spec.name), self._field(known, field, scene))
        return made

    def _field(self, known: KnownMessage, field: FieldLayout, scene: Scene) -> object:
        name, of = field.spec.name, field.spec.type
        if field.struct is not None:
            if name in scene and scene[name] is None and field.nullable:
                return None
            return self._structs(known, field, field.struct, scene)
        if name in scene:
            value = scene[name]
            value = value(self._rng) if callable(value) else value
        elif field.nullable and self._rng.random() < 0.5:
            return None
        else:
            likely = scenes.FIELDS.get(name)
            value = likely(self.facts) if likely is not None else _plain(self._rng, field)
        if value is None:
            return None if field.nullable else _plain(self._rng, field)
        if isinstance(value, list) and not of.array:
            return _plain(self._rng, field)
        return [value] if of.array and not isinstance(value, list) else value

    def _structs(self, known: KnownMessage, field: FieldLayout, layout: StructLayout, scene: Scene) -> object:
        name = field.spec.name
        if not field.spec.type.array:
            if field.nullable and name not in scene and self._rng.random() < 0.7:
                return None
            return self._struct(known, layout, {**scene, **scene.get(name, {})})
        inner = scene.get(name)
        if inner is None:
            if field.nullable and self._rng.random() < 0.3:
                return None
            inner = scenes.elements(self.facts, layout, scene)
        elif callable(inner):
            inner = inner(self._rng)
        elif isinstance(inner, scenes.Partitions):
            inner = [dict.fromkeys(scenes.PARTITION_FIELDS, index) for index in inner]
        return [self._struct(known, layout, {**scene, **each}) for each in inner]


def _plain(rng: Random, field: FieldLayout) -> object:
    spec = field.spec
    if spec.type.array:
        return []
    match spec.type.element:
        case "bool":
            return rng.random() < 0.5
        case "string":
            return spec.default or ""
        case "bytes" | "records":
            return b""
        case "uuid":
            return ZERO_UUID
        case "float64":
            return 0.0
        case _:
            return spec.default if spec.default else rng.choice((0, 0, 1))


def known_request(api: ApiKey) -> KnownMessage:
    return known_messages()[codec(api).request_class.__name__]


_RARELY: Final = 0.3
_STATEFUL: Final = 3.0


def weights() -> dict[ApiKey, float]:
    """Return the relative frequency of each RPC: higher for those with deep state."""
    return {api: _RARELY if api in REFUSALS else _STATEFUL if api in scenes.STATEFUL else 1.0 for api in HANDLERS}
