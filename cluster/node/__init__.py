"""A node as a whole, put together from the other folders: the ground of a broker without data of its own."""
