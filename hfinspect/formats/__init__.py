"""Readers of headers: bytes in, a Shard of tensors out; never a weight.

Reads ranges through ``base.Reader`` and knows nothing of repos. Imports core. A new checkpoint
format is a folder with a ``Format`` and a line in ``registry``; how its files are named is said in
``checkpoints/filenames``.
"""
