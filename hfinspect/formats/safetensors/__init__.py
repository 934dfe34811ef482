"""safetensors files by their header: eight bytes of length, then JSON.

``safetensors`` reads the bytes, ``header`` the JSON, ``spans`` judges where the tensors lie.
Imports core and the files next to this folder. A new rule of the format is a finding in ``spans``;
a new dtype is a line in ``core/tensor``.
"""
