"""The package as strangers get it: what it declares, and what happens once it is installed.

``pytest -m install`` builds the wheel and installs it into fresh environments; it needs a package
index.
"""
