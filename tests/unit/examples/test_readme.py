"""The README shows the code that is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_quick_start_is_the_example() -> None:
    shown, *_ = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    example = (ROOT / "examples" / "orders.py").read_text()
    assert example.endswith(f'"""\n\n{shown}')
