"""A client's identity, and what it may do: principals, authentication, access control lists."""
