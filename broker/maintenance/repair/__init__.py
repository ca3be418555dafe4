"""`shareq verify --repair`, which makes a start possible again. Files are copied before they change, and losses are
printed.

copies the folder `repair-<time>` with every file as it was segments new `.log` files: healed headers, empty batches
in the place of lost ones apply the findings of a verification, one after the other
"""
