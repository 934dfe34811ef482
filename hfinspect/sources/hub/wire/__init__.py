"""From an address to an answer: connections, TLS, HTTP, and what is believed of what comes in.

``http`` has the sessions, ``pipelining`` many requests at once, ``transport`` the connections that
are used again, ``connection`` one of them, ``answer`` the bodies. Imports nothing of the Hub around
it: what a request is for, and how often it is tried, is not known here. A new way to fetch bytes is
a ``HttpSession``.
"""
