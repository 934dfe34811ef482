"""What is made of an object, made once for as long as the object lives."""

import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import TypeVar

Of = TypeVar("Of")
Made = TypeVar("Made")


def once_each(make: Callable[[Of], Made]) -> Callable[[Of], Made]:
    """``make``, called once for each object: by identity, so that the object must not change, and
    what is made must not refer to it. Of what takes no weak reference, as a plain dict, it is made
    anew each time."""
    known: dict[int, tuple[weakref.ref[Of], Made]] = {}

    @wraps(make)
    def made_once(of: Of) -> Made:
        key = id(of)
        entry = known.get(key)
        if entry is not None and entry[0]() is of:
            return entry[1]
        value = make(of)
        with suppress(TypeError):
            known[key] = weakref.ref(of, lambda _: known.pop(key, None)), value
        return value

    return made_once
