"""`shareq produce`, `consume` and `tail`, and records as commands print them."""
