"""What llama.cpp keeps between tokens of a GGUF file, read from its key-values and tensor names.

Source: ``load_hparams`` and ``create_memory`` in src/llama-model.cpp, ``load_arch_hparams`` in
src/models/*.cpp and src/llama-hparams.cpp of llama.cpp 0.5.0 (in llama_cpp_python 0.3.36, read in
November 2026). No config of transformers is involved: this is the rule for every GGUF file.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from ...core.dims import Dim
from ...core.records import dataclass
from ...trees.cache_layout import CacheItem, KeysValues, State
from .key_numbers import MAX_LAYERS, KeyNumbers, UnreadableKeyError
from .llama_cpp_windows import windowed_layers

#: What this was read from; fixtures/oracle/llama_cpp.json was recorded with it.
VERSION: Final = "0.5.0"

#: ``create_memory`` makes nothing for these: encoders, and models that fill in blanks.
WITHOUT_MEMORY: Final = frozenset(
    """bert jina-bert-v2 jina-bert-v3 nomic-bert nomic-bert-moe neo-bert eurobert wavtokenizer-dec
    modern-bert gemma-embedding dream llada llada-moe rnd1""".split()
)
#: Keys and values in every layer that has any.
_ATTENTION: Final = frozenset(
    """afmoe apertus arcee arctic baichuan bailingmoe bailingmoe2 bitnet bloom chameleon chatglm
    codeshell cogvlm cohere2 cohere2moe command-r dbrx deci deepseek deepseek2 deepseek2-ocr dots1
    ernie4_5 ernie4_5-moe exaone exaone-moe exaone4 falcon gemma gemma2 gemma3 gemma3n gemma4 glm4
    glm4moe gpt-oss gpt2 gptneox granite granite_swa granitemoe graniteswitch grok grovemoe hrm_text
    hunyuan-dense hunyuan-moe hunyuan_vl hy_v3 hy_v4 internlm2 jais jais2 laguna llama llama-embed
    llama4 maincoder maple mellum mimo2 minicpm minicpm3 minimax-m2 mistral3 mistral4 mpt
    muse-glimmer nanbeige nemotron olmo olmo2 olmoe openelm orion paddleocr pangu-embedded phi2 phi3
    phimoe plamo plamo3 plm pockettts qwen qwen2 qwen2moe qwen2vl qwen3 qwen3moe qwen3tts qwen3vl
    qwen3vlmoe refact seed_oss smallthinker smollm3 spark2_5 stablelm starcoder starcoder2 step35 t5
    t5encoder talkie xverse""".split()
)
#: An indexer's keys next to those of attention.
_INDEXED: Final = frozenset({"deepseek32", "dots3note", "glm-dsa", "hy_v4", "minimax-m3"})
_RECURRENT: Final = frozenset("mamba mamba2 rwkv6 rwkv6qwen2 rwkv7 arwkv7".split())
#: Layers without key/value heads keep a state.
_BY_HEADS: Final = frozenset(
    """bailingmoe3 glm5-next granitehybrid jamba kimi-k3 kimi-linear lfm2 lfm2moe plamo2""".split()
)
#: Each so many-th layer has attention where the file does not list the others.
_BY_INTERVAL: Final[Mapping[str, int]] = {
    "qwen3next": 4,
    "qwen35": 4,
    "qwen35moe": 4,
    "qwen4exp": 4,
    "minimax-01": 8,
}
_NEMOTRON: Final = frozenset({"nemotron_h", "nemotron_h_moe"})
_HYBRID: Final = _BY_HEADS | _BY_INTERVAL.keys() | _NEMOTRON | {"falcon-h1"}
#: Drafts that use the cache of the model they draft for, or need it to be loaded first.
_DRAFTS: Final = frozenset({"gemma4-assistant", "eagle3", "dflash"})
#: Every architecture that llama.cpp loads as a model.
ARCHITECTURES: Final = (
    WITHOUT_MEMORY | _ATTENTION | _INDEXED | _RECURRENT | _HYBRID | _DRAFTS | {"deepseek4"}
)

#: An indexer next to keys and values of each head that keeps keys alone.
KEYS_ALONE: Final = frozenset({"glm5-next", "qwen4exp"})
#: One latent row a token where the file has ``key_length_mla`` and ``value_length_mla``.
LATENT: Final = frozenset(
    """bailingmoe3 deepseek2 deepseek32 dots3note glm-dsa glm5-next hy_v4 kimi-k3 kimi-linear
    mistral4""".split()
)
_KDA: Final = frozenset({"bailingmoe3", "glm5-next", "kimi-k3", "kimi-linear"})
_STATE_SPACES: Final = frozenset(
    """falcon-h1 granitehybrid jamba mamba mamba2 nemotron_h nemotron_h_moe plamo2 qwen3next qwen35
    qwen35moe qwen4exp""".split()
)
_WITHOUT_GROUPS: Final = frozenset({"jamba", "mamba"})
_F32: Final = "F32"
_U32: Final = 2**32
#: Tokens that share a row of DeepSeek-V4's compressed caches, by the kind of the layer.
_CSA = 4
_HCA = 128


@dataclass(frozen=True)
class CacheLayer:
    """What one layer keeps; ``windowed`` layers hold no more than the window."""

    cache: tuple[CacheItem, ...] = ()
    windowed: bool = False


@dataclass(frozen=True)
class CacheLayout:
    """What llama.cpp keeps of a file.

    Fields:
        architecture: ``general.architecture``
        layers: in order, those that predict further tokens (MTP) last
        window: tokens that windowed layers look back; 0 where there are none
    """

    architecture: str
    layers: tuple[CacheLayer, ...]
    window: int = 0


def indexer_row(key_length: Dim | int, value: int, *, pooled: bool) -> KeysValues:
    """What an indexer keeps of a token; where tokens are pooled the key, its gate and the pooled
    key."""
    size = key_length * 3 if pooled else key_length
    return KeysValues(size, value, heads=1, latent=True, name="indexer")


def cache_layout(
    metadata: Mapping[str, object], shapes: Mapping[str, Sequence[int]]
) -> CacheLayout | str:
    """What llama.cpp would keep, or why it is not known, with the name of the key.

    ``shapes`` are the tensors' row-major shapes by name. A file that contradicts itself, and that
    llama.cpp would refuse to load, gives a reason.
    """
    architecture = metadata.get("general.architecture")
    if not isinstance(architecture, str):
        return "the key-values have no general.architecture"
    if architecture not in ARCHITECTURES:
        return f"llama.cpp {VERSION} has no architecture {architecture[:64]!r}"
    if architecture in _DRAFTS:
        return f"{architecture} drafts for another model and is loaded with it"
    try:
        reader = _KeyReader(architecture, metadata, shapes)
        return reader.layout()
    except UnreadableKeyError as error:
        return str(error)


class _KeyReader:
    """``llama_hparams`` as the loader fills them, as far as caches depend on them."""

    def __init__(
        self, architecture: str, metadata: Mapping[str, object], shapes: Mapping[str, Sequence[int]]
    ) -> None:
        self.architecture = architecture
        self.keys = keys = KeyNumbers(metadata, architecture)
        self.shapes = shapes
        self.width = keys.number("embedding_length")
        self.layers = keys.number("block_count")
        if not 0 < self.layers <= MAX_LAYERS:
            raise UnreadableKeyError(f"{keys.full('block_count')} is not 1 to {MAX_LAYERS}")
        self.mtp = self._predicting()
        self.trunk = self.layers - self.mtp
        self.inner = keys.per_layer("feed_forward_length", self.layers, [0] * self.layers)
        none = [0] * self.layers if architecture in _RECURRENT else None
        self.heads = keys.per_layer("attention.head_count", self.layers, none)
        self.kv_heads = keys.per_layer("attention.head_count_kv", self.layers, self.heads)
        self._repeat()
        self._check_blocks()
        self.key, self.value = self._head_sizes(
            "", self.width // self.heads[0] if self.heads[0] else 0
        )
        if architecture == "plamo2":
            self.key = keys.number("attention.key_length", self.key)
            self.value = keys.number("attention.value_length", self.value)
        window_key = keys.number("attention.key_length_swa", self.key if self.heads[0] else 0)
        window_value = keys.number("attention.value_length_swa", self.value if self.heads[0] else 0)
        self.window, self.windowed = windowed_layers(architecture, keys, self.layers, self.trunk)
        self.head_sizes = [
            (window_key, window_value) if windowed else (self.key, self.value)
            for windowed in self.windowed
        ]
        self.recurrent = self._recurrent()
        self.latent = self._is_latent()

    # ---- reading

    def _check_blocks(self) -> None:
        numbers = [_block(name) for name in self.shapes]
        highest = max((number for number in numbers if number is not None), default=-1)
        if highest >= self.layers:
            raise UnreadableKeyError(
                f"{self.keys.full('block_count')} says {self.layers}, and a tensor is of block "
                f"{highest}"
            )
        if self.layers > max(1, len(self.shapes)):
            raise UnreadableKeyError(
                f"{self.keys.full('block_count')} says {self.layers}, and the file has "
                f"{len(self.shapes)} tensors"
            )

    def _predicting(self) -> int:
        mtp = self.keys.number("nextn_predict_layers", 0)
        if mtp > self.layers:
            raise UnreadableKeyError(f"{self.keys.full('nextn_predict_layers')} is too large")
        if self.architecture == "deepseek4" and mtp:
            probe = f"blk.{self.layers - mtp}.nextn.eh_proj.weight"
            return mtp if probe in self.shapes else 0
        return mtp

    def _head_sizes(self, suffix: str, default: int) -> tuple[int, int]:
        if not self.heads[0]:
            return 0, 0
        return (
            self.keys.number(f"attention.key_length{suffix}", default),
            self.keys.number(f"attention.value_length{suffix}", default),
        )

    def _repeat(self) -> None:
        """Layers of which llama.cpp makes more than the file has."""
        loops = self.keys.number("num_loops", 1) if self.architecture == "nanbeige" else 1
        if not 1 <= loops * self.trunk <= MAX_LAYERS or loops > MAX_LAYERS:
            raise UnreadableKeyError(f"{self.keys.full('num_loops')} makes too many layers")
        if loops > 1:
            self.inner = self.inner[: self.trunk] * loops
            self.heads = self.heads[: self.trunk] * loops
            self.kv_heads = self.kv_heads[: self.trunk] * loops
            self.layers = self.trunk * loops
            self.trunk = self.layers - self.mtp
        if self.architecture == "graniteswitch":  # a router's keys and values, of one head
            self.inner.append(0)
            self.heads.append(1)
            self.kv_heads.append(1)
            self.trunk = self.layers
            self.layers = self.layers + 1
            self.mtp = 1

    def _recurrent(self) -> list[bool]:
        if self.architecture in _RECURRENT or self.architecture == "falcon-h1":
            return [True] * self.layers
        if self.architecture in _BY_HEADS:
            count = self.layers if self.architecture == "glm5-next" else self.trunk
            return [il < count and not self.kv_heads[il] for il in range(self.layers)]
        if self.architecture in _NEMOTRON:
            return [
                il < self.trunk and not self.kv_heads[il] and not self.inner[il]
                for il in range(self.layers)
            ]
        if self.architecture not in _BY_INTERVAL:
            return [False] * self.layers
        if self.keys.has("attention.recurrent_layers"):
            listed = self.keys.per_layer("attention.recurrent_layers", self.layers)
            return [bool(item) for item in listed]
        every = self.keys.number("full_attention_interval", _BY_INTERVAL[self.architecture])
        if every == 0:
            raise UnreadableKeyError(f"{self.keys.full('full_attention_interval')} is 0")
        return [il < self.trunk and (il + 1) % every != 0 for il in range(self.layers)]

    def _is_latent(self) -> bool:
        if self.architecture not in LATENT:
            return False
        names = ("attention.key_length_mla", "attention.value_length_mla")
        key, value = (self.keys.number(name, 0) for name in names)
        if bool(key) != bool(value):
            raise UnreadableKeyError(f"only one of {' and '.join(map(self.keys.full, names))}")
        return bool(key)

    # ---- what is kept

    def layout(self) -> CacheLayout:
        name = self.architecture
        if name in WITHOUT_MEMORY:
            return CacheLayout(name, tuple(CacheLayer() for _ in range(self.layers)))
        if name == "deepseek4":
            return self._made(self._compressed())
        by_layer: list[tuple[CacheItem, ...]] = []
        for il in range(self.layers):
            cache: tuple[CacheItem, ...] = ()
            if self._attends(il):
                cache += (self._rows(il),)
                if self._has_indexer(il):
                    cache += (self._indexer(),)
            if self._keeps_state(il):
                cache += self._states(il)
            by_layer.append(cache)
        return self._made(by_layer)

    def _made(self, by_layer: Sequence[tuple[CacheItem, ...]]) -> CacheLayout:
        self._check_shapes(by_layer)
        layers = tuple(
            CacheLayer(cache, windowed)
            for cache, windowed in zip(by_layer, self.windowed, strict=True)
        )
        return CacheLayout(self.architecture, layers, self.window)

    def _attends(self, il: int) -> bool:
        """The layers of which keys and values are kept, as ``create_memory`` filters them."""
        name = self.architecture
        if name in _RECURRENT:
            return False
        if name == "falcon-h1":
            return True
        if name in _NEMOTRON:
            return not self.recurrent[il] and not self.inner[il]
        if name in _HYBRID:
            trunk_only = name in _BY_INTERVAL or name == "glm5-next"
            return not self.recurrent[il] and (il < self.trunk or not trunk_only)
        if name == "gemma3n":
            return il < 20  # n_layer_kv_from_start
        if name == "gemma4":
            shared = self.keys.number("attention.shared_kv_layers", 0)
            if shared > self.layers:
                raise UnreadableKeyError(
                    f"{self.keys.full('attention.shared_kv_layers')} is too large"
                )
            if il >= self.layers - shared:
                return False
        every_layer = name in ("minimax-m3", "hy_v4", "graniteswitch") or not self.trunk
        return il < self.trunk or every_layer

    def _rows(self, il: int) -> KeysValues:
        (key, value) = self.head_sizes[il]
        heads = self.kv_heads[il]
        return KeysValues(
            self._small(key * heads),
            0 if self.latent else self._small(value * heads),
            heads=heads or None,
            latent=self.latent,
        )

    def _has_indexer(self, il: int) -> bool:
        name = self.architecture
        if name == "minimax-m3":
            return il >= self.keys.number("leading_dense_block_count", 0)
        if name == "qwen4exp":
            return il < self.trunk and self.keys.number("attention.indexer.key_length") > 0
        if name == "hy_v4" and not self.keys.number("attention.indexer.top_k", 0):
            return False
        if name not in _INDEXED and name != "glm5-next":
            return False
        return il < self.trunk and self._indexers()[il]

    def _indexers(self) -> list[bool]:
        """Layers with an indexer of their own; others use the last one's choice."""
        name = self.architecture
        key = "attention.indexer.types"
        every = [1] * self.trunk
        if name == "deepseek32":
            return [True] * self.trunk
        if name == "dots3note":
            listed = self.keys.required_array(key)
            return [bool(item) for item in (listed + [0] * self.trunk)[: self.trunk]]
        if name == "glm-dsa" and self.keys.number("context_length") >= 1_048_576:
            every = [1, 1] + [1, 0, 0, 0] * MAX_LAYERS  # GLM_5_2_DEFAULT_INDEXER_TYPES
        if name == "hy_v4":
            every = [0] * self.trunk
        listed = self.keys.per_layer(key, self.trunk, every[: self.trunk])
        return [bool(item) for item in listed]

    def _indexer(self) -> KeysValues:
        size = self.keys.number("attention.indexer.key_length")
        name = self.architecture
        pooled = False
        if name == "glm5-next":
            pooled = self.keys.number("attention.indexer.kpool") > 0
        value = 0 if self.latent or name in KEYS_ALONE else self.value
        row = indexer_row(size, value, pooled=pooled)
        self._small(int(row.key)), self._small(value)
        return row

    def _keeps_state(self, il: int) -> bool:
        name = self.architecture
        if il >= self.trunk or not self.recurrent[il]:
            return False
        return name not in _NEMOTRON or not self.inner[il]

    def _states(self, il: int) -> tuple[CacheItem, ...]:
        """``n_embd_r`` and ``n_embd_s``: of a convolution's columns, and of what runs on."""
        columns, running = self._state_sizes()
        states: list[CacheItem] = []
        if columns:
            states.append(State("convolution", (self._small(columns),), _F32))
        if running:
            states.append(State("recurrent", (self._small(running),), _F32))
        if self.architecture == "qwen4exp" and il in (self.keys.array("ple.layers") or ()):
            states.append(State("convolution", (self._small(self._ngrams()),), _F32))
        return tuple(states)

    def _state_sizes(self) -> tuple[int, int]:
        name = self.architecture
        number = self.keys.number
        if name in _RECURRENT and name not in _STATE_SPACES:  # RWKV
            size = number("wkv.head_size")
            shifts = number("token_shift_count", 2)
            return shifts * self.width, self.width * size
        if name in ("lfm2", "lfm2moe"):
            return self.width * max(number("shortconv.l_cache") - 1, 0), 0
        if name in _KDA:
            size = number("kda.head_dim")
            kernel = number("ssm.conv_kernel")
            inner = self.heads[0] * size
            return 3 * (kernel - 1 if kernel else 3) * inner, size * inner
        if name == "minimax-01":
            return 0, self.key * self.key * self.heads[0]
        kernel = number("ssm.conv_kernel")
        inner = number("ssm.inner_size")
        state = number("ssm.state_size")
        groups = 0 if name in _WITHOUT_GROUPS else number("ssm.group_count")
        return max(kernel - 1, 0) * (inner + 2 * groups * state), state * inner

    def _ngrams(self) -> int:
        """``ple_conv_state``: rows of n-grams that Qwen4's per-layer embedding keeps."""
        number = self.keys.number
        size = number("ple.ngram_size")
        kernel = number("ple.conv_kernel")
        if size < 2 or not kernel:
            raise UnreadableKeyError(f"{self.keys.full('ple.ngram_size')} is less than 2")
        return (kernel - 1) * size * number("hyper_connection.count") * self.width

    def _compressed(self) -> list[tuple[CacheItem, ...]]:
        """DeepSeek-V4: every layer a window of latents, some next to them rows of many tokens."""
        ratios = self.keys.required_array("attention.compress_ratios")
        if len(ratios) < self.layers:
            raise UnreadableKeyError(
                f"{self.keys.full('attention.compress_ratios')} has {len(ratios)} items for "
                f"{self.layers} layers"
            )
        indexer = self.keys.number("attention.indexer.key_length")
        by_layer: list[tuple[CacheItem, ...]] = []
        for il in range(self.layers):
            size = self.head_sizes[il][0]
            row = self._small(size * self.kv_heads[il])
            cache: tuple[CacheItem, ...] = (KeysValues(row, 0, latent=True, by_sequence=True),)
            ratio = ratios[il]
            if ratio == _CSA:
                cache += (
                    KeysValues(row, 0, latent=True, name="compressed keys", every=_CSA),
                    KeysValues(self._small(indexer), 0, latent=True, name="indexer", every=_CSA),
                )
            elif ratio == _HCA:
                cache += (KeysValues(row, 0, latent=True, name="compressed keys", every=_HCA),)
            if il < self.trunk and ratio in (_CSA, _HCA):
                cache += self._compressor_states(ratio, indexer)
            by_layer.append(cache)
        return by_layer

    def _compressor_states(self, ratio: int, indexer: int) -> tuple[State, ...]:
        """Keys and scores of the tokens in no full row yet, in float32."""
        if ratio == _HCA:
            return (State("compressor", (2, _HCA, self._small(self.key)), _F32),)
        return tuple(
            State("compressor", (2, 2 * _CSA, self._small(2 * size)), _F32)
            for size in (self.key, indexer)
        )

    # ---- what contradicts itself

    def _small(self, number: int) -> int:
        if number >= _U32:
            raise UnreadableKeyError(
                f"{self.keys.full('attention.head_count_kv')} and the sizes of heads are too large"
            )
        return number

    def _check_shapes(self, by_layer: Sequence[tuple[CacheItem, ...]]) -> None:
        """``create_tensor`` refuses a projection whose rows are not what the key-values say."""
        if self.latent or self.architecture in ("deepseek4", "minicpm3", "plm", "nanbeige"):
            return
        for il, cache in enumerate(by_layer):
            for item in cache:
                if isinstance(item, KeysValues) and not item.name:
                    self._check_rows(il, int(item.key), int(item.value))

    def _check_rows(self, il: int, key: int, value: int) -> None:
        rows_by_part = {"attn_k": key, "attn_v": value}
        if self.architecture in _ATTENTION:
            rows_by_part["attn_qkv"] = self.heads[il] * self.head_sizes[il][0] + key + value
        for part, rows in rows_by_part.items():
            shape = self.shapes.get(f"blk.{il}.{part}.weight")
            if shape is not None and len(shape) == 2 and shape[0] != rows:
                raise UnreadableKeyError(
                    f"blk.{il}.{part}.weight has {shape[0]:,} rows, and "
                    f"{self.keys.full('attention.head_count_kv')} and the sizes of heads say "
                    f"{rows:,}"
                )


def _block(name: str) -> int | None:
    parts = name.split(".", 2)
    if parts[0] != "blk" or len(parts) < 3 or not parts[1].isascii() or not parts[1].isdigit():
        return None
    return int(parts[1][:10])
