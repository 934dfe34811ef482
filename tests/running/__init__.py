"""What engines load, and with what line."""
