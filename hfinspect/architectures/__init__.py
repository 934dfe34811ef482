"""The catalog of architectures: config.json in, a tree of modules out. One file a family.

Pure functions of a config. Imports layers, trees and below. A new family is one file here, one case
file of its tests and a CHANGELOG line: see docs/adding-a-model.md.
"""
