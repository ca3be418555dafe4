"""`shareq migrate`: topics, records and states from one cluster to another.

Pure except `broker`, the driver, and `folder`, which starts a broker on a data folder.
"""
