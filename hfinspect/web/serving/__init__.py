"""The page, answered by this process: ``hfinspect serve``.

``loopback`` listens and answers one question at a time, ``gate`` says who may ask, ``shelf`` lists
the models of this machine, ``dropped`` reads files that a page has. A request of a new kind is a
function in ``loopback`` and a line of its table. Imports what ``web`` imports.
"""
