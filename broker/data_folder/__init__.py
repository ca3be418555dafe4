"""The data folder as a whole: whose it is, and the metadata in it, which is kept twice."""
