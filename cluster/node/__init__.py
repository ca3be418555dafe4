"""A node as a whole: the ground of a broker without data of its own, made from the other rooms."""
