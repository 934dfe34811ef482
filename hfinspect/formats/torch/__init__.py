"""PyTorch checkpoints by their header: zip archives, the legacy form, and tensors in pickles."""
