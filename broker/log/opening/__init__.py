"""What a start does around the logs it opens: the small files it reads first, and how far it says it is."""
