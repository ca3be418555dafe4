"""The nodes of a cluster: which one is to own a slot, and for how long it may act as if it did."""
