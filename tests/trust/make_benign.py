"""Writes ``fixtures/trust/benign.json``: small files as libraries really save them.

    python -m tests.trust.make_benign fixtures/trust/benign.json

Needs torch, transformers, accelerate, diffusers, lightning, scikit-learn, joblib, peft,
sentence-transformers, speechbrain and omegaconf. The bytes are kept as recorded, with the versions
they were written by, as LZMA in base64. fairseq does not build under today's Python: its
checkpoints are the same objects by class names (``argparse.Namespace``, omegaconf's ``DictConfig``)
in the layout of ``fairseq/checkpoint_utils.py``, and say so under "how".
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import json
import lzma
import pickle
import random
import sys
import tempfile
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

MAX_BYTES = 100_000
TEXT = (".json", ".md", ".yaml", ".txt", ".safetensors")
#: Writes files into a folder.
Maker = Callable[[Path], None]
_MAKERS: dict[str, Maker] = {}


def maker(library: str) -> Callable[[Maker], Maker]:
    def register(function: Maker) -> Maker:
        _MAKERS[library] = function
        return function

    return register


@maker("torch")
def torch_files(folder: Path) -> None:
    import torch
    from torch import nn

    for inner in ("adamw", "sgd", "adagrad"):
        (folder / inner).mkdir(exist_ok=True)
    model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Linear(3, 2))
    state = model.state_dict()
    for suffix in ("bin", "pt", "pth", "ckpt", "th"):
        torch.save(state, folder / f"state.{suffix}")
    torch.save(state, folder / "legacy.pt", _use_new_zipfile_serialization=False)
    for protocol in (3, 4, 5):
        torch.save(state, folder / f"protocol{protocol}.pt", pickle_protocol=protocol)
    for dtype in (
        torch.float16,
        torch.bfloat16,
        torch.float8_e4m3fn,
        torch.int64,
        torch.bool,
        torch.complex64,
        torch.uint16,
    ):
        torch.save({"a": torch.zeros(3, dtype=dtype)}, folder / f"{str(dtype)[6:]}.pt")
    torch.save(torch.arange(6).reshape(2, 3), folder / "tensor.pt")
    torch.save([torch.zeros(2), {"x": (1, 2.5, "y")}], folder / "list.pt")
    torch.save({"a": nn.Parameter(torch.zeros(2))}, folder / "parameter.pt")
    torch.save({"a": torch.eye(3).to_sparse()}, folder / "sparse.pt")
    torch.save(torch.quantize_per_tensor(torch.zeros(4), 0.1, 0, torch.qint8), folder / "quant.pt")
    torch.save(torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)]), folder / "nested.pt")
    torch.save({"a": torch.zeros(2, device="meta")}, folder / "meta.pt")
    for kind in (torch.optim.AdamW, torch.optim.SGD, torch.optim.Adagrad):
        optimizer = kind(model.parameters(), lr=0.1)
        model(torch.zeros(2, 4)).sum().backward()
        optimizer.step()
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0)
        name = kind.__name__.lower()
        torch.save(optimizer.state_dict(), folder / f"{name}" / "optimizer.pt")
        torch.save(schedule.state_dict(), folder / f"{name}" / "scheduler.pt")
    checkpoint = {
        "epoch": 1,
        "state_dict": state,
        "optimizer": optimizer.state_dict(),
        "best": 0.5,
        "args": argparse.Namespace(lr=0.1, name="x"),
    }
    torch.save(checkpoint, folder / "training.pt")
    torch.save({"torch": torch.get_rng_state(), "python": random.getstate()}, folder / "rng.pt")
    with_time = {"when": datetime(2026, 1, 2, tzinfo=timezone.utc), "took": timedelta(seconds=3)}
    torch.save({**with_time, "path": Path("a/b")}, folder / "times.pt")
    torch.jit.script(nn.Linear(2, 2)).save(str(folder / "script.pt"))
    torch.jit.trace(model.eval(), torch.zeros(2, 4)).save(str(folder / "traced.pt"))
    (folder / "plain.pkl").write_bytes(pickle.dumps({"a": torch.zeros(3)}))
    (folder / "plain0.pkl").write_bytes(pickle.dumps({"a": torch.zeros(3)}, 0))


@maker("numpy")
def numpy_files(folder: Path) -> None:
    import numpy as np

    np.save(folder / "numbers.npy", np.arange(6.0))
    np.savez(folder / "many.npz", a=np.zeros(3), b=np.array(["x", "yy"]))
    np.savez_compressed(folder / "packed.npz", a=np.zeros(300))
    values = {
        "array": np.eye(3),
        "scalar": np.float32(1.5),
        "ints": np.arange(3),
        "text": "x",
        "names": np.array(["a", "b"]),
        "objects": np.array([None, "a", 1], dtype=object),
        "dtype": np.dtype([("a", "f4"), ("b", "i8")]),
        "record": np.zeros(2, dtype=[("a", "f4"), ("b", "i8")]),
        "time": np.datetime64("2026-01-01"),
    }
    for protocol in range(6):
        (folder / f"values{protocol}.pkl").write_bytes(pickle.dumps(values, protocol))
    generator = np.random.default_rng(1)
    states = {"old": np.random.get_state(), "new": generator, "mt": np.random.RandomState(1)}
    (folder / "states.pkl").write_bytes(pickle.dumps(states))
    np.save(folder / "words.npy", np.array(["a", None], dtype=object), allow_pickle=True)


@maker("python")
def python_files(folder: Path) -> None:
    values = {
        "a": [1, 2.5, None, True],
        "b": {"x", "y"},
        "c": frozenset({1}),
        "d": (1, (2,)),
        "e": b"bytes",
        "f": bytearray(b"x"),
        "g": OrderedDict(a=1),
        "h": 2**80,
        "i": defaultdict(list, {"a": [1]}),
        "j": complex(1, 2),
        "k": range(3),
        "l": slice(1, 2),
    }
    for protocol in range(6):
        (folder / f"vocab{protocol}.pkl").write_bytes(pickle.dumps(values, protocol))
        (folder / f"vocab{protocol}.bin").write_bytes(pickle.dumps(["a", "b", 3], protocol))


@maker("transformers")
def transformers_files(folder: Path) -> None:
    import torch
    from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

    config = BertConfig(
        vocab_size=20,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=8,
        max_position_embeddings=8,
    )
    model = BertForSequenceClassification(config)
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    row = {"input_ids": torch.zeros(4, dtype=torch.long), "labels": torch.tensor(0)}
    runs: dict[str, dict[str, Any]] = {
        "plain": {},
        "cosine": {"lr_scheduler_type": "cosine"},
        "labels": {"label_smoothing_factor": 0.1, "optim": "adafactor"},
    }
    for name, extra in runs.items():
        out = folder / name
        arguments = TrainingArguments(
            str(out),
            max_steps=2,
            save_steps=1,
            report_to=[],
            per_device_train_batch_size=2,
            use_cpu=True,
            disable_tqdm=True,
            **extra,
        )
        Trainer(model, arguments, train_dataset=[row] * 4).train()
        for junk in out.rglob("*"):
            if junk.is_file() and junk.suffix not in (".pt", ".pth", ".bin"):
                junk.unlink()
    for kind in ("TrainingArguments", "Seq2SeqTrainingArguments"):
        import transformers

        (folder / kind).mkdir(exist_ok=True)
        arguments = getattr(transformers, kind)(str(folder / "out"), report_to=[], use_cpu=True)
        torch.save(arguments, folder / kind / "training_args.bin")


@maker("accelerate")
def accelerate_files(folder: Path) -> None:
    import torch
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    loader = torch.utils.data.DataLoader(list(range(4)), shuffle=True)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    accelerator.prepare(model, optimizer, loader, schedule)
    accelerator.save_state(str(folder / "safe"))
    accelerator.save_state(str(folder / "bins"), safe_serialization=False)


@maker("lightning")
def lightning_files(folder: Path) -> None:
    import lightning
    import torch
    from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint

    class Net(lightning.LightningModule):  # type: ignore[misc]
        def __init__(self, width: int = 3, name: str = "x", layers: Any = None) -> None:
            super().__init__()
            self.save_hyperparameters()
            self.layer = torch.nn.Linear(width, 1)

        def training_step(self, batch: Any, _: int) -> Any:
            loss = self.layer(batch).sum()
            self.log("loss", loss)
            return loss

        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.AdamW(self.parameters())
            return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1)]

    data = torch.utils.data.DataLoader(torch.zeros(4, 3), batch_size=2)
    for name, layers in (("plain", None), ("lists", [1, 2]), ("dicts", {"a": 1})):
        saver = ModelCheckpoint(folder / name, monitor="loss", save_last=True, every_n_epochs=1)
        stopper = EarlyStopping("loss", mode="min")
        trainer = lightning.Trainer(
            max_epochs=1,
            accelerator="cpu",
            logger=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            callbacks=[saver, stopper],
            default_root_dir=folder,
        )
        trainer.fit(Net(layers=layers), data)
        trainer.save_checkpoint(folder / f"{name}.ckpt")


@maker("scikit-learn")
def sklearn_files(folder: Path) -> None:
    import joblib
    import numpy as np
    from sklearn import (
        cluster,
        compose,
        decomposition,
        ensemble,
        feature_extraction,
        gaussian_process,
        linear_model,
        naive_bayes,
        neighbors,
        neural_network,
        pipeline,
        preprocessing,
        svm,
        tree,
    )

    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 3))
    y: Any = np.arange(30) % 3
    estimators = {
        "logistic": linear_model.LogisticRegression(),
        "ridge": linear_model.Ridge(),
        "sgd": linear_model.SGDClassifier(),
        "svc": svm.SVC(probability=False),
        "tree": tree.DecisionTreeClassifier(),
        "forest": ensemble.RandomForestClassifier(n_estimators=3),
        "boosting": ensemble.GradientBoostingClassifier(n_estimators=3),
        "hist": ensemble.HistGradientBoostingClassifier(max_iter=3),
        "isolation": ensemble.IsolationForest(n_estimators=3),
        "neighbors": neighbors.KNeighborsClassifier(algorithm="kd_tree"),
        "ball": neighbors.KNeighborsClassifier(algorithm="ball_tree"),
        "mlp": neural_network.MLPClassifier((3,), max_iter=5),
        "bayes": naive_bayes.GaussianNB(),
        "kmeans": cluster.KMeans(2, n_init=1),
        "pca": decomposition.PCA(2),
        "process": gaussian_process.GaussianProcessRegressor(),
        "pipe": pipeline.make_pipeline(
            preprocessing.StandardScaler(),
            preprocessing.PolynomialFeatures(),
            linear_model.LogisticRegression(),
        ),
        "columns": compose.ColumnTransformer(
            [
                ("a", preprocessing.OneHotEncoder(handle_unknown="ignore"), [0]),
                ("b", preprocessing.MinMaxScaler(), [1, 2]),
            ]
        ),
        "log": preprocessing.FunctionTransformer(np.log1p),
    }
    texts = feature_extraction.text.TfidfVectorizer().fit(["a b", "words of text"])
    fitted = {name: made.fit(x, y) for name, made in estimators.items()}
    for name, made in {**fitted, "tfidf": texts}.items():
        joblib.dump(made, folder / f"{name}.joblib")
        (folder / f"{name}.pkl").write_bytes(pickle.dumps(made, 2 if len(name) % 2 else 5))


@maker("joblib")
def joblib_files(folder: Path) -> None:
    import joblib
    import numpy as np
    import torch

    joblib.dump({"a": np.zeros((300, 4)), "b": [np.arange(7), np.arange(9.0)]}, folder / "a.joblib")
    joblib.dump(np.array(["a", {"b": 1}], dtype=object), folder / "objects.pkl")
    joblib.dump(np.zeros(3, dtype=[("a", "f4"), ("b", "S3")]), folder / "records.joblib")
    joblib.dump({"t": torch.zeros(3), "n": np.asfortranarray(np.eye(3))}, folder / "torch.joblib")
    for protocol in (2, 3, 5):
        joblib.dump([np.ones(5), "x"], folder / f"p{protocol}.pkl", protocol=protocol)
    joblib.dump(
        {"random": np.frombuffer(random.Random(1).randbytes(8_000), "u1")}, folder / "random.joblib"
    )


@maker("sentence-transformers")
def sentence_transformers_files(folder: Path) -> None:
    from sentence_transformers.sentence_transformer import modules

    for name, module in (
        ("2_Dense", modules.Dense(4, 3)),
        ("3_LayerNorm", modules.LayerNorm(4)),
        ("1_WeightedLayerPooling", modules.WeightedLayerPooling(4, num_hidden_layers=2)),
    ):
        (folder / name).mkdir()
        with contextlib.suppress(Exception):
            module.save(str(folder / name), safe_serialization=False)


@maker("peft")
def peft_files(folder: Path) -> None:
    import torch
    from peft import IA3Config, LoraConfig, get_peft_model
    from transformers import BertConfig, BertModel

    for name, config in (
        ("lora", LoraConfig(r=2, target_modules=["query"])),
        (
            "ia3",
            IA3Config(target_modules=["key", "output.dense"], feedforward_modules=["output.dense"]),
        ),
    ):
        base = BertModel(
            BertConfig(
                vocab_size=20,
                hidden_size=8,
                num_hidden_layers=1,
                num_attention_heads=1,
                intermediate_size=8,
                max_position_embeddings=8,
            )
        )
        get_peft_model(base, config).save_pretrained(str(folder / name), safe_serialization=False)
    torch.save({"rank": 2}, folder / "rank.pt")


@maker("diffusers")
def diffusers_files(folder: Path) -> None:
    from diffusers import AutoencoderKL, UNet2DModel
    from diffusers.training_utils import EMAModel

    net = UNet2DModel(
        sample_size=8,
        block_out_channels=(4, 4),
        norm_num_groups=2,
        layers_per_block=1,
        in_channels=1,
        out_channels=1,
        down_block_types=("DownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "UpBlock2D"),
    )
    net.save_pretrained(str(folder / "unet"), safe_serialization=False)
    AutoencoderKL(block_out_channels=(4,), norm_num_groups=2, latent_channels=1).save_pretrained(
        str(folder / "vae"), safe_serialization=False
    )
    import torch

    torch.save(EMAModel(net.parameters()).state_dict(), folder / "ema.pt")


class MagicModule(ModuleType):
    """A module that has every attribute."""

    __version__ = "2.0"
    __path__: list[str] = []  # noqa: RUF012 - what a package has

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: []


@maker("speechbrain")
def speechbrain_files(folder: Path) -> None:
    import torch

    sys.modules["torchaudio"] = MagicModule("torchaudio")  # saving needs none of it
    from speechbrain.utils.checkpoints import Checkpointer

    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters())
    keeper = Checkpointer(folder, recoverables={"embedding_model": model, "optimizer": optimizer})
    keeper.save_checkpoint(name="first")


@maker("fairseq")
def fairseq_files(folder: Path) -> None:
    import torch
    from omegaconf import OmegaConf

    model = torch.nn.Linear(3, 2).state_dict()
    history = [
        {
            "criterion_name": "CrossEntropyCriterion",
            "optimizer_name": "FairseqAdam",
            "lr_scheduler_state": {"best": 1.5},
            "num_updates": 5,
        }
    ]
    shared = {
        "model": model,
        "optimizer_history": history,
        "task_state": {},
        "extra_state": {"epoch": 1, "train_iterator": {"epoch": 1}},
        "last_optimizer_state": {"state": {}, "param_groups": []},
    }
    args = argparse.Namespace(arch="wav2vec2", lr=[0.1], data="/data")
    torch.save({**shared, "args": args, "cfg": None}, folder / "checkpoint_best.pt")
    cfg = OmegaConf.create({"model": {"_name": "x", "layers": [1, 2], "rate": 0.5, "flag": True}})
    torch.save({**shared, "args": None, "cfg": cfg}, folder / "checkpoint_last.pt")
    plain = OmegaConf.to_container(cfg)
    torch.save({**shared, "args": None, "cfg": plain}, folder / "model.pt")


_DISTRIBUTIONS = {
    "scikit-learn": ["scikit-learn", "joblib", "numpy"],
    "joblib": ["joblib"],
    "python": [],
    "fairseq": ["torch", "omegaconf"],
}


def main(target: Path) -> None:
    files: dict[str, dict[str, str]] = {}
    made_by = {"python": sys.version.split()[0]}
    for library, make in _MAKERS.items():
        for name in _DISTRIBUTIONS.get(library, [library]):
            made_by[name] = version(name)
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            make(folder)
            for path in sorted(folder.rglob("*")):
                if not path.is_file() or path.stat().st_size > MAX_BYTES or path.suffix in TEXT:
                    continue
                name = f"{library}/{path.relative_to(folder).as_posix()}"
                packed = lzma.compress(path.read_bytes(), lzma.FORMAT_ALONE)
                how = "by class names" if library == "fairseq" else "by the library"
                files[name] = {"how": how, "lzma": base64.b64encode(packed).decode()}
    target.parent.mkdir(exist_ok=True)
    text = json.dumps({"made_by": made_by, "files": files}, indent=1)
    target.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
