"""A node as a whole: what a broker stands on that has no data of its own, made of the other rooms."""
