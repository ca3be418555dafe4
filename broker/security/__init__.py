"""Who a client is, and what it may do: principals, authentication, access control lists."""
