"""OWLv2 (Minderer et al. 2023). Source of shapes: transformers/models/owlv2/modeling_owlv2.py.

OWL-ViT with a head that says whether there is an object at all.
"""

from .owlvit import register_owl

register_owl("Owlv2", "owlv2", patch_size=16, objectness=True)
