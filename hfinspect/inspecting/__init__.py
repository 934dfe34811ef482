"""From what was read of a model to its inspection: single models, pipelines, adapters."""
