"""Commands for a data folder beside the broker: check and repair it, back it up, restore it.

Nothing here runs inside a broker. `verify` and `restore` need the folder for themselves; `backup` only reads, and works
beside a running broker. `verify_command` is `shareq verify`: `verify/` finds, with `--repair` `repair/` mends what it
found.
"""
