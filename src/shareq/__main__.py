"""`python -m shareq` is the command `shareq`."""

import gc

gc.disable()  # until `main` runs: importing makes little garbage and many objects to look at

from shareq.ops.cli.main import main  # noqa: E402

__all__ = ["main"]

if __name__ == "__main__":
    main(prog_name="shareq")
