"""Header readers: bytes in, shards out. Knows nothing of the network."""
