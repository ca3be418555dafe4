"""Client quotas: whom they are for, what they limit, and how long a client that is over one has to wait. Pure."""
