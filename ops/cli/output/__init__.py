"""What leaves a command: rows as tables or JSON, their schemas, and how far it is."""
