"""Damaged and unusual checkpoints, rebuilt from what people reported, with the right answers.

``fixtures/checkpoints/cases.tar.xz`` holds them: sizes of toys, data zeroed. Each is an example of
a kind. A case is unpacked under a neutral name, so that no answer comes from its folder.
"""

from __future__ import annotations

import tarfile
from dataclasses import dataclass
from pathlib import Path

ARCHIVE = Path(__file__).parents[2] / "fixtures" / "checkpoints" / "cases.tar.xz"


@dataclass(frozen=True)
class Case:
    """One case and its right answer.

    Fields:
        path: in the archive
        whole: whether it is; None where nothing says it, ``"error"`` where it cannot be read at all
        kind: of the first problem; empty without one
        words: that the first problem, or the error, has to say
        errors: whether the audit has an error, of whatever group
    """

    path: str
    whole: bool | str | None
    kind: str = ""
    words: tuple[str, ...] = ()
    errors: bool = False


def _damaged(path: str, kind: str, *words: str) -> Case:
    return Case(path, False, kind, words, errors=True)


def _unread(path: str, *words: str) -> Case:
    return Case(path, "error", "", words, errors=True)


CASES = (
    _damaged("c01_zero3_empty", "empty_tensors", "14 weights are empty", "ZeRO-3"),
    _damaged("c03_orig_mod_model", "other_names", "all 21 tensors", "_orig_mod."),
    _damaged("c04_adapter_name", "other_names", "no LoRA pair"),
    _damaged("c10_vocab_rows", "wrong_shapes", "256 rows", "262"),
    _damaged("c11_gguf_extra/a", "broken_contract", "4 tensors are more"),
    _damaged("c11_gguf_extra/c", "missing_tensors"),
    Case("c12_gguf_deci", True, "broken_contract"),
    _damaged("c16_positions", "wrong_shapes", "512", "128"),
    Case("c23_mtp_missing", True, "missing_prediction_layer", ("no speculation",)),
    Case("c27_mlx_gptoss", True),
    Case("f4_mlx/qwen3_5", True),
    Case("f4_mlx/qwen3_moe", True),
    Case("c35_rope/old_linear", True),
    _damaged("f5_config/arch_other", "missing_tensors"),
    _damaged("f5_config/neg_eps", "broken_contract", "eps"),
    _damaged("f6_gguf_contract/attn_k_missing", "missing_tensors"),
    _damaged("f6_gguf_contract/norm_missing", "missing_tensors"),
    _damaged("f6_gguf_contract/kv_shape", "wrong_shapes"),
    _damaged("f6_gguf_contract/embd_len", "wrong_shapes"),
    _damaged("f6_gguf_contract/vocab_size", "wrong_shapes"),
    _damaged("f6_gguf_contract/no_tokenizer", "broken_contract", "tokenizer"),
    _damaged("f6_gguf_contract/split_missing", "missing_files"),
    Case("f6_gguf_contract/unknown_arch", None, "broken_contract", ("no architecture",)),
    Case("f6_gguf_contract/imatrix", None),
    Case("f6_gguf_contract/imatrix2", None),
    Case("f7_pipeline/whole", True),
    Case("f7_pipeline/st_max_seq", True, "parts_differ", ("128 positions", "512")),
    _damaged("f7_pipeline/latent", "parts_differ", "unet does not fit vae"),
    _damaged("f7_pipeline/no_scheduler", "missing_part", "scheduler is not there"),
    _damaged("f7_pipeline/no_te_folder", "missing_part", "text_encoder is not there"),
    _damaged("f7_pipeline/st_dense_in", "parts_differ", "2_Dense does not fit"),
    _damaged("f7_pipeline/st_no_pooling_file", "missing_part", "1_Pooling"),
    _unread("f7_pipeline/empty_unet", "unet/", "the file is empty"),
    _damaged("f8_runs_damage/ckpt_prefix", "other_names", "_checkpoint_wrapped_module."),
    _damaged("f8_runs_damage/deep_prefix", "other_names", "_forward_module."),
    _damaged("f8_runs_damage/peft_merged", "other_names", "PEFT"),
    _damaged("f8_runs_damage/random_names", "other_names", "module."),
    _damaged("f8_runs_damage/missing_shard", "missing_files", "1 of 2 shards is missing"),
    _unread("f8_runs_damage/html", "an HTML page"),
    _unread("f8_runs_damage/truncated", "the last 54,048 of 108,096 bytes are missing"),
    _unread("f10_names/gguf_as_bin", "is a GGUF file"),
    _unread("f10_names/gguf_as_st", "is a GGUF file"),
    _unread("f10_names/gz", "is a gzip archive"),
    _unread("f10_names/st_as_bin", "is a safetensors file"),
    _unread("f10_names/st_as_gguf", "is a safetensors file"),
    _unread("f10_names/torch_as_st", "is a PyTorch file"),
    Case("f12_quant_scope/awq_right", True),
    Case("f12_quant_scope/fp8_right", True),
    Case("f12_quant_scope/awq_mlp_unpacked", True, "unpacked_modules", ("mlp.",)),
    Case("f12_quant_scope/fp8_mlp_bf16", True, "unpacked_modules", ("mlp.",)),
    Case("f12_quant_scope/nvfp4_no_input_scale", True, "broken_contract", ("input_scale",)),
    _damaged("f12_quant_scope/awq_group", "broken_contract", "groups of 64"),
    _damaged("f12_quant_scope/fp8_block", "broken_contract"),
    _damaged("f12_quant_scope/awq_listed_but_packed", "broken_contract", "mlp."),
    _damaged("f12_quant_scope/bnb4_no_quant_state", "broken_contract", "quant_state"),
    _damaged("f12_quant_scope/fp8_no_scales", "broken_contract", "weight_scale_inv"),
    _damaged("f12_quant_scope/gptq_desc_act_no_g_idx", "broken_contract", "g_idx"),
    _damaged("f12_quant_scope/nvfp4_no_scale_2", "broken_contract", "weight_scale_2"),
    _damaged("c35_rope/bad_type", "broken_contract", "rope"),
    Case("c35_rope/no_type", True, "odd_values", ("rope_type",)),
    Case("c35_rope/yarn_no_original", True, "odd_values", ("original_max_position_embeddings",)),
    _damaged("f5_config/act", "broken_contract", "swiglu"),
    _damaged("f5_config/kv_not_divisor", "broken_contract", "num_key_value_heads"),
    _damaged("f5_config/llama3_missing", "broken_contract", "rope"),
    Case("f5_config/attn_impl", True, "odd_values"),
    Case("f5_config/rope_zero", True, "odd_values", ("rope_scaling.factor",)),
    Case("f5_config/quant_empty", True, "odd_values", ("quantization_config",)),
    _damaged("c31_jang", "broken_contract", "bits of the settings"),
)


def unpacked(folder: Path, path: str) -> Path:
    """The case at ``path`` of the archive, under a neutral name below ``folder``."""
    place = folder / "model"
    with tarfile.open(ARCHIVE) as archive:
        members = [one for one in archive.getmembers() if _inside(one.name, path)]
        assert members, path
        for member in members:
            inner = member.name.removeprefix("./").removeprefix(path).lstrip("/")
            target = place / inner
            if member.isdir():
                target.mkdir(parents=True, exist_ok=True)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            file = archive.extractfile(member)
            assert file is not None
            target.write_bytes(file.read())
    return place


def _inside(name: str, path: str) -> bool:
    name = name.removeprefix("./")
    return name == path or name.startswith(f"{path}/")
