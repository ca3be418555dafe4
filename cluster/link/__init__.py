"""The way from a node to the brokers of its cluster."""
