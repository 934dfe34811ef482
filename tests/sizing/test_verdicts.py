"""A verdict always: fits, does not fit, or what it depends on."""

from __future__ import annotations

import html
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hfinspect
from hfinspect.core.fitting import DEPENDS, DOES_NOT_FIT, FITS
from hfinspect.errors import HfinspectError, UsageError
from hfinspect.sizing.bounds import Case, decide

from ..builders import write_safetensors
from ..cli.program import ROOT
from ..cli.program import hfinspect as program
from ..schemas import conforms

MODELS = ROOT / "fixtures" / "models"
LLAMA = str(MODELS / "llama-3-8b")
GPT2 = str(MODELS / "gpt2")
#: Real configs that are not part of the project; next to a checkout of it.
CORPUS = Path(os.environ.get("HFINSPECT_CORPUS", Path(__file__).parents[3] / "shared" / "corpus"))
GPTJ: dict[str, Any] = {
    "model_type": "gptj",
    "architectures": ["GPTJForCausalLM"],
    "n_embd": 4096,
    "n_layer": 28,
    "n_head": 16,
    "n_positions": 2048,
    "vocab_size": 50400,
    "rotary_dim": 64,
}
FLUX_VAE: dict[str, Any] = {
    "_class_name": "AutoencoderKL",
    "block_out_channels": [128, 256, 512, 512],
    "in_channels": 3,
    "out_channels": 3,
    "latent_channels": 16,
    "layers_per_block": 2,
    "down_block_types": ["DownEncoderBlock2D"] * 4,
    "up_block_types": ["UpDecoderBlock2D"] * 4,
    "norm_num_groups": 32,
    "sample_size": 1024,
    "use_quant_conv": False,
    "use_post_quant_conv": False,
}


# ---- limits


@given(
    st.integers(1, 1000),
    st.lists(st.tuples(st.integers(0, 1000), st.none() | st.integers(0, 1000)), min_size=1),
)
def test_the_answer_follows_from_the_limits(
    capacity: int, sizes: list[tuple[int, int | None]]
) -> None:
    """No verdict says more than its limits do."""
    cases = [
        Case(f"case {i}", least, None if more is None else least + more)
        for i, (least, more) in enumerate(sizes)
    ]
    verdict = decide(capacity, cases)
    every_fits = all(c.most is not None and c.most <= capacity for c in cases)
    none_fits = all(c.least > capacity for c in cases)
    assert (verdict.answer == FITS) == every_fits
    assert (verdict.answer == DOES_NOT_FIT) == none_fits
    assert verdict.fits == {FITS: True, DOES_NOT_FIT: False, DEPENDS: None}[verdict.answer]
    assert verdict.text.startswith(verdict.answer)


# ---- weights of no dtype


def test_a_width_decides() -> None:
    """GPT-J has 6.05 billion parameters: 12.1 GB at 16 bits and 24.2 GB at float32."""
    memory = hfinspect.memory(GPTJ, on="RTX 4090")
    assert memory.verdict is not None
    assert (memory.verdict.text, memory.fits) == ("depends: 16-bit yes, float32 no", None)


@pytest.mark.parametrize(("on", "fits"), [("1MB", False), ("24GB", True), ("600MB", False)])
def test_limits_decide_without_a_dtype(on: str, fits: bool) -> None:
    """GPT-2 has 62 MB at four bits, 498 MB at float32; and a runtime of 537 MB."""
    assert hfinspect.memory(GPT2, on=on).fits is fits


def test_the_cache_alone_may_be_too_large() -> None:
    """1,024 sequences of 1,024 tokens: 38.7 GB of cache."""
    assert hfinspect.memory(GPT2, on="RTX 4090", batch=1024).fits is False


@pytest.mark.parametrize(
    ("config", "on", "fits"),
    [
        (str(MODELS / "bert-base-uncased"), "RTX 4090", True),
        (str(MODELS / "bert-base-uncased"), "20MB", False),
        (FLUX_VAE, "RTX 4090", True),
        (FLUX_VAE, "20MB", False),
        ({**FLUX_VAE, "torch_dtype": "float32"}, "1GB", None),
    ],
)
def test_what_keeps_nothing(config: Any, on: str, fits: bool | None) -> None:
    """Weights, and the widest activation at most."""
    assert hfinspect.memory(config, on=on).fits is fits


def test_an_unknown_architecture_with_headers(tmp_path: Path) -> None:
    tensors = {"a.weight": ("F32", (64, 64)), "b.weight": ("F32", (64, 256))}
    write_safetensors(tmp_path / "model.safetensors", tensors)
    keys = {"model_type": "of_nobody", "num_hidden_layers": 2, "hidden_size": 64}
    assert hfinspect.memory(str(tmp_path), on="1kB").fits is False
    memory = hfinspect.memory(str(tmp_path), on="24GB")
    assert memory.verdict is not None
    assert "are unknown" in memory.verdict.text
    (tmp_path / "config.json").write_text(json.dumps(keys))
    assert hfinspect.memory(str(tmp_path), on="24GB").fits is True


def test_an_engine_that_does_not_run_it_is_no_yes() -> None:
    config = {"model_type": "xglm", "architectures": ["XGLMForCausalLM"], "dtype": "float16"}
    memory = hfinspect.memory(config, on="80GB", engine="vllm")
    assert memory.verdict is not None
    assert (memory.fits, "no class XGLM" in memory.verdict.text) == (None, True)
    assert hfinspect.memory(config, on="100MB", engine="vllm").fits is False


# ---- several cards


def test_several_cards_are_no_large_one() -> None:
    """Sixteen heads over eight cards: each holds its part, all of it the cards do not."""
    memory = hfinspect.memory(LLAMA, on="8xRTX 3060", context="8k")
    named = hfinspect.memory(LLAMA, on="8xRTX 3060", context="8k", tensor_parallel=8)
    assert (memory.tensor_parallel, memory.total, memory.fits) == (8, named.total, True)
    assert any("--tp 8" in note for note in memory.notes)
    assert not any("no split" in note for note in named.notes)
    # One and a half times all parts is more than the weights, not more than all that is needed.
    assert hfinspect.memory(LLAMA, on="8x2.1GB", context="8k").fits is False


def test_no_more_devices_share_it_than_there_are() -> None:
    with pytest.raises(UsageError, match="8 devices"):
        hfinspect.memory(LLAMA, on="2x80GB", tensor_parallel=8)
    assert hfinspect.memory(LLAMA, on="80GB", tensor_parallel=8).fits
    assert hfinspect.memory(LLAMA, on="8x80GB", tensor_parallel=4).fits


def test_layers_are_dealt_out_where_heads_do_not_divide() -> None:
    memory = hfinspect.memory(GPTJ, on="7x8GB")
    assert (memory.tensor_parallel, memory.pipeline_parallel) == (1, 7)
    memory = hfinspect.memory(LLAMA, on="2x12GB", engine="transformers", context="8k")
    assert (memory.pipeline_parallel, memory.fits) == (2, True)


def test_an_encoder_on_several_cards() -> None:
    config = {
        "model_type": "bert",
        "architectures": ["BertModel"],
        "dtype": "float32",
        "num_hidden_layers": 100,
        "hidden_size": 4096,
        "intermediate_size": 16384,
        "num_attention_heads": 32,
    }
    # 81 GB: no half fits 24 GB, all fits 192 GB; half fits 80 GB, and all does not.
    answers = [hfinspect.memory(config, on=f"2x{size}").fits for size in ("24GB", "192GB", "80GB")]
    assert answers == [False, True, None]


# ---- training


@pytest.mark.parametrize(("on", "fits"), [("RTX 4090", False), ("8TB", True), ("160.9GB", None)])
def test_training_has_a_verdict(on: str, fits: bool | None) -> None:
    """At least 160.6 GB; at most with the gradients of activations too."""
    memory = hfinspect.memory(LLAMA, on=on, train="full")
    assert memory.training is not None
    assert (memory.fits, memory.training.least) == (fits, 160_605_224_960)


def test_training_that_cannot_be_sized() -> None:
    config = {**GPTJ, "quantization_config": {"quant_method": "gptq", "bits": 4}}
    assert hfinspect.memory(config, on="1GB", train="full").fits is False
    memory = hfinspect.memory(config, on="80GB", train="full")
    assert memory.verdict is not None
    assert "packed" in memory.verdict.text


# ---- the program


def test_exit_codes() -> None:
    codes = [program("memory", GPT2, "--on", on).code for on in ("24GB", "1MB", "1.1GB")]
    assert codes == [0, 1, 6]
    assert program("memory", GPT2).code == 0


def test_the_first_lines() -> None:
    out = program("memory", LLAMA, "--on", "RTX 4090", "--train", "full").out
    assert "Full fine-tuning needs at least 161 GB: does not fit RTX 4090" in out.splitlines()[0]
    assert "tokens/s" not in out
    assert "longest" not in out


@pytest.mark.parametrize("name", sorted(path.name for path in MODELS.iterdir()))
@pytest.mark.parametrize("more", [(), ("--train", "full")])
def test_every_fixture_has_a_verdict(name: str, more: tuple[str, ...]) -> None:
    done = program("memory", MODELS / name, "--on", "RTX 4090", *more, "-f", "json")
    answer = json.loads(done.out)
    conforms(answer, "memory")
    assert answer["verdict"]["answer"] in (FITS, DOES_NOT_FIT, DEPENDS)
    assert answer["fits"] == {FITS: True, DOES_NOT_FIT: False}.get(answer["verdict"]["answer"])
    assert done.code == {True: 0, False: 1, None: 6}[answer["fits"]]


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the configs are not there")
def test_every_real_config_has_a_verdict() -> None:
    """All, the open ones with what is missing: ten folders are a list of components alone, one
    config names neither a type nor a class."""
    folders = [path for path in sorted(CORPUS.iterdir()) if path.is_dir()]
    open_ = {}
    for folder in folders:
        memory = hfinspect.memory(str(folder), on="RTX 4090")
        assert memory.verdict is not None, folder.name
        if memory.fits is None:
            open_[folder.name] = memory.verdict.text
    unsized = [text for text in open_.values() if UNSIZED in text]
    assert all("not there" in text or "names neither" in text for text in unsized)
    assert (len(unsized), len(open_) - len(unsized)) <= (11, 5), open_


# ---- a model of which nothing says how large it is

UNSIZED = "the size of the weights is unknown ("
PIPELINE = {
    "_class_name": "StableDiffusionXLPipeline",
    "scheduler": ["diffusers", "EulerDiscreteScheduler"],
    "text_encoder": ["transformers", "CLIPTextModel"],
    "tokenizer": ["transformers", "CLIPTokenizer"],
    "vae": ["diffusers", "AutoencoderKL"],
}
#: What is in the folder -> what the verdict names.
NO_SIZES: dict[str, tuple[dict[str, Any], str]] = {
    "components": (
        {"model_index.json": PIPELINE},
        "text_encoder/config.json, vae/config.json are not there",
    ),
    "one-component": (
        {"model_index.json": PIPELINE, "vae/config.json": FLUX_VAE},
        "text_encoder/config.json is not there",
    ),
    "unknown-component": (
        {
            "model_index.json": {"_class_name": "P", "vae": ["diffusers", "OfNobody"]},
            "vae/config.json": {"_class_name": "OfNobody"},
        },
        "no component's config is of a known class",
    ),
    "unnamed": (
        {"config.json": {"hidden_size": 768, "num_hidden_layers": 12, "vocab_size": 50265}},
        "config.json names neither model_type nor architectures",
    ),
    "unknown-type": (
        {"config.json": {"model_type": "of_nobody", "hidden_size": 64}},
        "model_type 'of_nobody' is not in the catalog",
    ),
    "unknown-class": (
        {"config.json": {"architectures": ["OfNobodyLMHeadModel"]}},
        "class 'OfNobodyLMHeadModel' is not in the catalog",
    ),
}


def _folder(files: dict[str, Any], place: Path) -> str:
    for name, content in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(json.dumps(content))
    return str(place)


@pytest.mark.parametrize("case", NO_SIZES)
def test_nobody_knows_and_the_answer_names_what_is_missing(case: str, tmp_path: Path) -> None:
    """The same in Python, JSON, the table, the page, side by side and in a scan's row."""
    files, reason = NO_SIZES[case]
    folder = _folder(files, tmp_path / "model")
    memory = hfinspect.memory(folder, on="24GB")
    assert memory.verdict is not None
    text = f"depends: {UNSIZED}{reason})"
    assert (memory.fits, memory.verdict.text) == (None, text)
    done = program("memory", folder, "--on", "24GB", "-f", "json")
    answer = json.loads(done.out)
    conforms(answer, "memory")
    assert (done.code, answer["fits"], answer["verdict"]["text"]) == (6, None, text)
    for more in ((), ("-f", "html"), ("--details",)):
        done = program("memory", folder, "--on", "24GB", *more)
        words = " ".join(html.unescape(done.out).split())
        assert (done.code, text in words) == (6, True), more
        assert "--train" not in words, more  # whose size is as unknown
    done = program("memory", folder, GPT2, "--on", "24GB")
    assert (done.code, text in " ".join(done.out.split())) == (6, True)
    (row,) = hfinspect.scan([folder], on="24GB")
    assert isinstance(row, hfinspect.Memory) and row.verdict == memory.verdict
    listed = tmp_path / "list"
    listed.write_text(folder)
    for audit in ((), ("--audit",)):
        rows = program("scan", listed, "--on", "24GB", "-f", "jsonl", *audit).out
        (line,) = [json.loads(one) for one in rows.splitlines()]
        assert (line["fits"], line["device"]) == (None, "24GB")
        assert line["memory_unknown"].startswith(text)


@pytest.mark.parametrize("case", [name for name in NO_SIZES if name != "one-component"])
def test_without_a_device_it_is_an_error(case: str, tmp_path: Path) -> None:
    """There is nothing to say of it."""
    folder = _folder(NO_SIZES[case][0], tmp_path)
    for ask in (hfinspect.memory, hfinspect.inspect):
        with pytest.raises(HfinspectError, match=r"neither|catalog|no component"):
            ask(folder)


def test_the_components_that_are_there_decide(tmp_path: Path) -> None:
    """The autoencoder alone has 83.8 million parameters, 41.9 MB at four bits."""
    folder = _folder(NO_SIZES["one-component"][0], tmp_path)
    assert hfinspect.memory(folder, on="40MB").fits is False
    assert hfinspect.memory(folder, on="43MB").fits is None
    assert hfinspect.inspect(folder).parameters is None
    config = {"model_type": "clip_text_model"}
    whole = hfinspect.memory(_folder({"text_encoder/config.json": config}, tmp_path), on="24GB")
    assert (whole.fits, whole.weights.parameters) == (True, 83_819_683 + 63_165_952)


def test_the_parts_of_a_pipeline_run_one_after_the_other(tmp_path: Path) -> None:
    """A wide text encoder does not work on the autoencoder's pixels: no more than the larger."""
    text = {"model_type": "clip_text_model", "intermediate_size": 65536, "dtype": "float32"}
    vae = {**FLUX_VAE, "torch_dtype": "float32"}
    parts = {"text_encoder/config.json": text, "vae/config.json": vae}
    most = [hfinspect.memory(config, on="1TB").verdict for config in (text, vae)]
    whole = hfinspect.memory(
        _folder({"model_index.json": PIPELINE, **parts}, tmp_path), on="1TB"
    ).verdict
    assert whole is not None and whole.most is not None
    limits = [one.most or 0 for one in most if one is not None]
    assert max(limits) < whole.most < sum(limits)


@pytest.mark.parametrize("train", ["full", "qlora"])
def test_training_what_nobody_knows(train: str, tmp_path: Path) -> None:
    folder = _folder(NO_SIZES["unknown-type"][0], tmp_path)
    memory = hfinspect.memory(folder, on="24GB", train=train)
    assert memory.fits is None
    assert "of_nobody" in repr(memory.verdict)
    assert program("memory", folder, "--on", "24GB", "--train", train).code == 6


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({"config.json": {"model_type": "llama", "hidden_size": "x"}}, "malformed_config"),
        (
            {"config.json": {"model_type": "of_nobody", "hidden_size": 1}, "model.safetensors": 0},
            "malformed_file",
        ),
        ({"readme.json": {}}, "nothing_to_inspect"),
        (
            {
                "model_index.json": {"_class_name": "P", "vae": ["diffusers", "AutoencoderKL"]},
                "vae/config.json": {"_class_name": "AutoencoderKL", "layers_per_block": "two"},
            },
            "nothing_to_inspect",
        ),
    ],
)
def test_what_is_broken_stays_an_error(files: dict[str, Any], kind: str, tmp_path: Path) -> None:
    folder = _folder(files, tmp_path)
    with pytest.raises(HfinspectError) as raised:
        hfinspect.memory(folder, on="24GB")
    assert raised.value.kind == kind
    assert program("memory", folder, "--on", "24GB").code == raised.value.exit_code


# ---- what a call shows


def test_a_memory_in_a_line() -> None:
    line = repr(hfinspect.memory(LLAMA, on="RTX 4090"))
    assert "at 8,192 tokens" in line
    assert line.endswith("fits on RTX 4090>")


@pytest.mark.parametrize(("word", "ours"), [("gpu", "on"), ("kv_dtype", "cache_dtype")])
def test_other_words_for_arguments(word: str, ours: str) -> None:
    with pytest.raises(TypeError, match=f"did you mean '{ours}'"):
        hfinspect.memory(LLAMA, **{word: "24GB"})  # type: ignore[arg-type]


# ---- one answer in every place


@pytest.mark.parametrize(
    ("on", "answer", "longest"),
    [("RTX 4090", True, 1024), ("1MB", False, 0), ("700MB", None, None)],
)
def test_the_row_as_stored_answers_as_the_verdict_does(
    on: str, answer: bool | None, longest: int | None
) -> None:
    """Weights whose dtype is unknown: limits decide in the table as in the first line."""
    memory = hfinspect.memory(GPT2, on=on)
    (card,) = memory.recipes[0].on
    assert (memory.fits, card.at[-1].fits, card.longest) == (answer, answer, longest)


@pytest.mark.parametrize(("on", "answer"), [("RTX 4090", True), ("1MB", False), ("600MB", None)])
def test_so_does_that_of_an_encoder(on: str, answer: bool | None) -> None:
    memory = hfinspect.memory(str(MODELS / "bert-base-uncased"), on=on)
    assert (memory.fits, memory.recipes[0].on[0].at[0].fits) == (answer, answer)


@pytest.mark.parametrize("name", ["gpt2", "bert-base-uncased"])
def test_the_smallest_card_follows_from_limits(name: str) -> None:
    """The card holds the most that the model may need, in memory and in a row of a scan."""
    memory = hfinspect.memory(str(MODELS / name))
    assert memory.smallest_card == "RTX 4060"
    assert hfinspect.memory(str(MODELS / name), on=memory.smallest_card).fits is True
    lines = program("scan", str(MODELS), "--recursive", "--on", "24GB", "-f", "jsonl").out
    rows = [json.loads(line) for line in lines.splitlines()]
    (card,) = {one["smallest_card"] for one in rows if Path(one["target"]).name == name}
    assert card == memory.smallest_card
    assert "fits at float32: RTX 4060" in program("memory", str(MODELS / name), columns=120).out
    assert hfinspect.memory(str(MODELS / name), engine="vllm").smallest_card is None


def test_side_by_side_has_the_limit_that_decided() -> None:
    shown = program("memory", GPT2, str(MODELS / "bert-base-uncased"), "--on", "4090").out
    assert "at most 1.13 GB" in shown and "at most 1.00 GB" in shown


def test_the_first_line_says_whose_share_of_a_card_it_is() -> None:
    """25.8 is what the card holds, 23.7 what vLLM takes of it: not two sizes of one card."""
    titles = {
        engine: program("memory", LLAMA, "--on", "4090", "--engine", engine, columns=120).out
        for engine in ("logical", "vllm")
    }
    assert "RTX 4090 (24 GB = 25.8·10^9 bytes)" in titles["logical"]
    assert "RTX 4090 (24 GB, vllm uses 23.7·10^9 bytes)" in titles["vllm"]
