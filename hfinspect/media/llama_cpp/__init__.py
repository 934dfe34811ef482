"""Tokens of images and sounds by the keys of an mmproj file, as llama.cpp counts them."""
