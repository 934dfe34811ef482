"""GGUF files by their header: key-values, tensor types and tensors.

``gguf`` reads a file, ``key_values`` the metadata in front of the tensors, ``metadata`` says in
plain words what the keys mean. Imports core and the files next to this folder. A new block type of
ggml is a line in ``ggml_types``, with its source.
"""
