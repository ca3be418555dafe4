"""`python -m shareq` is the command `shareq`."""

from shareq.broker.__main__ import main

if __name__ == "__main__":
    main(prog_name="shareq")
