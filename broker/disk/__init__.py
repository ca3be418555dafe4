"""Free space on the data folder's file system: the refusals when it runs out, and the blocks reserved for that time."""
