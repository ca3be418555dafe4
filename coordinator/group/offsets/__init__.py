"""Committed offsets of groups: who may commit, what is kept, what is read, and when it goes."""
