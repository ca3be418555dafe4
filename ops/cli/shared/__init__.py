"""What all commands share: how they reach a cluster, complete names, read places in logs, and end."""
