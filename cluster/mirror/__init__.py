"""What a node knows of its cluster: the topics that were asked for, who leads them, and the nodes' own settings."""
