"""The states of share partitions and groups, stored as records in topics of the node's cluster."""
