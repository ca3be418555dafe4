"""The work of a start around the logs: reading the small files that come first, and reporting progress."""
