"""Where bytes come from. The only room that touches network or disk."""
