"""What an operator uses: every command, the web console, and the state of every record."""
