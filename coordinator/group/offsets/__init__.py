"""Committed offsets of groups: the rules of committing, the stored form, reading, and expiry."""
