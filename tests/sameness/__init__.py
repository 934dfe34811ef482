"""The judge of sameness: what every command says, next to what it said at another commit."""
