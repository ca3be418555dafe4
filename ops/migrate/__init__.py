"""`shareq migrate`: topics, records and states from one cluster to another. Pure except `broker`, the driver, and
`folder`, which has a data folder served.
"""
