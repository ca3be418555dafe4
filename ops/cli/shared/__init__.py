"""The common part of all commands: reaching a cluster, completing names, reading places in logs, and ending."""
