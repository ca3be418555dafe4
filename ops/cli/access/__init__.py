"""Commands for rights and limits: `shareq acls`, `users` and `quotas`."""
