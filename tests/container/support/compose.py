"""The compose file, read by Debian's YAML parser: nothing else here needs one."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Final

_PYTHON: Final = "/usr/bin/python3"
_READ: Final = "import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.stdin)))"


def why_no_yaml() -> str | None:
    """Return why a compose file cannot be read here; None if it can."""
    try:
        subprocess.run([_PYTHON, "-c", "import yaml"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "python3-yaml"
    return None


def read_compose(path: Path) -> dict[str, Any]:
    done = subprocess.run([_PYTHON, "-c", _READ], input=path.read_text(), capture_output=True, text=True, check=True)
    content: dict[str, Any] = json.loads(done.stdout)
    return content
