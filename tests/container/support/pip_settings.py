"""The settings by which pip reaches its packages on this machine, for a build that happens in an image."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Final

_KEYS: Final = ("index-url", "extra-index-url", "find-links", "trusted-host", "proxy", "cert")
_USUAL_CERTIFICATES: Final = "/etc/ssl/certs/ca-certificates.crt"


def pip_volumes(work: Path) -> list[str]:
    """Return volumes that bring pip's configuration, and the files and folders that it names, into a build."""
    settings = _settings()
    if Path(_USUAL_CERTIFICATES).exists():
        settings.setdefault("cert", _USUAL_CERTIFICATES)
    config = work / "pip.conf"
    config.write_text("[global]\n" + "".join(f"{key} = {value}\n" for key, value in settings.items()))
    named = {word for value in settings.values() for word in value.split() if word.startswith("/")}
    return [f"{config}:/etc/pip.conf:ro", *(f"{path}:{path}:ro" for path in sorted(named) if Path(path).exists())]


def _settings() -> dict[str, str]:
    """Return the settings in force, from files and the environment.

    `pip config list` has the environment before the files.
    """
    command = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    result: dict[str, str] = {}
    for line in listed.splitlines():
        name, _, value = line.partition("=")
        key = name.rpartition(".")[2]
        if key in _KEYS:
            result.setdefault(key, " ".join(str(ast.literal_eval(value)).split()))
    return result
