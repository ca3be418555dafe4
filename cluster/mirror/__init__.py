"""A node's knowledge of its cluster: the topics that were asked for, and the leaders of their partitions."""
