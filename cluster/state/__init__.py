"""The state of share partitions and groups as records of topics of the node's cluster."""
