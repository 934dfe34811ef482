"""The Hub: listings, ranges, retries, and the local cache of huggingface_hub.

``repo`` is the source, ``snapshots`` the same with what is in the cache already, ``client`` sends
requests within the limits of ``throttle``. Imports core and the files next to this folder; the only
files that know huggingface_hub. A new endpoint is a function with a bounded ``answer``; a new error
of the server is a line in ``translate``.
"""
