"""What an audit reads: each file at most once, and none that is damaged stops the rest."""
