from __future__ import annotations

from pathlib import Path

from scripts.check_classes import MOST, Changed, changed, complaints

TEXT = """
class Busy:
    def __init__(self):
        self.set_once = self.changed = 0

    def move(self, other):
        self.changed += 1
        self.one, (self.two, *self.three) = other
        other.not_its_own = 1
        del self.four
        for self.five in other: pass
        self.six.of_another = 1

        class Nested:
            def go(me):
                me.seven = 1

    @classmethod
    def of_the_class(cls):
        cls.eight = 1

    @staticmethod
    def free(self):
        self.nine = 1

    async def later(self):
        self.ten: int = 1
"""


def test_attributes_that_are_changed_after_the_object_was_made(tmp_path: Path) -> None:
    path = tmp_path / "busy.py"
    path.write_text(TEXT)
    found = {each.name: each.attributes for each in changed(path)}
    assert found == {
        "Busy": {"changed", "one", "two", "three", "four", "five", "eight", "ten"},
        "Nested": {"seven"},
    }


def test_more_than_most_are_complained_of() -> None:
    def of(name: str, count: int) -> Changed:
        return Changed(Path("here.py"), name, frozenset(f"a{number:02}" for number in range(count)))

    assert list(complaints([of("Fits", MOST)], {})) == []
    (line,) = complaints([of("Large", MOST + 1)], {})
    assert line.startswith(f"here.py: Large changes {MOST + 1} attributes, at most {MOST}: a00, a01")
    assert list(complaints([of("Named", 20)], {"Named": (20, "why")})) == []
    assert len(list(complaints([of("Named", 21)], {"Named": (20, "why")}))) == 1
    assert list(complaints([of("Named", 19)], {"Named": (20, "why")})) == [
        "check_classes.py: Named may change 20 attributes and changes 19"
    ]
