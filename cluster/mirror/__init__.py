"""A node's knowledge of its cluster: the topics that were asked for, and who leads them."""
