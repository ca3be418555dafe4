"""`shareq dlq`: dead-letter queues, and redrives of their letters."""
