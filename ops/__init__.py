"""The operator's tools: every command, the web console, and the state of every record."""
