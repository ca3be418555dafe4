"""The records of the cluster's topics, fetched ahead from their leaders into one cache, from which share partitions and
consumers' fetches of this node read them.
"""
