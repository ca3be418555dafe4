"""`python -m shareq.broker` is the command `shareq`."""

import gc

gc.disable()  # until `main` runs: importing makes little garbage and many objects to look at

from shareq.broker.cli import main  # noqa: E402

__all__ = ["main"]

if __name__ == "__main__":
    main(prog_name="shareq")
