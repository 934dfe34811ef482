"""What the names in pickles could do."""

from __future__ import annotations

import pytest

from hfinspect.auditing.facts.pickle_names import danger_of


@pytest.mark.parametrize(
    "dotted",
    """os.system posix.system nt.system subprocess.Popen subprocess.check_output builtins.eval
    builtins.exec builtins.getattr builtins.__import__ importlib.import_module runpy.run_path
    sys.exit socket.socket shutil.rmtree ctypes.CDLL webbrowser.open pickle.loads marshal.loads
    operator.attrgetter functools.partial torch.load torch.hub.load types.FunctionType
    numpy.testing._private.utils.runstring urllib.request.urlopen multiprocessing.Process
    code.InteractiveInterpreter asyncio.run os.path.join pip.main torch.storage._load_from_bytes
    torch.fx.graph_module.reduce_graph_module""".split(),
)
def test_running_code_is_an_error(dotted: str) -> None:
    module, _, name = dotted.rpartition(".")
    assert danger_of(module, name) == "error"


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("torch", "os.system"),
        ("transformers", "utils.hub.os.system"),
        ("my_module", "inner.function"),
        ("torch.serialization", "os.popen"),
        ("<computed>", "system"),
        ("builtins", "eval.__call__"),
        ("numpy.os", "system"),
    ],
)
def test_detours_are_errors(module: str, name: str) -> None:
    assert danger_of(module, name) == "error"


@pytest.mark.parametrize(
    "dotted",
    """torch._utils._rebuild_tensor_v2 collections.OrderedDict torch.FloatStorage torch.float16
    torch.Size builtins.set torch.nn.parameter.Parameter""".split(),
)
def test_tensors_are_nothing(dotted: str) -> None:
    module, _, name = dotted.rpartition(".")
    assert danger_of(module, name) is None


@pytest.mark.parametrize(
    ("dotted", "severity"),
    [
        ("transformers.training_args.TrainingArguments", "note"),
        ("numpy.core.multiarray._reconstruct", "note"),
        ("transformers.trainer_utils.HubStrategy", "note"),
        ("pathlib.PosixPath", "note"),
        ("datetime.datetime", "note"),
        ("__main__.Net", "warning"),
        ("models.yolo.Model", "warning"),
    ],
)
def test_others_are_noted_or_warned_of(dotted: str, severity: str) -> None:
    module, _, name = dotted.rpartition(".")
    assert danger_of(module, name) == severity
