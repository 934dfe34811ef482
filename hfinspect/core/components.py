"""Component: what a tensor is for, in the words of the field.

``Component`` is the coarse grouping of every report; ``kind`` (a plain string, one of ``KINDS``)
is the finer one that explanations use: which projection of an attention, which table of an
embedding.  ``Role`` keeps parameters, buffers and quantisation bookkeeping apart: only
parameters are counted as parameters.

What belongs where, so that families agree with each other and with what names alone tell:

- embedding: tables of tokens and positions, patch and time embeddings, learned tokens, codebooks;
  what makes a token of coordinates
- attention: softmax attention with all its parts, tables of relative positions, gates and sinks;
  pooling by attention (``attn_pool``), its learned query included
- mlp: feed-forward layers, experts, gates of their outputs
- router: what chooses experts
- ssm: state-space models and linear attention (Mamba, RG-LRU, RWKV, mLSTM, gated DeltaNet, KDA)
  with their convolutions; the softmax attention of a hybrid is attention
- conv: convolutions, the depthwise ones beside attention and in an MLP too; the pointwise Linears
  of a ConvNeXt block, up- and downsampling, necks. A 1x1 convolution that is a projection of an
  attention or an MLP belongs to that
- projector: from one modality or width to another, the attention and MLP of a connector included;
  what joins state and embedding before a layer that predicts a further token (``eh_proj``)
- norm: every normalisation layer wherever it stands, and the modulation of adaptive ones
- head: what a task adds at the end (LM head, classifier, pooler, transform, a segmentation head's
  convolutions); an attention or MLP block in a head is attention or mlp
- other: of no group (scales of a layer, hyper-connections, AltUp, LSTMs, Snake's coefficients)
"""

from __future__ import annotations

from enum import Enum


class Component(str, Enum):
    """The groups of a report, in the order in which they are shown."""

    EMBEDDING = "embedding"
    ATTENTION = "attention"
    MLP = "mlp"
    ROUTER = "router"
    SSM = "ssm"
    CONV = "conv"
    PROJECTOR = "projector"
    NORM = "norm"
    HEAD = "head"
    OTHER = "other"

    # Enum's own hash is a Python call; these are keys of every sum over 100,000 tensors.
    __hash__ = str.__hash__

    def __str__(self) -> str:
        return self.value


class Role(str, Enum):
    """Whether a tensor's elements are parameters at all."""

    PARAMETER = "parameter"
    BUFFER = "buffer"
    QUANTIZATION = "quantization"

    __hash__ = str.__hash__

    def __str__(self) -> str:
        return self.value


#: The finer kinds. A family may leave the kind empty; it may not invent one outside this set.
KINDS = frozenset(
    {
        # embedding
        "token", "position", "segment", "patch", "class_token", "mask_token", "relative_position",
        # attention
        "query", "key", "value", "qkv", "output", "query_down", "query_up", "kv_down", "kv_up",
        "sink", "indexer", "gate",
        # mlp
        "up", "down", "gate_up", "expert", "shared_expert",
        # head
        "lm_head", "classifier", "pooler", "transform",
        # anything
        "scale", "mtp",
    }
)  # fmt: skip
