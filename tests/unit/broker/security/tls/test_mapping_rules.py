"""ssl.principal.mapping.rules: the documented grammar, compared with a model; and refused rules.

`tests/interop/test_tls_names.py` compares them with Apache Kafka's own class.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shareq.broker.security.tls.mapping_rules import MappingRules, NoMatchingRule

KEYS = ("CN", "OU", "O", "C")
VALUE = st.text("abcXYZ1 /", min_size=1, max_size=5)


@dataclass(frozen=True)
class Part:
    """A part of a pattern: `KEY=` and a group, any value, or a certain one."""

    key: str
    kind: str
    value: str

    def pattern(self) -> str:
        of = {"group": "([^,]*)", "any": "[^,]*", "value": re.escape(self.value).replace("/", "\\/")}
        return f"{self.key}={of[self.kind]}"


@dataclass(frozen=True)
class Rule:
    """A rule; DEFAULT if `parts` is None. `pieces`: texts, and numbers of groups."""

    parts: tuple[Part, ...] | None
    pieces: tuple[str | int, ...]
    flag: str

    def text(self) -> str:
        if self.parts is None:
            return "DEFAULT"
        replacement = "".join(
            f"${piece}" if isinstance(piece, int) else "".join(f"\\{one}" if one in "\\/$" else one for one in piece)
            for piece in self.pieces
        )
        return f"RULE:^{','.join(part.pattern() for part in self.parts)}$/{replacement}/{self.flag}"

    def apply(self, name: tuple[tuple[str, str], ...]) -> str | None:
        whole = ",".join(f"{key}={value}" for key, value in name)
        if self.parts is None:
            return whole
        if [part.key for part in self.parts] != [key for key, _ in name]:
            return None
        pairs = list(zip(self.parts, name, strict=True))
        if any(part.kind == "value" and part.value != value for part, (_, value) in pairs):
            return None
        groups = [whole, *(value for part, (_, value) in pairs if part.kind == "group")]
        result = "".join(groups[piece] if isinstance(piece, int) else piece for piece in self.pieces)
        return {"": result, "L": result.lower(), "U": result.upper()}[self.flag]


NAMES = st.lists(st.tuples(st.sampled_from(KEYS), VALUE), min_size=1, max_size=3).map(tuple)


@st.composite
def rules(draw: st.DrawFn, name: tuple[tuple[str, str], ...]) -> Rule:
    if draw(st.integers(0, 5)) == 0:
        return Rule(None, (), "")
    kind = st.sampled_from(("group", "any", "value"))
    value = st.sampled_from([value for _, value in name]) | VALUE
    keys = draw(st.just([key for key, _ in name]) | st.lists(st.sampled_from(KEYS), min_size=1, max_size=3))
    parts = tuple(Part(key, draw(kind), draw(value)) for key in keys)
    groups = sum(part.kind == "group" for part in parts)
    # A digit after a group would be read as part of its number.
    pieces = draw(st.lists(st.text("ab@\\/$ .", min_size=1, max_size=3) | st.integers(0, groups), max_size=4))
    return Rule(parts, tuple(pieces), draw(st.sampled_from(("", "L", "U"))))


@given(st.data())
def test_the_first_rule_that_matches_gives_the_user(data: st.DataObject) -> None:
    name = data.draw(NAMES)
    several = data.draw(st.lists(rules(name), min_size=1, max_size=4))
    text = several[0].text()
    for rule in several[1:]:
        text += data.draw(st.sampled_from((",", " , ", ",\n"))) + rule.text()
    expected = next((user for rule in several if (user := rule.apply(name)) is not None), None)
    whole = ",".join(f"{key}={value}" for key, value in name)
    parsed = MappingRules(text)
    if expected is None:
        with pytest.raises(NoMatchingRule):
            parsed.user(whole)
    else:
        assert parsed.user(whole) == expected


@pytest.mark.parametrize(
    ("rules", "name", "user"),
    [
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/", "CN=orders,OU=ServiceUsers,O=Example", "orders"),
        ("RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?)$/$1@$2/L,DEFAULT", "CN=Bob,OU=Dev,O=X,L=Y", "bob@dev"),
        ("RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U", "OU=x,cn=carol", "CAROL"),
        ("RULE:^CN=(.*?),.*$/$1@$4/", "CN=a,O=b", "a@$4"),
        ("RULE:.*/x/", "CN=a", "xx"),  # as Java's replaceAll: once for all of it, once for the end
        ("DEFAULT", "CN=a,O=b", "CN=a,O=b"),
        (",DEFAULT,", "CN=a", "CN=a"),
    ],
)
def test_examples_of_the_documentation(rules: str, name: str, user: str) -> None:
    assert MappingRules(rules).user(name) == user


@pytest.mark.parametrize(
    ("rules", "what"),
    [
        ("", "must have a rule"),
        (" , ", "must have a rule"),
        ("DEFAULTS", "too much after a rule"),
        ("RULE:^CN=(.*)$/$1", "is not RULE:PATTERN/REPLACEMENT/"),
        ("RULE:^CN=(.*)$/$1/X", "too much after a rule"),
        ("RULE:^CN=(.*)$/$1/LU", "too much after a rule"),
        ("rule:a/b/", "begins with neither DEFAULT nor RULE:"),
        ("RULE:^CN=(.*$/$1/", "cannot be used here: missing )"),
        ("RULE:^CN=\\p{Alpha}*$/x/", "cannot be used here: bad escape"),
        ("RULE:[a-z&&[^b]]/x/", "cannot be used here: Possible set intersection"),
        ("RULE:^CN=.*$/$1/", "its pattern has no group"),
        ("RULE:^CN=(.*)$/$x/", "has a $ without a group's number"),
        ("RULE:^CN=(.*)$/$/", "has a $ without a group's number"),
    ],
)
def test_what_cannot_be_used_is_refused(rules: str, what: str) -> None:
    with pytest.raises(ValueError, match=re.escape(what)):
        MappingRules(rules)
