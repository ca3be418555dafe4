"""Check that the passes of the installed shareq run compiled: in `make dist`, and for each wheel of `make wheels`."""

from __future__ import annotations

import sys
from importlib import import_module

from shareq.protocol.passes import FOLDER, sources


def main() -> int:
    """Run the check; exit status 1 where a pass runs as Python."""
    forms = [import_module(f"shareq.protocol.passes.{source.stem}") for source in sources(FOLDER)]
    slow = [form.__name__ for form in forms if str(form.__file__).endswith(".py")]
    if slow or not forms:
        print(f"not compiled: {', '.join(slow) or 'no pass was found'}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
