"""The link: a node's connections to the brokers of its cluster, and to other nodes."""
