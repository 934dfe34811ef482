"""Component: what a tensor is for, in the words of the field.

``Component`` is the coarse grouping of every report; ``kind`` (a plain string, a key of ``KINDS``)
is the finer one that explanations use: which projection of an attention, which table of an
embedding.  ``Role`` keeps parameters, buffers and quantisation bookkeeping apart: only
parameters are counted as parameters.

What belongs where, so that families agree with each other and with what names alone say:

- embedding: tables of tokens and positions, patch and time embeddings, learned tokens, codebooks;
  what makes a token of coordinates
- attention: softmax attention with all its parts, tables of relative positions and what makes
  them, gates and sinks, experts of an attention (JetMoE), what makes the kernels of ConvBERT's
  dynamic convolution; pooling by attention (``attn_pool``), its learned query included. SigLIP's
  pooling head is in its parts: the probe is head, then attention, mlp, norm
- mlp: feed-forward layers, experts, gates of their outputs
- router: what chooses experts
- ssm: state-space models and linear attention (Mamba, RG-LRU, RWKV, mLSTM, gated DeltaNet, KDA,
  lightning attention) with their convolutions: what keeps a state of fixed size instead of keys and
  values. The softmax attention of a hybrid is attention
- conv: convolutions, the depthwise ones next to attention and in an MLP too; the pointwise Linears
  of a ConvNeXt block, up- and downsampling, necks. A 1x1 convolution that is a projection of an
  attention or an MLP belongs to that
- projector: from one modality or width to another, the attention and MLP of a connector (a
  resampler, a perceiver, a merger) included;
  what joins state and embedding before a layer that predicts a further token (``eh_proj``)
- norm: every normalisation layer wherever it stands, the modulation of adaptive ones
  (``attn_norm.linear``) and the gates of gated ones (``input_layernorm.W_down``)
- head: what a task adds at the end (LM head, classifier, pooler, transform, a segmentation head's
  convolutions); an attention or MLP block in a head is attention or mlp
- other: of no group (scales of a layer, hyper-connections, AltUp, LSTMs, Snake's coefficients)
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType


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


#: The finer kinds and what each is. A family may leave the kind empty, but not invent one: a test
#: looks at every class of the catalog.
KINDS: Mapping[str, str] = MappingProxyType(
    {
        # embedding
        "token": "table of the vocabulary",
        "position": "table of positions",
        "segment": "table of segments (token types)",
        "patch": "what turns a patch of an image or of sound into a token",
        "class_token": "learned token that stands for the whole input",
        "mask_token": "learned token in place of a masked one",
        "register_token": "learned token that a vision transformer keeps notes in",
        "detection_token": "learned token that becomes a detected object",
        "codebook": "table of a vector quantiser",
        # attention
        "query": "projection to the queries of all heads",
        "key": "projection to the keys",
        "value": "projection to the values",
        "qkv": "the three projections in one matrix",
        "key_value": "keys and values in one matrix",
        "output": "projection of all heads back to the hidden size",
        "query_down": "hidden size to the latent of the queries",
        "query_up": "latent to the queries of all heads",
        "kv_down": "hidden size to the latent of keys and values",
        "kv_up": "latent to keys and values of all heads",
        "relative_position": "table or projection of distances between tokens",
        "sink": "a head's learned score for attending to nothing",
        "indexer": "what chooses the tokens that sparse attention looks at",
        # attention or mlp
        "gate": "gate of an MLP, or of an attention's output",
        # mlp
        "up": "hidden size to inner size",
        "down": "inner size to hidden size",
        "gate_up": "gate and up in one matrix",
        "expert": "a routed expert's matrix",
        "shared_expert": "matrix of an expert that serves every token",
        # head
        "lm_head": "hidden size to the vocabulary",
        "classifier": "hidden size to labels or scores",
        "pooler": "what makes one vector of many",
        "transform": "layer between the model and its head",
        # any component
        "scale": "learned factor",
        "layer_scale": "learned factor of a whole layer",
        "mtp": "layer that predicts further tokens",
    }
)
