"""Make the pictures of docs/console.md: `python -m tests.browser FOLDER`. Exit code 1 if there is no Chromium."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from tests.browser.chromium import Chromium, why_unavailable
from tests.browser.scene import Scene
from tests.browser.views import VIEWS, show

PICTURES: Final = {
    "share-group": ("share-group", (1200, 800), False),
    "window": ("window", (1200, 640), True),
    "window-narrow": ("window", (360, 780), False),
    "letters": ("letters", (1200, 380), False),
    "overview": ("overview", (1200, 620), True),
    "records": ("topic", (1200, 640), False),
}
"""View, size, and whether it is dark."""
MOST_BYTES: Final = 150_000
HISTORY_S: Final = 12.0
"""The time that charts are to show."""


def main() -> int:
    if why := why_unavailable():
        print(f"browser: {why}", file=sys.stderr)
        return 1
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="shareq-browser-") as folder,
        Scene(Path(folder)) as scene,
        Chromium() as chromium,
    ):
        for name, (view, size, dark) in PICTURES.items():
            chromium.look(*size, dark=dark)
            show(chromium, scene.url, VIEWS[view])
            time.sleep(HISTORY_S if view == "share-group" else 1.0)
            picture = chromium.picture()
            (target / f"{name}.png").write_bytes(picture)
            print(f"{name}.png: {len(picture) // 1000} kB")
            if len(picture) > MOST_BYTES:
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
