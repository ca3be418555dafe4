"""`shareq verify --repair`: makes a start possible again. What changes is copied first, what is lost is printed.

copies    the folder `repair-<time>` with every file as it was
segments  new `.log` files: healed headers, empty batches in the place of lost ones
apply     the findings of a verification, one after the other
"""
