"""The component of a tensor by the classes of the real modules that it stands in.

Only what those classes say clearly: a Linear right in an attention, an Embedding.  What the house
counts to a whole around it (``core.components``) is left out where the class alone can't say.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

#: Modules that say nothing of what they are for.
_PLAIN = re.compile(
    r"(Linear|Conv1D|Module(List|Dict)|Sequential|Parametri\w+|Dropout|MLPLayerWithBN)$"
)
_NORM = re.compile(r"(Norm|Norm[123]d|NormGated|Norm2D)$")
_ROUTER = re.compile(r"Router$|MoEGate$")
#: Linear attention is counted to ssm.
_SSM = re.compile(
    r"Mamba\w*Mixer|DeltaNet|Rglru|RecurrentBlock|Linear\w*Attention$|Lightning\w*Attention"
    r"|Rwkv\w*Attention|DeltaAttention"
)
_ATTENTION = re.compile(r"Attention$|SelfOutput$|Attn$|AttentionHF$")
_MLP = re.compile(r"(MLP|Mlp|FeedForward|FFN|Experts?|Intermediate|DenseReluDense|DenseActDense)$")
#: What has parts of any kind and keeps them: connectors, heads; residuals are of no group.
_WHOLE = re.compile(
    r"Projector|Merger|Resampler|Connector|Aligner|Projection$|Adapter|PixelShuffle|Residual|Head$"
    r"|Predictor|Pooler|MixerMLP|AttentionalPropagation|Norm"
)
_WHOLE_NAME = re.compile(
    r"(^|[._])(heads?|bbox_embed|predictor|proj|projector|reg_conf|gates?|adapter|pooler|linear_c|lm"
    r"|time_embed|lm_head)([._]|$)"
)
_TASK_HEADS = frozenset({"classifier", "score", "qa_outputs"})


def kind_of(name: str, classes: Sequence[str]) -> str | None:
    """``classes`` of the modules around the tensor ``name``, the outermost first."""
    inner, segments = classes[-1], name.split(".")
    if _NORM.search(inner):
        return "norm"
    if segments[0] in _TASK_HEADS:
        return "head"
    holder = next((name for name in reversed(classes) if not _PLAIN.search(name)), "")
    is_whole = any(map(_WHOLE.search, classes[1:])) or _WHOLE_NAME.search(".".join(segments[:-2]))
    if inner.endswith("Embedding") and len(classes) > 1:
        return None if is_whole else _table(name, classes)
    if holder == classes[0] or not (inner == holder or _PLAIN.search(inner)):
        return None
    if _ROUTER.search(holder):
        return "router"
    if _SSM.search(holder):
        return "ssm"
    if is_whole or segments[-2:-1] == ["shared_expert_gate"]:
        return None
    if any(map(_ATTENTION.search, classes[1:])) and (
        _ATTENTION.search(holder) or _MLP.search(holder)
    ):
        return "attention"  # JetMoE's experts in an attention too
    return "mlp" if _MLP.search(holder) else None


def _table(name: str, classes: Sequence[str]) -> str:
    """Tables of distances between tokens are attention's."""
    holder = next(name for name in reversed(classes[:-1]) if not _PLAIN.search(name))
    relative = re.search(r"relative_|rel_embeddings|\bpe_k", name)
    return "attention" if relative or _ATTENTION.search(holder) else "embedding"
