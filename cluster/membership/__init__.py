"""Which nodes there are, which of them is to own a slot, and for how long it may act as if it did."""
