"""GGUF next to a config: llama.cpp's names, the config in the file, what is expected.

``llama_cpp_names`` translates names, ``own_config`` and ``own_facts`` read what a file says of
itself, ``expected`` says what llama.cpp would write. Imports trees, formats and below. A new
architecture of llama.cpp gets its names in ``llama_cpp_names``, with their source.
"""
