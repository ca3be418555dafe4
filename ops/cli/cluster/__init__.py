"""Commands about a cluster as a whole: `shareq cluster`, `configs`, `features` and `transactions`."""
