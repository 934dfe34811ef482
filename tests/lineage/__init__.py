"""Equal files and weights of two models."""
