"""The data folder as a whole: which cluster owns it, and the metadata in it, which is kept twice."""
