"""Where bytes come from: the disk, the Hub, caches of headers; all behind ``source.Source``.

The only room that touches network and disk. Imports core. A new place to read from is a class with
the methods of ``Source``, and a line in ``opening.Access.open``.
"""
