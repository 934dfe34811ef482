"""OneFormer (Jain et al. 2023): Mask2Former's pixel decoder; queries that first read the task's
text; for training also an encoder of texts about the picture (transformers/models/oneformer)."""

from itertools import pairwise

from ..layers.deformable import heads, norm, up_down
from ..layers.heads import classifier, register_headed
from ..layers.vision import clip_attention, multihead_attention
from ..trees import Component, ModelConfig
from ..trees import modules as nn
from .mask2former import criterion, pixel_level
from .mask2former import hidden as _hidden

_NAME = "OneFormer"


def _mlp(sizes: list[int], component: Component) -> nn.Module:
    """Linear layers from size to size, each in a block of its own."""
    linears = (nn.Linear(*both, component=component) for both in pairwise(sizes))
    blocks = [nn.Sequential(linear, class_name="PredictionBlock") for linear in linears]
    layers = nn.Sequential(*blocks, component=component)
    return nn.Module(f"{_NAME}MLPPredictionHead", layers=layers)


def decoder(c: ModelConfig) -> nn.Module:
    """Layers in which queries first read the task, and in which they look at the picture."""
    d = _hidden(c)
    conv_width = c.dim("conv_dim", default=256)
    part = f"{_NAME}TransformerDecoder"
    heads(c, "num_attention_heads", d, "hidden_dim")
    plain = clip_attention(f"{_NAME}Attention", d)
    look = multihead_attention(d)
    normed = norm(c, d)
    feed = up_down(d, c.dim("dim_feedforward", default=2048), "linear1", "linear2")
    cross = nn.Module(f"{part}CrossAttentionLayer", multihead_attn=look, norm=normed)
    selves = nn.Module(f"{part}SelfAttentionLayer", self_attn=plain, norm=normed)
    forward = nn.Module(f"{part}FFNLayer", {**feed, "norm": normed})
    query = nn.Module(f"{part}Layer", cross_attn=cross, self_attn=selves, ffn=forward)
    task = {"self_attn": look, "multihead_attn": look, **feed}
    task |= {f"norm{i}": normed for i in (1, 2, 3)}
    block = nn.Module(f"{part}QueryTransformerDecoderLayer", task)
    tasks = nn.Layers.of(c.count("query_dec_layers", default=2), block)
    reading = nn.Module(f"{part}QueryTransformerDecoder", layers=tasks, norm=normed)
    deep = c.count("decoder_layers", "num_hidden_layers", default=10, minimum=1)
    return nn.Module(
        part,
        query_transformer=nn.Module(f"{part}QueryTransformer", decoder=reading),
        decoder_norm=normed,
        # One less than the config says: the queries themselves predict first.
        layers=nn.Layers.of(deep - 1, query),
        query_input_projection=nn.Conv(conv_width, d, 1, component=Component.PROJECTOR),
        class_embed=classifier(d, c.num_labels + 1),
        mask_embed=_mlp([d, d, d, c.dim("mask_dim", default=256)], Component.EMBEDDING),
    )


def text_mapper(c: ModelConfig) -> nn.Module:
    at = "text_encoder"
    d = c.dim("text_encoder_width", default=256)
    deep = c.count(f"{at}_num_layers", default=6)
    contexts = c.count(f"{at}_n_ctx", default=16)
    length = c.dim(f"{at}_context_length", default=77)
    parts = {"self_attn": multihead_attention(d), "layer_norm1": norm(c, d)}
    parts |= {"mlp": nn.Module(f"{_NAME}TextMLP", {**up_down(d, 4 * d)}), "layer_norm2": norm(c, d)}
    layer = nn.Module(f"{_NAME}TextTransformerLayer", parts)
    layers = nn.Layers.of(deep, layer, class_name="Sequential")
    encoder = nn.Module(
        f"{_NAME}TextEncoder",
        transformer=nn.Module(f"{_NAME}TextTransformer", layers=layers),
        positional_embedding=nn.Weight(length, d, component=Component.EMBEDDING, kind="position"),
        ln_final=norm(c, d),
        token_embedding=nn.Embedding(c.dim(f"{at}_vocab_size", default=49408), d),
    )
    between = int(c.count(f"{at}_proj_layers", default=2, minimum=1))
    return nn.Module(
        f"{_NAME}TextMapper",
        text_encoder=encoder,
        text_projector=_mlp([d, *[_hidden(c)] * between], Component.PROJECTOR),
        prompt_ctx=nn.Embedding(contexts, d, kind="position") if contexts else None,
        part="text",
    )


def model(c: ModelConfig) -> nn.Module:
    """Its projections of the maps stand in a plain list: torch does not see them."""
    d = _hidden(c)
    training = c.flag("is_training", default=False)
    task = _mlp([c.dim("task_seq_len", default=77), d, d], Component.HEAD)
    queries = nn.Module(
        f"{_NAME}TransformerModule",
        position_embedder=nn.Activation(f"{_NAME}SinePositionEmbedding"),
        queries_embedder=nn.Embedding(c.dim("num_queries", default=150), d, kind="position"),
        decoder=decoder(c),
        level_embed=nn.Embedding(3, d, kind="position"),
    )
    return nn.Module(
        f"{_NAME}Model",
        pixel_level_module=pixel_level(c, _NAME, "conv_dim", "mask_dim", "strides"),
        transformer_module=queries,
        task_encoder=nn.Module(f"{_NAME}TaskModel", task_mlp=task),
        text_mapper=text_mapper(c) if training else None,
        part="vision",
    )


def loss(c: ModelConfig) -> nn.Module:
    has_scale = "contrastive_temperature" not in c.values or c.has("contrastive_temperature")
    return criterion(c, _NAME, nn.Parameter((), dtype="F64", kind="scale") if has_scale else None)


register_headed("oneformer", _NAME, "ForUniversalSegmentation", model, criterion=loss)
