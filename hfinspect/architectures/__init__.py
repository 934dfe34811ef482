"""The catalog of architectures: config.json in, a tree of modules out. One file a family.

Pure functions of a config. A family that is another with differences says them, and them alone:
``LLAMA.like("Qwen3", head_dim=128, qk_norm=True)``; what is new is plain functions. A path in the
brackets of a title says where shapes are from. Imports layers, trees and below. A new family is one
file here, one case file of its tests and a CHANGELOG line: see docs/adding-a-model.md.
"""
