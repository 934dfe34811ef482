"""SmolVLM (Marafioti et al. 2025; transformers/models/smolvlm). Idefics3 with other sizes."""

from .idefics3 import register_idefics3

register_idefics3("SmolVLM", "smolvlm")
