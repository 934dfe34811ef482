"""Chat templates in Jinja's language, read and never rendered.

``template_blocks`` cuts a text into blocks, ``template_syntax`` makes trees of them,
``template_tags`` goes through them in order. Imports only the files of this folder. A new tag is a
word in ``template_tags``, with what it evaluates and assigns.
"""
