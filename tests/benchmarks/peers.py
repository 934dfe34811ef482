"""What others need for the same question, each as a program of a few lines."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def program(text: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", text, *arguments]


def hfinspect(*arguments: str) -> list[str]:
    """What the console script does."""
    return program("from hfinspect.__main__ import main; main()", *arguments)


IMPORT_TYPER = "import typer"

#: The floor of everything that reads headers: all of them read and parsed, and nothing else.
ONLY_JSON = """
import json, pathlib, sys
kept = []
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.safetensors")):
    with path.open("rb") as file:
        kept.append(json.loads(file.read(int.from_bytes(file.read(8), "little"))))
"""
SAFETENSORS = """
import pathlib, sys
from safetensors import safe_open
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.safetensors")):
    with safe_open(path, "np") as file:
        for name in file.keys():
            part = file.get_slice(name)
            part.get_shape(), part.get_dtype()
"""
LOCAL_METADATA = """
import sys
from huggingface_hub import get_local_safetensors_metadata
print(get_local_safetensors_metadata(sys.argv[1]).parameter_count)
"""
METADATA = """
import sys
from huggingface_hub import get_safetensors_metadata
print(get_safetensors_metadata(sys.argv[1], token=False).parameter_count)
"""
SHARDED_METADATA = """
import sys
from huggingface_hub import get_sharded_safetensors_metadata
print(get_sharded_safetensors_metadata(sys.argv[1], token=False).parameter_count)
"""
IN_A_LOOP = """
import sys
from huggingface_hub import HfApi
api = HfApi(token=False)
for name in open(sys.argv[1]).read().split():
    assert sum(api.get_safetensors_metadata(name).parameter_count.values())
"""
#: It asks one host, whatever the environment says, so its requests are led to the loopback Hub.
HF_MEM = """
import os, sys, httpx2
inner, hub = httpx2.AsyncHTTPTransport.handle_async_request, httpx2.URL(os.environ["HF_ENDPOINT"])
async def led(self, request):
    if request.url.host == "huggingface.co":
        url = request.url.copy_with(scheme=hub.scheme, host=hub.host, port=hub.port)
        request.url, request.headers["host"] = url, f"{hub.host}:{hub.port}"
    return await inner(self, request)
httpx2.AsyncHTTPTransport.handle_async_request = led
from hf_mem.cli import main
sys.argv = ["hf-mem", "--model-id", sys.argv[1]]
main()
"""
META_DEVICE = """
import json, sys, torch, transformers
values = json.load(open(sys.argv[1]))
values.pop("quantization_config", None)
cls = getattr(transformers, values["architectures"][0])
with torch.device("meta"):
    model = cls._from_config(cls.config_class(**values))
print(sum({id(p): p.numel() for p in model.parameters()}.values()))
"""
GGUF = """
import sys
from gguf import GGUFReader
print(sum(int(tensor.n_elements) for tensor in GGUFReader(sys.argv[1]).tensors))
"""


def modelinfo(*arguments: str) -> Sequence[str]:
    return [sys.executable, "-m", "modelinfo", *arguments]
