"""The rules: one decorated function each, found by file; add one to the file of its subject."""
