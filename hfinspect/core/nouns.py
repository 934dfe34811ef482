"""The nouns that nearly every family is written with, as one import."""

from .components import Component
from .config import MAX_COUNT, MAX_DIM, ModelConfig, exact
from .dims import Dim, named

__all__ = ["MAX_COUNT", "MAX_DIM", "Component", "Dim", "ModelConfig", "exact", "named"]
