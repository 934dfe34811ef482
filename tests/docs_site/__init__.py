"""The documents as a site: ``python -m tests.docs_site --output DIR``."""
