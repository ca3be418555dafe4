"""A broker on a machine that has been started again: `python -m tests.campaign.storage.rebooted serve ...`.

A disk that a power loss has left is no disk of this start of the machine, and the broker goes by that.
"""

from __future__ import annotations

from shareq.broker.foundation.os_fs import OsFs
from shareq.ops.cli.main import main

if __name__ == "__main__":
    setattr(OsFs, "boot_id", lambda _fs: "another start of the machine")  # noqa: B010
    main()
