"""Certificate names and mapping rules, compared with Java's X500Principal and Apache Kafka's SslPrincipalMapper."""

from __future__ import annotations

import subprocess
from pathlib import Path
from random import Random
from typing import Final

import pytest

from devtools.kafka.apache_kafka import class_path
from shareq.broker.security.tls.distinguished_name import distinguished_name
from shareq.broker.security.tls.mapping_rules import MappingRules, NoMatchingRule
from tests.interop.java_codecs_support import why_no_judge
from tests.support.kafka.distinguished_names import CN, DC, EMAIL, SERIAL, UID, attribute, name

pytestmark = [pytest.mark.interop, pytest.mark.skipif(why_no_judge() is not None, reason=str(why_no_judge()))]

JUDGE: Final = Path(__file__).with_name("java") / "TlsNames.java"
KINDS: Final = (
    CN,
    DC,
    EMAIL,
    SERIAL,
    UID,
    *(bytes.fromhex(f"5504{one}") for one in ("06", "07", "08", "09", "0a", "0b")),
)
WIDE: Final = {0x1E: "utf-16-be", 0x1C: "utf-32-be"}
CHARACTERS: Final = "ab ,+\"\\<>;=#\0\r\n\tZ9/'():.?-@_*"


def judged(lines: list[str]) -> list[str]:
    """Return Java's result for each line: "ok TEXT", "none" or "error"."""
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", class_path(), str(JUDGE)]
    done = subprocess.run(
        command, input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=120, check=True
    )
    words = [line.split() for line in done.stdout.splitlines()]
    assert len(words) == len(lines)
    return [f"ok {bytes.fromhex(''.join(each[1:])).decode()}" if each[0] == "ok" else each[0] for each in words]


def some_attribute(rng: Random) -> bytes:
    tag = rng.choice((0x0C, 0x0C, 0x0C, 0x13, 0x14, 0x16, 0x12, 0x1B, 0x1C, 0x1E, 0x04))
    letters = "ab,é " if tag in WIDE else CHARACTERS + ("é€😀" if tag == 0x0C else "")
    text = "".join(rng.choice(letters) for _ in range(rng.randrange(8)))
    return attribute(rng.choice(KINDS), text.encode(WIDE.get(tag, "utf-8")), tag)


def test_distinguished_names_are_java_s() -> None:
    rng = Random(7)
    names = [
        name(*(tuple(some_attribute(rng) for _ in range(rng.choice((1, 1, 1, 2, 3)))) for _ in range(rng.randrange(5))))
        for _ in range(2000)
    ]
    assert judged([f"name {each.hex()}" for each in names]) == [f"ok {distinguished_name(each)}" for each in names]


PATTERNS: Final = (
    ("^CN=(.*?),OU=(.*?),O=(.*?)$", 3),
    ("CN=(.*)", 1),
    ("CN=([^,]*),.*", 1),
    (".*", 0),
    ("^CN=(a|b)(x)?,.*$", 2),
    ("CN=(.*),O=x\\/y", 1),
    ("(?i)cn=(.*),.*", 1),
    ("^(C)(N)(=)(.)(.)(.)(.)(.)(.)(.)(.*)$", 11),
    ("CN=a.*", 0),
)
NAMES: Final = (
    "CN=alice,OU=Orders,O=Example",
    "CN=Bob",
    "CN=a,O=x/y",
    "CN=bx,O=Z",
    "cn=foo,O=1",
    "",
    "CN=axyzABCDEFGHI",
    "CN=é,OU=\\,,O=k",
)
BROKEN: Final = ("DEFAULTS", "RULE:abc", "RULE:a/b", "RULE:a/b/X", "RULE:a/b/LU", "foo", "RULE:a/b/L x")


def some_rule(rng: Random) -> str:
    chance = rng.random()
    if chance < 0.2:
        return "DEFAULT" if chance < 0.15 else ""
    pattern, groups = rng.choice(PATTERNS)
    # Of two groups that do not exist Apache Kafka takes the second one for a fault; it is text here, as the first one.
    missing = ["$9"] if 0 < groups < 9 and rng.random() < 0.2 else []
    pieces = [*(f"${number}" for number in range(groups + 1)), "$0", "x", "@", "\\$", "\\/", "\\\\", "A", "é", " "]
    replacement = "".join(rng.sample(pieces, rng.randrange(4)) + missing)
    return f"RULE:{pattern}/{replacement}/{rng.choice(('', 'L', 'U', 'L '))}"


def ours(rules: str, of: str) -> str:
    try:
        return f"ok {MappingRules(rules).user(of)}"
    except NoMatchingRule:
        return "none"
    except ValueError:
        return "error"


def test_rules_are_apache_kafka_s() -> None:
    rng = Random(11)
    cases = [
        (
            rng.choice((",", " , ", ",  ")).join(
                ["DEFAULT" if rng.random() < 0.1 else some_rule(rng) for _ in range(2)]
            ),
            of,
        )
        for of in NAMES
        for _ in range(300)
    ]
    cases = [(rules, of) for rules, of in cases if rules.replace(",", "").strip()]  # none at all is refused here
    cases += [(rules, "CN=a") for rules in BROKEN]
    answers = judged([f"user {rules.encode().hex()} {of.encode().hex()}" for rules, of in cases])
    assert [(case, answer) for case, answer in zip(cases, answers, strict=True) if answer != ours(*case)] == []
    assert {answer.split(" ")[0] for answer in answers} == {"ok", "none", "error"}
