"""PyTorch checkpoints by their header: zip archives, the older form, and tensors in pickles.

``torch`` finds out which form it is, ``archive`` and ``legacy`` read it, ``rebuild`` knows the
functions that make tensors, ``views`` and ``storages`` where their elements lie. Imports core,
``pickles`` and the files next to this folder. A new function that makes tensors goes to
``rebuild``, another kind of archive to ``others`` or ``unpacking``.
"""
