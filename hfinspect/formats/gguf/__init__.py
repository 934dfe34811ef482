"""GGUF files by their header: key-values, tensor types and tensors."""
