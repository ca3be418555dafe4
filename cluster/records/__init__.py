"""The records of a cluster's topics, as share partitions and fetches of this node read them: fetched ahead into one
cache, from the brokers that lead them.
"""
