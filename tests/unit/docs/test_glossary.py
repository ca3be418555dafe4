"""docs/glossary.md: few words, in order, each in use."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[3]
ROWS = re.findall(r"^\| ([\w -]+) \| (.+) \|$", (ROOT / "docs" / "glossary.md").read_text(), re.MULTILINE)[1:]
WORDS = [word for word, _ in ROWS]


def test_the_words_are_few_and_in_order() -> None:
    assert 20 < len(WORDS) <= 30
    assert sorted(WORDS, key=str.lower) == WORDS


def test_each_word_is_used_in_the_code() -> None:
    pattern = f"({'|'.join(WORDS)})s?"
    command = ["git", "grep", "-ohiwIE", pattern, "--", "*.py", ":!protocol/generated"]
    found = Counter(
        subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.lower().split("\n")
    )
    assert [word for word in WORDS if found[word.lower()] + found[f"{word.lower()}s"] < 5] == []
