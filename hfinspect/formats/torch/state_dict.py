"""Finding the tensors in what a pickle describes, and which part of it is the model."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ...errors import LimitError
from ..pickles.nodes import GlobalRef, Inert
from .storages import Compound, Storage, View

#: Steps of one walk, counting each item of a container each time it is reached. Shared containers
#: are walked once for each name they have, so a pickle of a kilobyte can demand 2**500 steps.
MAX_VISITS = 4_000_000
#: A module tree is below 30 deep.
MAX_DEPTH = 200
#: Twice as many as the largest models have.
MAX_TENSORS = 1_000_000
#: All names together: 1,000,000 names of 128 characters.
MAX_NAME_BYTES = 128 * 1024 * 1024

#: Where training scripts keep the weights, the clearest first: PyTorch Lightning and most others
#: (state_dict), DeepSpeed (module), timm, fairseq, Megatron (model), and other common spellings.
MODEL_KEYS = tuple(
    """state_dict model_state_dict model_state module model net network weights params params_ema
    generator""".split()
)
#: What training scripts keep next to the weights in one dict, as settings or state: Lightning
#: (trainer/connectors/checkpoint_connector.py), fairseq (checkpoint_utils.py), timm
#: (utils/checkpoint_saver.py), MMEngine, and other common spellings. No tensor is called so.
TRAINING_KEYS = frozenset(
    """args train_args opt cfg config configuration hparams hyper_parameters
    datamodule_hyper_parameters optimizer optimizers optimizer_state optimizer_states
    optimizer_state_dict last_optimizer_state optimizer_history scheduler lr_scheduler lr_schedulers
    scheduler_state_dict callbacks loops epoch epochs global_step step iteration iter num_updates
    extra_state task_state scaler amp_scaler best_fitness best_metric metric meta trainer rng_state
    pytorch-lightning_version""".split()
)
#: Levels of MODEL_KEYS inside each other ({"model": {"state_dict": ...}}).
MAX_WRAPPERS = 4

#: Attributes by which torch.nn.Module holds its children; they are no part of a tensor's name.
_HOLDERS = ("_parameters", "_buffers", "_modules")


class StateDictFinding(NamedTuple):
    """A tensor and its dotted name; ``buffer`` if a module says it is no parameter, ``kind`` that
    of the Compound it is a piece of."""

    name: str
    view: View
    buffer: bool = False
    kind: str = ""


class StateDictPart(NamedTuple):
    """One part of a file's content: ``path`` is "" for all of it, ``kind`` what it is.

    Kinds: state_dict, module (a pickled torch.nn.Module), optimizer, tensor, list, object.
    """

    path: str
    value: object
    kind: str


class _Path(NamedTuple):
    """A dotted name as a chain, so that a million children of one container share its beginning."""

    parent: "_Path | None"
    segment: str

    def __str__(self) -> str:
        segments = []
        at: _Path | None = self
        while at is not None:
            if at.segment:
                segments.append(at.segment)
            at = at.parent
        return ".".join(reversed(segments))


class _Visit(NamedTuple):
    value: object
    path: _Path | None
    depth: int
    buffer: bool = False
    kind: str = ""
    leave: int = 0  # not 0: the id of a container that has been walked through

    def down(self, key: object, value: object) -> "_Visit":
        """The step from a container to one of its items."""
        path = _Path(self.path, _segment(key))
        return self._replace(value=value, path=path, depth=self.depth + 1)


class Walker:
    """Walks what a pickle describes; all walks of one file share one budget of steps."""

    def __init__(self, subject: str) -> None:
        self._subject = subject
        self._visits = 0
        # Ids of containers that hold no tensor at any depth: a pickle can name one 2**60 times.
        self._barren: set[int] = set()

    def find_tensors(self, root: object) -> Iterator[StateDictFinding]:
        """Every tensor below ``root`` in the order of the file, under each of its names.

        Cycles are not followed. Raises LimitError.
        """
        pending = [_Visit(root, None, 0)]
        inside: dict[int, tuple[int, int]] = {}
        tensors = name_bytes = cycles = 0
        while pending:
            step = pending.pop()
            if step.leave:
                if inside.pop(step.leave) == (tensors, cycles):
                    self._barren.add(step.leave)
                continue
            value = step.value
            if isinstance(value, View):
                name = str(step.path or "") or "tensor"
                tensors += 1
                name_bytes += len(name)
                if tensors > MAX_TENSORS or name_bytes > MAX_NAME_BYTES:
                    raise self._limit("the number of its tensors and their names", MAX_TENSORS)
                yield StateDictFinding(name, value, step.buffer, step.kind)
                continue
            if not _is_container(value) or id(value) in self._barren:
                continue
            if id(value) in inside:
                cycles += 1
                continue
            if step.depth >= MAX_DEPTH:
                raise self._limit("the nesting of its content", MAX_DEPTH)
            self._visits += _width(value) + 1
            if self._visits > MAX_VISITS:
                raise self._limit("the content, unfolded,", MAX_VISITS)
            inside[id(value)] = (tensors, cycles)
            pending.append(_Visit(None, None, 0, leave=id(value)))
            pending.extend(reversed(list(_children(step))))

    def _limit(self, what: str, limit: int) -> LimitError:
        return LimitError(
            self._subject, f"{what} is beyond the limit", expected=f"at most {limit:,}"
        )

    def split(self, root: object) -> tuple[StateDictPart, list[StateDictPart]]:
        """The part that is the model, and the other parts next to it, outermost first.

        A key of ``MODEL_KEYS`` is the model if it holds tensors, and more of them than lie next to
        it as plain values of the same dict (a state dict may have a submodule called "model").
        """
        path: list[str] = []
        others: list[StateDictPart] = []
        current = root
        for _ in range(MAX_WRAPPERS):
            key = self._model_key(current)
            if key is None or not isinstance(current, dict):
                break
            for other, value in current.items():
                if other != key:
                    name = ".".join([*path, _segment(other)])
                    others.append(StateDictPart(name, value, _kind(value)))
            path.append(key)
            current = current[key]
        return StateDictPart(".".join(path), current, _kind(current)), others

    def _model_key(self, value: object) -> str | None:
        if not isinstance(value, dict) or _kind(value) == "optimizer":
            return None
        beside = sum(isinstance(item, View) for item in value.values())
        for key in MODEL_KEYS:
            inner = value.get(key)
            if _is_container(inner) and sum(1 for _ in self.find_tensors(inner)) > beside:
                return key
        return None


def training_keys(root: object) -> list[str]:
    """Keys of ``TRAINING_KEYS`` in a file's outermost dict that hold no tensor themselves."""
    if not isinstance(root, dict):
        return []
    return sorted(key for key in TRAINING_KEYS & root.keys() if not isinstance(root[key], View))


def _width(value: object) -> int:
    """Items of a container, and of the dicts of an instance: what one look at it costs."""
    if isinstance(value, Compound):
        return len(value.parts)
    if isinstance(value, Inert):
        return sum(_holder_width(part) + 1 for part in value.children())
    return len(value) if isinstance(value, (dict, list, tuple)) else 0


def _holder_width(part: object) -> int:
    if not isinstance(part, dict):
        return 0
    return len(part) + sum(len(part[key]) for key in _HOLDERS if isinstance(part.get(key), dict))


def _is_container(value: object) -> bool:
    if isinstance(value, (Storage, GlobalRef)):
        return False
    return isinstance(value, (dict, list, tuple, Inert, Compound))


def _segment(key: object) -> str:
    """A key as a part of a dotted name; a key that is neither text nor a number has no spelling."""
    if isinstance(key, str):
        return key
    return str(key) if type(key) is int else "<key>"


def _children(step: _Visit) -> Iterator[_Visit]:
    value = step.value
    items: Iterable[tuple[object, object]]
    if isinstance(value, Inert):
        yield from _attributes(step, value)
        return
    if isinstance(value, Compound):
        items = value.parts.items()
        step = step._replace(kind=value.kind)
    elif isinstance(value, dict):
        items = value.items()
    else:
        items = enumerate(value) if isinstance(value, (list, tuple)) else ()
    for key, item in items:
        if isinstance(item, View) or _is_container(item):
            yield step.down(key, item)


def _attributes(step: _Visit, node: Inert) -> Iterator[_Visit]:
    """Attributes of an instance: a module's holders disappear from names."""
    for index, part in enumerate(node.children()):
        if not isinstance(part, dict):
            yield step.down(index, part)
            continue
        for key, item in part.items():
            if key in _HOLDERS and isinstance(item, dict):
                holder = step._replace(buffer=key == "_buffers")
                for inner, child in item.items():
                    yield holder.down(inner, child)
            elif isinstance(item, View) or _is_container(item):
                yield step.down(key, item)


def _kind(value: object) -> str:
    if isinstance(value, View):
        return "tensor"
    if isinstance(value, dict):
        if "param_groups" in value and "state" in value:
            return "optimizer"
        return "state_dict" if any(isinstance(item, View) for item in value.values()) else "object"
    if isinstance(value, Inert):
        keys = {key for part in value.parts if isinstance(part, dict) for key in part}
        return "module" if "_parameters" in keys or "training" in keys else "object"
    return "list" if isinstance(value, (list, tuple)) else "object"
