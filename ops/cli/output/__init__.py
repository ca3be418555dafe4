"""The output of commands: rows as tables or JSON, their schemas, and progress."""
