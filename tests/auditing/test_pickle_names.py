"""What the names in pickles could do: only what is listed passes."""

from __future__ import annotations

import re

import pytest

from hfinspect.auditing.facts.pickle_names import (
    LIBRARY,
    LISTS,
    RUNS_CODE,
    UNKNOWN,
    danger_of,
    read_list,
)
from hfinspect.formats.pickles.nodes import MADE, NAMED, SETTLED
from hfinspect.formats.torch.rebuild import is_known


def danger(dotted: str, use: str = NAMED) -> str | None:
    module, _, name = dotted.rpartition(".")
    return danger_of(module, name, use)


@pytest.mark.parametrize(
    "dotted",
    """os.system posix.system nt.system subprocess.Popen subprocess.check_output builtins.eval
    builtins.exec builtins.getattr builtins.__import__ importlib.import_module runpy.run_path
    sys.exit socket.socket shutil.rmtree ctypes.CDLL webbrowser.open pickle.loads marshal.loads
    operator.attrgetter functools.partial torch.load torch.hub.load types.FunctionType
    numpy.testing._private.utils.runstring urllib.request.urlopen multiprocessing.Process
    code.InteractiveInterpreter asyncio.run os.path.join pip.main torch.storage._load_from_bytes
    torch.fx.graph_module.reduce_graph_module random._os.system enum.bltns.eval
    builtins.object.__getattribute__ typing.get_type_hints numpy.testing.runstring
    torch.utils.collect_env.run scipy.stats._continuous_distns.norm_gen""".split(),
)
def test_running_code_is_known(dotted: str) -> None:
    assert danger(dotted) == RUNS_CODE


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("torch", "os.system"),
        ("transformers", "utils.hub.os.system"),
        ("torch.serialization", "os.popen"),
        ("<computed>", "system"),
        ("builtins", "eval.__call__"),
        ("numpy.os", "system"),
    ],
)
def test_detours_run_code(module: str, name: str) -> None:
    assert danger_of(module, name) == RUNS_CODE


@pytest.mark.parametrize(
    "dotted",
    """my_module.inner.function __main__.Net models.yolo.Model numpy.Odd torch.Odd sklearn.Odd
    transformers.TrainingArguments collections.OrderedDict.fromkeys torch.nn.Linear builtins.print
    torch.float7 transformers.trainer_utils.IntervalStrategy.mro""".split(),
)
def test_what_is_on_no_list_is_unknown(dotted: str) -> None:
    assert danger(dotted) == UNKNOWN
    assert danger(dotted, MADE) == UNKNOWN


def test_the_list_of_torch_is_silent_and_understood() -> None:
    names = read_list("weights_only")
    assert [dotted for dotted in names if danger(dotted) is not None] == []
    split = (dotted.rpartition(".") for dotted in names)
    unknown = [f"{module}.{name}" for module, _, name in split if not is_known(module, name)]
    assert unknown == [], "read_header warns of these"


@pytest.mark.parametrize(
    "dotted",
    """transformers.trainer_utils.HubStrategy transformers.trainer_utils.HubStrategy.END
    numpy.core.multiarray._reconstruct pathlib.PosixPath datetime.datetime argparse.Namespace
    sklearn.tree._tree.Tree""".split(),
)
def test_reviewed_names(dotted: str) -> None:
    assert danger(dotted) == LIBRARY


@pytest.mark.parametrize(
    ("dotted", "use", "expected"),
    [
        ("transformers.training_args.TrainingArguments", MADE, LIBRARY),
        ("transformers.training_args.TrainingArguments", NAMED, UNKNOWN),
        ("sklearn.linear_model._logistic.LogisticRegression", MADE, LIBRARY),
        ("sklearn.linear_model._logistic.LogisticRegression", NAMED, UNKNOWN),
        ("builtins.getattr", SETTLED, LIBRARY),
        ("builtins.getattr", MADE, RUNS_CODE),
        ("torch.storage._load_from_bytes", SETTLED, LIBRARY),
        ("numpy._core._ufunc_reconstruct", NAMED, RUNS_CODE),
    ],
)
def test_a_use_that_was_not_reviewed_is_no_reviewed_name(
    dotted: str, use: str, expected: str
) -> None:
    assert danger(dotted, use) == expected


@pytest.mark.parametrize("name", ["weights_only", "libraries", "runs_code"])
def test_lists_are_whole_names_with_a_reason(name: str) -> None:
    lines = (LISTS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    names = [line.split("\t")[1] for line in lines if "\t" in line]
    assert len(names) == len(set(names))
    for use, reason in read_list(name).values():
        assert use in ("any", "new", "enum", "settled")
        assert len(reason) > 4
    pattern = r"[A-Za-z_][\w.]*\.(\w+|\*)" if name == "runs_code" else r"[A-Za-z_][\w.]*\.\w+"
    assert all(re.fullmatch(pattern, dotted) for dotted in names)


def test_no_name_is_both_harmless_and_dangerous() -> None:
    dangerous = read_list("runs_code")
    for name, (use, _) in read_list("libraries").items():
        assert use == "settled" or name not in dangerous
    assert not read_list("weights_only").keys() & dangerous.keys()
