"""The work of a start around the logs: the small files it reads first, and reports of its progress."""
