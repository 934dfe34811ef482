"""Results as text. Computes nothing: a document is laid out once and drawn by a renderer."""
