"""Nodes in front of a Kafka cluster: share groups for one that has none. They keep no data; records, share state,
groups and users live in the cluster's topics.
"""
