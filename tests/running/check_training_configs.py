"""Read what ``runs --train`` writes with the classes of DeepSpeed and accelerate.

    pip download --no-deps deepspeed     # its source, unpacked; needs pydantic
    python -m tests.running.check_training_configs DEEPSPEED_FOLDER     # where accelerate is

DeepSpeed's package needs a compiler at import: its classes of configuration are imported alone,
with a stand-in for its logger. accelerate parses each command and makes its plugin of it. The
names of their fields go to ``fixtures/running/training_fields.json``, which the tests compare with.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import re
import shlex
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

import hfinspect

ROOT = Path(__file__).resolve().parents[2]
FIELDS = ROOT / "fixtures" / "running" / "training_fields.json"
MODEL = ROOT / "fixtures" / "models" / "llama-3-8b"
#: Packages whose own ``__init__`` is passed over.
_ALONE = (
    "deepspeed",
    "deepspeed.utils",
    "deepspeed.runtime",
    "deepspeed.runtime.fp16",
    "deepspeed.runtime.zenflow",
    "deepspeed.runtime.zero",
)
#: What precision_config.py takes of a file that needs all of DeepSpeed.
_SCALES = (
    "INITIAL_LOSS_SCALE",
    "SCALE_WINDOW",
    "DELAYED_SHIFT",
    "CONSECUTIVE_HYSTERESIS",
    "MIN_LOSS_SCALE",
)
CASES: list[dict[str, Any]] = [
    {"on": on, "precision": precision, "batch": batch, "checkpointing": True}
    for on in ("H100", "8xH100", "8xL40S", "2xRTX 4090", "4xB200")
    for precision in ("mixed", "bf16", "amp", "fp32")
    for batch in (1, 4)
]


def deepspeed_classes(folder: Path) -> dict[str, Any]:
    for name in _ALONE:
        module = types.ModuleType(name)
        module.__path__ = [str(folder.joinpath(*name.split(".")))]
        module.logger = logging.getLogger(name)  # type: ignore[attr-defined]
        sys.modules[name] = module
    scaler = types.ModuleType("deepspeed.runtime.fp16.loss_scaler")
    for name in _SCALES:
        setattr(scaler, name, name.lower())
    sys.modules[scaler.__name__] = scaler
    zero = importlib.import_module("deepspeed.runtime.zero.config")
    precision = importlib.import_module("deepspeed.runtime.precision_config")
    offload = importlib.import_module("deepspeed.runtime.zero.offload_config")
    for name in [name for name in sys.modules if name.partition(".")[0] == "deepspeed"]:
        del sys.modules[name]  # accelerate asks what is installed
    return {
        "zero_optimization": zero.DeepSpeedZeroConfig,
        "bf16": precision.DeepSpeedBF16Config,
        "offload_optimizer": offload.DeepSpeedZeroOffloadOptimizerConfig,
        "offload_param": offload.DeepSpeedZeroOffloadParamConfig,
    }


def keys_of(folder: Path) -> list[str]:
    """Keys of the file: the constants that runtime/config.py and what it imports look up."""
    runtime = folder / "deepspeed" / "runtime"
    paths = ("constants.py", "precision_config.py", "zero/config.py")
    text = "\n".join((runtime / path).read_text() for path in paths)
    return sorted(set(re.findall(r'^[A-Z0-9_]+ = "([a-z][a-z0-9_]*)"', text, re.MULTILINE)))


def spelled(fields: dict[str, Any]) -> list[str]:
    return sorted(field.alias or name for name, field in fields.items())


def checked(way: Any, classes: dict[str, Any]) -> None:
    config = json.loads(way.config)
    for key, kind in classes.items():
        if key in config:
            made = kind(strict=True, **config[key])
            assert not made.model_extra, (key, made.model_extra)


def by_accelerate(command: str, config: str) -> None:
    from accelerate.commands.launch import launch_command_parser
    from accelerate.utils import DeepSpeedPlugin, FullyShardedDataParallelPlugin
    from accelerate.utils.launch import prepare_deepspeed_cmd_env, prepare_multi_gpu_env

    words = shlex.split(command)[2:]
    options = launch_command_parser().parse_args(words)
    options.num_machines = 1
    options.machine_rank = 0
    options.deepspeed_fields_from_accelerate_config = ""  # there is no file of accelerate's own
    options.dynamo_backend = options.dynamo_backend or "no"
    before = dict(os.environ)
    try:
        with tempfile.TemporaryDirectory() as folder:
            if config:
                options.deepspeed_config_file = str(Path(folder) / "ds_config.json")
                Path(options.deepspeed_config_file).write_text(config)
                os.environ.update(prepare_deepspeed_cmd_env(options)[1])
                plugin = DeepSpeedPlugin()
                plugin.set_mixed_precision(options.mixed_precision)
                wanted = json.loads(config)
                stage = plugin.deepspeed_config["zero_optimization"]["stage"]
                assert stage == wanted["zero_optimization"]["stage"]
                made = plugin.deepspeed_config.get("bf16") or {"enabled": False}
                assert made == wanted.get("bf16", {"enabled": False}), (command, made)
            else:
                os.environ.update(prepare_multi_gpu_env(options))
                sharded = FullyShardedDataParallelPlugin()
                assert sharded.fsdp_version == 2
                flag = "--fsdp_reshard_after_forward true" in command
                assert sharded.reshard_after_forward is flag
    finally:
        os.environ.clear()
        os.environ.update(before)


def main(folder: Path) -> None:
    classes = deepspeed_classes(folder)
    count = 0
    for case in CASES:
        for way in hfinspect.runs(MODEL, engine="vllm", train="full", **case).training:
            if way.launch is None:
                continue
            if way.config:
                checked(way, classes)
            by_accelerate(way.launch.command, way.config)
            count += 1
    fields = {
        "version": (folder / "version.txt").read_text().strip(),
        "": keys_of(folder),
        "torch_autocast": ["dtype", "enabled", "lower_precision_safe_modules"],
        **{name: spelled(kind.model_fields) for name, kind in classes.items()},
    }
    FIELDS.write_text(json.dumps(fields, indent=1) + "\n")
    sys.stdout.write(f"{count} commands of {len(CASES)} cases are taken\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
