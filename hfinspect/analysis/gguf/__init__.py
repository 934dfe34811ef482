"""GGUF next to a config: llama.cpp's names, the config in the file, what is expected."""
