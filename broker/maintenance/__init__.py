"""Commands for a data folder: check it, repair it, back it up, restore it.

Nothing here runs inside a broker. `verify` and `restore` need the folder for themselves; `backup` only reads, and
can run beside a broker. `verify_command` is `shareq verify`: `verify/` finds faults, and with `--repair`, `repair/`
repairs them.
"""
