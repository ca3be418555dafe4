"""A client's identity and its rights: principals, authentication, access control lists."""
