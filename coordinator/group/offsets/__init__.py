"""Committed offsets of groups: the rules of committing, what is kept, what is read, and when it expires."""
