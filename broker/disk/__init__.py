"""Room on the data folder's file system: what is refused when it runs out, and the blocks kept back for that time."""
