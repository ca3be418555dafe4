"""The common part of all commands: access to a cluster, completion of names, places in logs, and exit codes."""
