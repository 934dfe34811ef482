"""The nouns. Imports nothing else of hfinspect but the errors."""
