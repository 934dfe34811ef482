"""The GGUF file that llama.cpp's converter makes of a model: names, shapes, what stays in float32.

Source: conversion/ of llama.cpp (``prepare_tensors`` in base.py, ``modify_tensors`` of the
families), commit 0c1e57098, read in November 2026. Only the classes in ``GGUF_CLASSES`` are known,
and only where every tensor of the text model has a known name. Layers for multi-token prediction
are left out (``--no-mtp``), and so are the parts for images and sound, which are files of their
own (``--mmproj``).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ...analysis.gguf.llama_cpp_names import gguf_name, is_left_out
from ...core.components import Role
from ...core.results import Inspection
from ...core.tensor import TensorInfo, TensorSpec
from ...trees.prediction import Prediction
from ..engine_classes import converted_to
from .ggml_mixes import GgufModel, GgufTensor
from .gguf_classes import GGUF_CLASSES

#: Modules whose matrices the converter keeps in float32.
_FLOAT32: Final = frozenset(
    """ffn_gate_inp ffn_gate_inp_shexp position_embd token_types ssm_conv1d ssm_conv1d_q
    ssm_conv1d_k ssm_conv1d_v shortconv.conv indexer.proj altup_correct_coef
    altup_predict_coef""".split()
)
#: (architecture, layers) of what llama.cpp calls a 70B model: ``load_hparams`` of src/models/.
_70B: Final = frozenset({("llama", 80), ("qwen2", 80), ("deci", 80), ("olmo", 80), ("jais2", 68)})
#: Whose converters write the factors of Llama 3's positions, and of long ones.
_ROPE_FREQS: Final = frozenset(
    """llama llama4 apertus arcee smollm3 granite granitemoe granitehybrid afmoe exaone exaone4
    """.split()
)
_LONG_FACTORS: Final = frozenset({"phi3", "minicpm", "minicpm3"})
#: Whose attention is written as one with a single key head.
_LATENT: Final = frozenset({"deepseek2", "deepseek32", "glm-dsa", "kimi-linear"})
#: Whose key heads are counted layer by layer: none where a layer has no attention.
_BY_LAYER: Final = frozenset("jamba lfm2 lfm2moe granitehybrid nemotron_h mamba2".split())
#: Buffers that are tensors of the file; other ones are not.
_BUFFERS: Final = ("e_score_correction_bias", "expert_bias", "layer_scalar")
#: Parts of the names of what is written as key-values.
_AS_KEYS: Final = (".act_fn.",)
#: Ends of names that the shared table does not have -> the end of the name in the file, or one of
#: this room's own, for what is written in pieces.
_ENDS: Final = {
    "router.scale": "ffn_gate_inp.scale",
    "router.per_expert_scale": "ffn_down_exps.scale",
    "pre_feedforward_layernorm_2.weight": "pre_ffw_norm_2.weight",
    "post_feedforward_layernorm_1.weight": "post_ffw_norm_1.weight",
    "post_feedforward_layernorm_2.weight": "post_ffw_norm_2.weight",
    "shared_mlp.input_linear.weight": "shared_in.weight",
    "shared_mlp.output_linear.weight": "shared_down.weight",
    "linear_attn.in_proj_qkvz.weight": "qkvz.weight",
    "ffn.proj_1.weight": "ffn_gate_up.weight",
}
#: Heads of classes for sequences -> their names in the file.
_CLASS_HEADS: Final = {
    "classifier": "cls",
    "classifier.dense": "cls",
    "classifier.out_proj": "cls.output",
}
#: Matrices that GPT-2 and Jais have transposed.
_CONV1D: Final = frozenset({"attn_qkv", "attn_output", "ffn_gate", "ffn_up", "ffn_down"})
_TRANSPOSED: Final = frozenset({"gpt2", "jais"})
#: Model types whose first positions are those of padding, and left out.
_PADDED: Final = frozenset({"roberta", "xlm-roberta"})

_FileShape = tuple[int, ...]
_WrittenTensors = list[tuple[str, _FileShape]]


class _Group(NamedTuple):
    """What the file holds under one name: the shape of the first tensor, and the names of all."""

    shape: _FileShape
    names: list[str]


_Groups = dict[str, _Group]


#: What comes before ``blk.`` in names.
_SIDES: Final = ("", "enc.", "dec.")


class _Layer(NamedTuple):
    """Names in the file of one place of a template, each with the numbers of its tensors; ``layer``
    is None where they are those of this place alone."""

    layer: int | None
    numbers_of: Mapping[str, list[int]]

    def at(self, layer: int | None) -> Iterator[tuple[str, list[int]]]:
        """The same in another layer."""
        prefix = f"blk.{self.layer}."
        other = f"blk.{layer}."
        for name, numbers in self.numbers_of.items():
            side, is_own, rest = name.partition(prefix)  # of the encoder or the decoder, or neither
            if self.layer is not None and layer != self.layer and is_own and side in _SIDES:
                yield side + other + rest, numbers
            else:
                yield name, numbers


def unpredicted(inspection: Inspection, prediction: Prediction | None) -> str:
    """Why the tensors of the config are not those of the model; empty where they are."""
    if prediction is None or prediction.family is None:
        return "the catalog does not describe the class"
    compared = inspection.expectation
    if inspection.source == "checkpoint" and compared is not None and compared.reshaped:
        return "the files hold other shapes than config.json says"
    return ""


def gguf_model(inspection: Inspection, prediction: Prediction | None) -> GgufModel | str:
    """The file, or why it is not known."""
    if inspection.format == "gguf":
        return _as_read(inspection)
    why = unpredicted(inspection, prediction)
    if why or prediction is None:
        return why
    return prediction.memoized(
        "gguf", inspection.facts, lambda: _Converter(inspection, prediction).model()
    )


class _Converter:
    """One conversion."""

    def __init__(self, inspection: Inspection, prediction: Prediction) -> None:
        self._prediction = prediction
        self._facts = inspection.facts
        config: Mapping[str, Any] = inspection.config or {}
        text = config.get("text_config")
        self._config = {**config, **text} if isinstance(text, Mapping) else config
        name = prediction.architecture
        self._architecture = converted_to(name) or "" if name in GGUF_CLASSES else ""
        if self._architecture == "mistral3" and self._config.get("model_type") == "mistral4":
            self._architecture = ""  # the same class around a text model that is written otherwise
        classifies = prediction.architecture.endswith("ForSequenceClassification")
        self._class_heads = _CLASS_HEADS if classifies else {}

    def model(self) -> GgufModel | str:
        """The file, or why it is not known."""
        if not self._architecture:
            name = self._prediction.architecture
            return f"what llama.cpp's converter makes of {name} is not known here"
        groups = self._refusal() or self._groups()
        if isinstance(groups, str):
            return groups
        tensors: list[GgufTensor] = []
        for name, group in groups.items():
            written = self._written(name, group, groups)
            if written is None:
                return f"how the converter writes {group.names[0]} is not known"
            made_of = tuple(group.names)
            tensors += (self._typed(name, shape, made_of) for name, shape in written)
        tensors += [self._typed(name, shape) for name, shape in self._positions(tensors)]
        return self._with_numbers(tensors)

    def _refusal(self) -> str:
        """What the converter demands of a config and does not find."""
        if self._architecture != "jais":
            return ""
        config = self._config
        needed = ("embeddings_scale", "width_scale")
        mup = {"mup_embeddings_scale": "embeddings_scale", "mup_output_alpha": "width_scale"}
        keys = {mup.get(key, key) for key in config}
        kind = config.get("activation_function"), config.get("position_embedding_type")
        if kind == ("swiglu", "alibi") and keys.issuperset(needed):
            return ""
        return "the converter takes a Jais with swiglu, alibi, embeddings_scale and width_scale"

    def _groups(self) -> _Groups | str:
        """What the file holds under one name: experts are many.

        Layers that are copies are named once: their names differ in the number of the layer.
        """
        groups: _Groups = {}
        layers: dict[tuple[int, str], _Layer] = {}
        for place in self._prediction.tensors.places():
            rows = place.template.rows
            start = f"{place.stack}.{place.layer}."
            head = place.head.removesuffix(start)
            is_layer = place.layer is not None and place.head == head + start
            known = layers.get((id(place.template), head)) if is_layer else None
            if known is None:
                rows_of = self._named(tuple(place.rows()))
                if isinstance(rows_of, str):
                    return rows_of
                is_layer = is_layer and not place.template.has_layers
                known = _Layer(place.layer if is_layer else None, rows_of)
                if is_layer:
                    layers[id(place.template), head] = known
            for name, numbers in known.at(place.layer):
                names = [place.head + rows[at].name for at in numbers]
                group = groups.setdefault(name, _Group(rows[numbers[0]].shape, []))
                group.names.extend(names)
        return groups

    def _named(self, specs: Sequence[TensorSpec]) -> dict[str, list[int]] | str:
        """The names in the file, each with the numbers of the tensors that it holds; or why one is
        not known."""
        by_name: dict[str, list[int]] = {}
        for at, spec in enumerate(specs):
            if spec.part != "text" or self._is_left_out(spec):
                continue
            if spec.role is not Role.PARAMETER and not spec.name.endswith(_BUFFERS):
                continue
            if any(part in spec.name for part in _AS_KEYS):
                continue
            name = self._name(spec)
            if name is None:
                return f"llama.cpp's name of {spec.name} is not known"
            by_name.setdefault(name, []).append(at)
        return by_name

    def _is_left_out(self, spec: TensorSpec) -> bool:
        """Classifiers are heads of their own in the files of rerankers."""
        head = self._class_heads.get(spec.name.rpartition(".")[0])
        return head is None and is_left_out(spec, self._architecture)

    def _name(self, spec: TensorSpec) -> str | None:
        path, dot, last = spec.name.rpartition(".")
        if path in self._class_heads:
            return f"{self._class_heads[path]}{dot}{last}"
        for end, stem in _ENDS.items():
            if spec.name.endswith("." + end):
                return f"blk.{spec.layer}.{stem}"
        return gguf_name(spec, self._architecture)

    def _written(self, name: str, group: _Group, groups: _Groups) -> _WrittenTensors | None:
        """Names and shapes in the file of what has one name; None where that is not known."""
        shape = group.shape if len(group.names) == 1 else (len(group.names), *group.shape)
        block, _, last = name.rpartition(".")
        path, dot, stem = block.rpartition(".")
        start = path + dot
        width = self._facts.width
        if stem in ("ssm_conv1d", "conv") and len(shape) == 3:
            return [(name, (shape[0], shape[2]))]
        if stem == "attn_kv_b" and self._architecture in _LATENT:
            return self._latent(start, shape, groups)
        if stem == "attn_qkv" and self._architecture in _SPLIT:
            return self._three(start, shape, last)
        if stem == "ffn_gate_up_exps":
            return self._halves(start, shape, last)
        if stem == "ffn_down_exps" and len(shape) == 3 and shape[1] != width:
            return [(name, (shape[0], shape[2], shape[1]))]
        if stem in ("shared_in", "shared_down"):
            return self._shared(start, stem, shape)
        if stem == "qkvz":
            gate = groups.get(f"{start}ssm_out.weight")
            rows = gate.shape[1] if gate else 0
            return [
                (f"{start}attn_qkv.weight", (shape[0] - rows, shape[1])),
                (f"{start}attn_gate.weight", (rows, shape[1])),
            ]
        if stem == "ffn_gate_up":
            return self._gate_and_up(start, shape, last)
        if self._architecture == "dbrx" and stem.endswith("_exps"):
            return self._below_one_another(name, stem, shape)
        if self._architecture in _TRANSPOSED and stem in _CONV1D:
            return [(name, shape[::-1])]
        if stem == "position_embd" and self._prediction.model_type in _PADDED:
            padding = self._config.get("pad_token_id", 1)
            first = padding + 1 if type(padding) is int else 0
            return [(name, (shape[0] - first, *shape[1:]))]
        return [(name, shape)]

    def _latent(self, start: str, shape: _FileShape, groups: _Groups) -> _WrittenTensors | None:
        """Keys and values from the latent, head by head, the keys transposed."""
        output = groups.get(f"{start}attn_output.weight")
        heads = self._facts.heads
        if not output or not heads or shape[0] % heads or output.shape[1] % heads:
            return None
        values = output.shape[1] // heads
        keys = shape[0] // heads - values
        rank = shape[1]
        return [
            (f"{start}attn_k_b.weight", (heads, rank, keys)),
            (f"{start}attn_v_b.weight", (heads, values, rank)),
        ]

    def _three(self, start: str, shape: _FileShape, last: str) -> _WrittenTensors | None:
        """Queries, keys and values apart, by heads; Baichuan's are thirds."""
        heads = self._facts.heads or 0
        kv_heads = heads if self._architecture == "baichuan" else self._facts.kv_heads or heads
        if not heads or shape[0] % (heads + 2 * kv_heads):
            return None
        rows = shape[0] // (heads + 2 * kv_heads)
        counts = (("q", heads), ("k", kv_heads), ("v", kv_heads))
        return [(f"{start}attn_{kind}.{last}", (rows * n, *shape[1:])) for kind, n in counts]

    def _halves(self, start: str, shape: _FileShape, last: str) -> _WrittenTensors | None:
        """Gates and ups of all experts, in one tensor of (experts, 2 · inner, width) or turned."""
        width = self._facts.width
        if self._architecture in _FUSED:
            return [(f"{start}ffn_gate_up_exps.{last}", shape)]
        half: _FileShape
        if len(shape) == 2:
            half = (shape[0], shape[1] // 2)
        elif shape[1] == width:
            half = (shape[0], shape[2] // 2, shape[1])
        elif shape[2] == width:
            half = (shape[0], shape[1] // 2, shape[2])
        else:
            return None
        return [(f"{start}ffn_{kind}_exps.{last}", half) for kind in ("gate", "up")]

    def _gate_and_up(self, start: str, shape: _FileShape, last: str) -> _WrittenTensors | None:
        """OpenELM's: the converter cuts in the middle, even what has no gate."""
        if self._config.get("ffn_with_glu") is False:
            return None
        half = (shape[0] // 2, *shape[1:])
        return [(f"{start}ffn_{kind}.{last}", half) for kind in ("gate", "up")]

    def _below_one_another(self, name: str, stem: str, shape: _FileShape) -> _WrittenTensors | None:
        """Experts in one matrix of (experts · inner, width), which only the last are turned."""
        experts = self._facts.experts or 0
        if not experts or len(shape) != 2 or shape[0] % experts:
            return None
        inner = shape[0] // experts
        width = shape[1]
        sides = (width, inner) if stem == "ffn_down_exps" else (inner, width)
        return [(name, (experts, *sides))]

    def _shared(self, start: str, stem: str, shape: _FileShape) -> _WrittenTensors:
        """Granite's shared expert, which is the MLP where there are no other experts."""
        ending = "_shexp" if self._facts.experts else ""
        if stem == "shared_down":
            return [(f"{start}ffn_down{ending}.weight", shape)]
        half = (shape[0] // 2, *shape[1:])
        return [(f"{start}ffn_{kind}{ending}.weight", half) for kind in ("gate", "up")]

    def _positions(self, tensors: list[GgufTensor]) -> Iterator[tuple[str, _FileShape]]:
        """Factors of positions, which no checkpoint holds."""
        rope: Any = self._config.get("rope_parameters") or self._config.get("rope_scaling")
        rope = rope if isinstance(rope, Mapping) else {}
        if self._architecture == "gemma4":
            widths = [t.shape[0] for t in tensors if t.name.endswith(".attn_q_norm.weight")]
            yield "rope_freqs.weight", (max(widths, default=0) // 2,)  # of the full layers
        kind = rope.get("full_attention") if "full_attention" in rope else rope
        names = (kind.get("rope_type"), kind.get("type")) if isinstance(kind, Mapping) else ()
        if "llama3" in names and self._architecture in _ROPE_FREQS:
            heads = self._facts.heads or 1
            width = self._facts.width or 0
            yield "rope_freqs.weight", ((self._facts.head_dim or width // heads) // 2,)
        if self._architecture in _LONG_FACTORS:
            for length in ("long", "short"):
                factors = rope.get(f"{length}_factor")
                if isinstance(factors, list) and factors:
                    yield f"rope_factors_{length}.weight", (len(factors),)

    def _typed(self, name: str, shape: _FileShape, made_of: tuple[str, ...] = ()) -> GgufTensor:
        module, _, last = name.rpartition(".")
        plain = module.split(".", 2)[-1] if module.startswith("blk.") else module
        wide = len(shape) < 2 or last != "weight" or module.endswith("_norm")
        if self._architecture != "dbrx":  # of it only vectors stay in float32
            wide = wide or plain in _FLOAT32
        return GgufTensor(name, shape, "F32" if wide else "BF16", made_of)

    def _with_numbers(self, tensors: list[GgufTensor]) -> GgufModel | str:
        facts = self._facts
        architecture = self._architecture
        heads = facts.heads or facts.decoder_heads or 0
        kv_heads = facts.kv_heads or heads
        if architecture == "kimi-linear":  # none in a layer without attention
            kv_heads = int(any(t.name.startswith("blk.0.attn_kv_a_mqa.") for t in tensors))
        elif architecture in _LATENT or architecture == "starcoder":
            kv_heads = 1
        elif architecture in ("phi2", "jais"):
            kv_heads = heads
        elif architecture == "openelm":  # a number for each layer
            heads = _first(self._config.get("num_query_heads"), heads) or heads
            kv_heads = _first(self._config.get("num_kv_heads"), kv_heads) or kv_heads
        elif architecture == "deci":  # a number for each layer
            counts = self._config.get("num_key_value_heads_per_layer")
            kv_heads = _first(counts, kv_heads) or kv_heads
        elif architecture == "falcon":
            numbers = self._config.get("num_kv_heads", self._config.get("n_head_kv", 1))
            kv_heads = numbers if type(numbers) is int and numbers > 0 else 1
            if not _fits_heads(tensors, heads, kv_heads):
                return "the converter refuses a Falcon whose num_kv_heads are not its key heads"
        elif architecture in _BY_LAYER and not any(t.name.startswith(_FIRST_K) for t in tensors):
            kv_heads = 0  # mamba2 has none in any layer
        layers = facts.layers or facts.encoder_layers
        if layers is None:
            return "how many layers it has is not known"
        return _model(architecture, layers, facts.experts or 0, heads, kv_heads, tensors)


#: Architectures that keep gates and ups of all experts in one tensor.
_FUSED: Final = frozenset({"gemma4"})
#: Whose joined matrix of queries, keys and values is written as three.
_SPLIT: Final = frozenset({"internlm2", "bailingmoe", "baichuan"})
_FIRST_K: Final = "blk.0.attn_k."


def _fits_heads(tensors: list[GgufTensor], heads: int, kv_heads: int) -> bool:
    """Whether the rows of query, key and value are so many heads."""
    shape = next((t.shape for t in tensors if t.name == "blk.0.attn_qkv.weight"), None)
    if shape is None or not heads or shape[1] % heads:
        return False
    return shape[0] == (heads + 2 * kv_heads) * (shape[1] // heads)


def _model(
    architecture: str,
    layers: int,
    experts: int,
    heads: int,
    kv_heads: int,
    tensors: list[GgufTensor],
) -> GgufModel:
    is_70b = (architecture, layers) in _70B and (architecture != "llama" or heads != kv_heads)
    groups = heads // kv_heads if kv_heads else 0
    return GgufModel(architecture, layers, experts, groups, is_70b, tuple(tensors))


def _as_read(inspection: Inspection) -> GgufModel | str:
    """A GGUF file's own tensors, as they were before they were quantised."""
    metadata = inspection.metadata
    architecture = metadata.get("general.architecture")
    if not isinstance(architecture, str):
        return "the file names no architecture"
    tensors = [_before(tensor) for tensor in inspection.tensors]
    if architecture == "clip":  # llama-quantize reads none of its numbers
        return _model(architecture, 0, 0, 0, 0, tensors)
    heads = _first(metadata.get(f"{architecture}.attention.head_count"))
    kv_heads = _first(metadata.get(f"{architecture}.attention.head_count_kv"), heads)
    layers = _first(metadata.get(f"{architecture}.block_count"))
    if layers is None or (heads is None) != (kv_heads is None):
        return "the file does not say its layers and heads"
    experts = _first(metadata.get(f"{architecture}.expert_count")) or 0
    return _model(architecture, layers, experts, heads or 0, kv_heads or 0, tensors)


def _before(tensor: TensorInfo) -> GgufTensor:
    dtype = "F32" if tensor.dtype == "F32" else "BF16"
    return GgufTensor(tensor.name, tensor.shape, dtype, (tensor.name,))


def _first(value: object, absent: int | None = None) -> int | None:
    """A number, or the first of an array of one for each layer."""
    if isinstance(value, list) and value:
        value = value[0]
    return value if type(value) is int else absent
