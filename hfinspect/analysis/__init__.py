"""Pure functions over tensors: where they belong, how many there are, what they need, and why."""
