"""Nodes in front of a Kafka cluster: they add share groups to a cluster without any. Nodes keep no data: records, share
state, groups and users are stored in the cluster's topics.
"""
