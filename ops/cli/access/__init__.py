"""Commands about who may do what, and how much: `shareq acls`, `users` and `quotas`."""
