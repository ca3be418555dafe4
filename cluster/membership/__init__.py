"""The membership of the nodes: which node is to own a slot, and for how long an owner may assume that it still is
one.
"""
