"""The catalog of architectures: config.json in, a tree of modules out. One file a family."""
