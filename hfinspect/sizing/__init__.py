"""Memory: weights, caches, activations, training; engines. Imports inspecting and below."""
