"""The data folder as a whole: the cluster that owns it, and its metadata, which is kept twice."""
