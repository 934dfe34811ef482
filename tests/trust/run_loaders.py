"""Loads files with their real loaders, each in a process and a folder of its own.

    python run_loaders.py FOLDER < manifest.json

The manifest lists ``[key, file, loader]``; each file lies in ``FOLDER/key/file``. Prints a JSON
object: key -> whether the canary appeared. For files that this project made alone: it runs them.
"""

from __future__ import annotations

import gzip
import json
import os
import pickle
import signal
import sys
import tarfile
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

SECONDS = 90  # TensorFlow alone takes ten to be imported


def load_pickle(file: str) -> None:
    with Path(file).open("rb") as stream:
        pickle.load(stream)


def load_rows(file: str) -> None:
    with Path(file).open("rb") as stream:
        while stream.peek(1):
            pickle.load(stream)


def load_joblib(file: str) -> None:
    import joblib

    joblib.load(file)


def load_numpy(file: str) -> None:
    import numpy as np

    value = np.load(file, allow_pickle=True)
    if hasattr(value, "files"):
        for name in value.files:
            value[name]


def load_torch(file: str) -> None:
    import torch

    torch.load(file, map_location="cpu", weights_only=False)


def load_exported(file: str) -> None:
    import torch

    torch.export.load(file)


def load_torchscript(file: str) -> None:
    import torch

    torch.jit.load(file)


def load_program(file: str) -> None:
    """As a shell opens it."""
    Path(file).chmod(0o755)
    os.execv("/bin/sh", ["/bin/sh", file])


def load_yaml(file: str) -> None:
    import yaml

    with Path(file).open("rb") as stream:
        yaml.load(stream, Loader=yaml.UnsafeLoader)


def load_hyperpyyaml(file: str) -> None:
    from hyperpyyaml import load_hyperpyyaml as load

    with Path(file).open() as stream:
        load(stream)


def load_hydra(file: str) -> None:
    from hydra.utils import instantiate
    from omegaconf import OmegaConf

    instantiate(OmegaConf.load(file))


def load_archive(file: str) -> None:
    """As TorchServe does: unpack, then load what is inside."""
    with zipfile.ZipFile(file) as archive:
        archive.extractall("unpacked")
    for path in sorted(Path("unpacked").rglob("*")):
        if path.suffix == ".pkl":
            load_pickle(str(path))
        elif path.is_file() and path.suffix != ".json":
            try:
                load_torch(str(path))
            except RuntimeError:
                load_archive(str(path))


def load_gzip(file: str) -> None:
    with gzip.open(file) as stream:
        pickle.load(stream)


def load_tar(file: str) -> None:
    """As NeMo does: unpack, then load the weights."""
    with tarfile.open(file) as archive:
        archive.extractall("unpacked", filter="data")
    for path in sorted(Path("unpacked").rglob("*.ckpt")):
        load_torch(str(path))


def load_tar_on_and_on(file: str) -> None:
    """As programs do that read archives put together with ``cat``."""
    with tarfile.open(file, ignore_zeros=True) as archive:
        archive.extractall("unpacked", filter="data")
    for path in sorted(Path("unpacked").rglob("*.ckpt")):
        load_torch(str(path))


def load_unzipped(file: str) -> None:
    with zipfile.ZipFile(file) as archive:
        archive.extractall("unpacked")
    for path in sorted(Path("unpacked").rglob("*.joblib")):
        load_joblib(str(path))


def load_all_unzipped(file: str) -> None:
    """As a program does whose config names the members."""
    with zipfile.ZipFile(file) as archive:
        for name in archive.namelist():
            pickle.loads(archive.read(name))


def load_jinja(file: str) -> None:
    """As programs did that rendered chat templates without a sandbox."""
    import jinja2

    jinja2.Environment().from_string(Path(file).read_text()).render(messages=[])


def of_old() -> None:
    """From now on this process imports the older versions of libraries first."""
    sys.path.insert(0, os.environ["HFINSPECT_OLD_LIBRARIES"])


def load_keras_of_today(file: str) -> None:
    os.environ["KERAS_BACKEND"] = "torch"
    import keras
    import numpy as np

    keras.saving.load_model(file, safe_mode=False)(np.ones((1, 1), "float32"))


def load_keras(file: str) -> None:
    of_old()
    load_keras_of_today(file)


def load_keras_json(file: str) -> None:
    of_old()
    os.environ["KERAS_BACKEND"] = "torch"
    import keras

    keras.models.model_from_json(Path(file).read_text())


def load_onnx(file: str) -> None:
    """The sign is that the model gives what a file outside of the folder holds."""
    of_old()
    import onnxruntime

    outside = Path("../outside")
    for path in (outside, Path(tempfile.gettempdir()) / "hfinspect-outside"):
        path.write_bytes(b"1234")
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    if session.run(None, {})[0].tobytes() == outside.read_bytes():
        Path("canary").touch()


def load_saved_model(file: str) -> None:
    """In an interpreter of its own: TensorFlow and PyTorch want different things next to them."""
    code = (
        "import tensorflow as tf; m = tf.saved_model.load('.'); "
        "list(m.signatures.values())[0](tf.constant(1.0))"
    )
    python = os.environ["HFINSPECT_TENSORFLOW_PYTHON"]
    os.execv(python, [python, "-c", code])


def render(text: str) -> None:
    import jinja2

    jinja2.Environment().from_string(text).render(messages=[])


def load_gguf_template(file: str) -> None:
    """As llama-cpp-python did before 0.2.72."""
    import gguf

    field = gguf.GGUFReader(file).fields["tokenizer.chat_template"]
    render(bytes(field.parts[field.data[0]]).decode())


def load_config_template(file: str) -> None:
    template = json.loads(Path(file).read_text())["chat_template"]
    render(template if isinstance(template, str) else template[0]["template"])


def load_peft(file: str) -> None:
    of_old()
    import peft

    peft.AutoPeftModel.from_pretrained(str(Path(file).resolve().parent))


def load_kernel(file: str) -> None:
    """The repo of the kernel lies in the Hub's cache, as after a download. transformers before 5
    takes the code of any repo that a config names; later versions want ``allow_all_kernels``."""
    sys.path.insert(0, os.environ["HFINSPECT_OLD_TRANSFORMERS"])
    os.environ["HF_HUB_OFFLINE"] = "1"
    repo = Path(os.environ["HF_HOME"]) / "hub" / "models--someone--attention"
    commit = "a" * 40
    for variant in ("torch-cpu", "torch-universal"):
        code = repo / "snapshots" / commit / "build" / variant / "__init__.py"
        code.parent.mkdir(parents=True)
        code.write_text(f"open({str(Path('canary').resolve())!r}, 'w')\n")
    (repo / "refs").mkdir()
    (repo / "refs" / "main").write_text(commit)
    import transformers

    said = Path(file).read_bytes()
    config = transformers.GPT2Config(n_layer=1, n_embd=4, n_head=1, vocab_size=4, n_positions=4)
    transformers.GPT2LMHeadModel(config).save_pretrained("model")
    (Path("model") / "config.json").write_bytes(said)
    transformers.AutoModelForCausalLM.from_pretrained("model")


def load_custom_generate(file: str) -> None:
    """A model that the library itself makes, next to the code of the repo."""
    import transformers

    folder = str(Path(file).resolve().parents[1])
    config = transformers.GPT2Config(n_layer=1, n_embd=4, n_head=1, vocab_size=4, n_positions=4)
    transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    transformers.AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True)


def load_auto_class(file: str) -> None:
    import transformers

    folder = str(Path(file).resolve().parent)
    transformers.AutoConfig.from_pretrained(folder, trust_remote_code=True)


def load_sentence(file: str) -> None:
    import sentence_transformers

    folder = str(Path(file).resolve().parent)
    sentence_transformers.SentenceTransformer(folder, trust_remote_code=True)


def load_pipeline(file: str) -> None:
    import diffusers

    folder = str(Path(file).resolve().parent)
    diffusers.DiffusionPipeline.from_pretrained(folder, trust_remote_code=True)


LOADERS: dict[str, Callable[[str], None]] = {
    "pickle": load_pickle,
    "rows": load_rows,
    "joblib": load_joblib,
    "numpy": load_numpy,
    "torch": load_torch,
    "archive": load_archive,
    "gzip": load_gzip,
    "tar": load_tar,
    "unzipped": load_unzipped,
    "all unzipped": load_all_unzipped,
    "jinja": load_jinja,
    "torchscript": load_torchscript,
    "program": load_program,
    "keras": load_keras,
    "onnx": load_onnx,
    "keras of today": load_keras_of_today,
    "tensorflow": load_saved_model,
    "gguf template": load_gguf_template,
    "config template": load_config_template,
    "peft": load_peft,
    "auto class": load_auto_class,
    "tar on and on": load_tar_on_and_on,
    "keras json": load_keras_json,
    "kernel": load_kernel,
    "custom generate": load_custom_generate,
    "exported": load_exported,
    "yaml": load_yaml,
    "hyperpyyaml": load_hyperpyyaml,
    "hydra": load_hydra,
    "sentence": load_sentence,
    "pipeline": load_pipeline,
}

#: What some samples need next to them; each does the same harmless thing.
HELPERS = {
    "evil.py": b"open('canary','w')\n",
    "evil": b"open('canary','w')\n",
    "evil.pkl": b"cos\nsystem\n(S'touch canary'\ntR.",
    "evil.joblib": b"cos\nsystem\n(S'touch canary'\ntR.",
    "evil.pt": b"cos\nsystem\n(S'touch canary'\ntR.",
    "evil.npy": b"cos\nsystem\n(S'touch canary'\ntR.",
}


def run_one(folder: Path, file: str, loader: str) -> bool:
    """Fork, so that the libraries are imported once."""
    child = os.fork()
    if child == 0:
        os.setsid()
        signal.alarm(SECONDS)
        with open(os.devnull, "r+") as nothing:  # noqa: PTH123
            for number in (0, 1, 2):
                os.dup2(nothing.fileno(), number)
        try:
            os.chdir(folder)
            os.environ["HF_HOME"] = str(folder / "home")
            sys.path.insert(0, "")
            Path("empty").mkdir()
            for name, content in HELPERS.items():
                Path(name).write_bytes(content)
            LOADERS[loader](file)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    for _ in range(20):  # a started program may need a moment
        if any(
            path.name.startswith("canary") or path.name.endswith("canary")
            for path in folder.iterdir()
        ):
            return True
        signal.sigtimedwait([], 0.02)
    return False


def main() -> None:
    warnings.simplefilter("ignore")
    import joblib  # noqa: F401
    import scipy.stats  # noqa: F401
    import torch  # noqa: F401

    root = Path(sys.argv[1])
    signs = {key: run_one(root / key, file, loader) for key, file, loader in json.load(sys.stdin)}
    sys.stdout.write(json.dumps(signs))


if __name__ == "__main__":
    main()
