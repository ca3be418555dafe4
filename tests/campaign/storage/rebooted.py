"""A broker on a machine that has rebooted: `python -m tests.campaign.storage.rebooted serve ...`.

After a power loss the machine has another boot id than the one in the data folder, and the broker checks for that.
"""

from __future__ import annotations

from shareq.broker.foundation.os_fs import OsFs
from shareq.ops.cli.main import main

if __name__ == "__main__":
    setattr(OsFs, "boot_id", lambda _fs: "another start of the machine")  # noqa: B010
    main()
