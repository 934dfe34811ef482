"""What llama.cpp's loaders ask of a file, worked out from their source without running it.

Loaders are followed with unknown key-values: out come the keys, tensors, sizes and conditions as
expressions over key-values, and what makes a loader give up.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .cpp_statements import CppError, Tree, body_of, functions

UNKNOWN = ["unknown"]
_BITS = {
    "TENSOR_NOT_REQUIRED": 1, "TENSOR_DUPLICATED": 2, "TENSOR_SKIP": 4,
    "TENSOR_SKIP_IF_VIRTUAL": 8, "TENSOR_ALLOW_RESHAPE": 16, "TENSOR_READ_LAZY": 32,
}  # fmt: skip
_NOT_REQUIRED = 1
_SKIP = 4
_RESHAPE = 16
_CONSTANTS = {
    "LLAMA_MAX_LAYERS": 512, "LLAMA_MAX_EXPERTS": 1024, "LLAMA_MAX_PLE_NGRAM": 8,
    "LLAMA_MAX_PLE_HEADS": 64,
}  # fmt: skip
_GETTERS = ("get_key", "get_key_or_arr", "get_arr", "get_arr_n")


class Asked(NamedTuple):
    """What one architecture's loader asks: keys (name, when), tensors (name, index, sizes, when,
    required, any order of sizes, loop), refusals (when, text)."""

    keys: list[list[Any]]
    tensors: list[list[Any]]
    refusals: list[list[Any]]


class Source:
    """The parts of llama.cpp's source that say what its loaders require."""

    def __init__(self, root: Path) -> None:
        text = (root / "src" / "llama-arch.cpp").read_text()
        self.keys = _map(text, "LLM_KV_NAMES")
        self.names = _map(text, "LLM_TENSOR_NAMES")
        start = text.index("bool llm_arch_is_recurrent(")
        self.recurrent = set(re.findall(r"LLM_ARCH_\w+", text[start : text.index("\n}", start)]))
        self.architectures = _map(text, "LLM_ARCH_NAMES")
        model = (root / "src" / "llama-model.cpp").read_text()
        self.functions = dict(functions(model))
        for path in sorted((root / "src" / "models").glob("*.cpp")):
            self.functions.update(functions(path.read_text()))
        self.classes: dict[str, str] = {}
        for cases, name in re.findall(
            r"((?:case LLM_ARCH_\w+:\s*)+)\{?\s*return new (\w+)\(params\)", model
        ):
            for case in re.findall(r"LLM_ARCH_\w+", cases):
                self.classes[case] = name
        header = (root / "src" / "models" / "models.h").read_text()
        self.bases = dict(re.findall(r"struct (\w+) : public (\w+)", header))
        members = (root / "src" / "llama-hparams.h").read_text()
        self.defaults = {
            name: _number(value)
            for name, value in re.findall(
                r"^    (?:u?int\d*_t|int|bool|float)\s+(\w+)\s*(?:=\s*([^;]+))?;", members, re.M
            )
        }

    def method(self, name: str, method: str) -> str | None:
        while name:
            if f"{name}::{method}" in self.functions:
                return f"{name}::{method}"
            name = self.bases.get(name, "")
        return None


def _map(text: str, name: str) -> dict[str, str]:
    start = text.index(f"{name} = {{")
    body = text[start : text.index("\n};", start)]
    body = re.sub(r"//[^\n]*", "", body)
    return dict(re.findall(r"\{\s*(LLM_\w+)\s*,\s*\"([^\"]*)\"", body))


def _number(text: str) -> Any:
    text = text.strip().rstrip("fuUL")
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text or "0", 0)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return UNKNOWN


def asked_by(source: Source, case: str) -> Asked:
    """What the loader of the architecture ``LLM_ARCH_...`` asks."""
    loader = _Loader(source, case)
    loader.run("llama_model_base::load_hparams", [])
    loader.locals_of_tensors()
    tensors = source.method(source.classes[case], "load_arch_tensors")
    if tensors is None:
        raise CppError(f"no loader for {case}")
    loader.run(tensors, [])
    return Asked(loader.keys, loader.tensors, loader.refusals)


def _both(a: Tree, b: Tree) -> Tree:
    if a is True:
        return b
    if b is True:
        return a
    if a is False or b is False:
        return False
    return a if a == b else ["and", a, b]


def _not(a: Tree) -> Tree:
    if isinstance(a, (bool, int, float)):
        return not a
    if a[0] == "not":
        return a[1]
    return ["not", a]


def _is_free(tree: Tree, var: str) -> bool:
    """Whether an expression depends on a loop that is over."""
    if not isinstance(tree, list):
        return False
    if tree == ["var", var]:
        return True
    parts = [*tree[2:4], tree[5]] if tree[:1] == ["map"] and tree[1] == var else tree
    return any(_is_free(part, var) for part in parts)


def _within(tree: Tree, other: Tree) -> bool:
    if tree == other:
        return True
    return isinstance(other, list) and any(_within(tree, part) for part in other)


def _truth(value: Tree) -> Tree:
    return bool(value) if isinstance(value, (int, float)) else value


def _chosen(condition: Tree, a: Tree, b: Tree) -> Tree:
    if isinstance(condition, (bool, int, float)):
        return a if condition else b
    return a if a == b and type(a) is type(b) else ["?", condition, a, b]


def _bit(flags: Tree, bit: int) -> Tree:
    if isinstance(flags, (bool, int)):
        return bool(int(flags) & bit)
    if flags[0] == "|":
        a = _bit(flags[1], bit)
        b = _bit(flags[2], bit)
        if a is True or b is True:
            return True
        return a if b is False else b if a is False else ["or", a, b]
    if flags[0] == "?":
        return _chosen(flags[1], _bit(flags[2], bit), _bit(flags[3], bit))
    return UNKNOWN


class _Loader:
    """Follows one loader; what it keeps between statements are expressions."""

    def __init__(self, source: Source, case: str) -> None:
        self.source = source
        self.case = case
        self.env: dict[str, Tree] = {}
        self.when: Tree = True
        self.loops: list[list[Tree]] = []
        self.keys: list[list[Any]] = []
        self.tensors: list[list[Any]] = []
        self.refusals: list[list[Any]] = []
        self.depth = 0
        self.counter = 0
        self.result: Tree = UNKNOWN

    # ---- functions

    def run(self, name: str, arguments: list[Tree]) -> Tree:
        parameters, text = self.source.functions[name]
        return self.called(parameters, body_of(text), arguments)

    def called(self, parameters: list[str], body: list[Tree], arguments: list[Tree]) -> Tree:
        self.depth += 1
        if self.depth > 20:
            raise CppError("calls too deep")
        before = {one: self.env.get(one) for one in parameters}
        self.env.update(zip(parameters, arguments, strict=False))
        when = self.when
        self.result = UNKNOWN
        self.statements(body)
        self.when = when
        for one, value in before.items():
            if value is None:
                self.env.pop(one, None)
            else:
                self.env[one] = value
        self.depth -= 1
        return self.result

    def locals_of_tensors(self) -> None:
        """LLAMA_LOAD_LOCALS."""
        n_layer = self.hparam_call("n_layer", [])
        simple = {
            "n_layer": n_layer, "n_layer_all": self.h("n_layer_all"),
            "n_layer_nextn": self.h("n_layer_nextn"), "n_embd": self.h("n_embd"),
            "n_expert": self.h("n_expert"), "n_ctx_train": self.h("n_ctx_train"),
            "n_vocab": ["vocab"], "n_token_types": ["key", "tokenizer.ggml.token_type_count", 0],
        }  # fmt: skip
        for name in (
            "n_head n_head_kv n_embd_k_gqa n_embd_v_gqa n_embd_head_k n_embd_head_v n_ff n_rot "
            "n_expert_used"
        ).split():
            simple[name] = self.hparam_call(name, [])
        simple["n_embd_gqa"] = simple["n_embd_v_gqa"]
        self.env.update(simple)

    # ---- statements

    def statements(self, body: list[Tree]) -> None:
        for statement in body:
            if self.when is False:
                return
            self.statement(statement)

    def statement(self, it: Tree) -> None:
        kind = it[0]
        if kind == "block":
            self.statements(it[1])
        elif kind == "let":
            self.env[it[1]] = self.value(it[2])
            self.env[f"def {it[1]}"] = None
        elif kind == "def":
            self.env[f"def {it[1]}"] = it
        elif kind == "set":
            self.assign(it[1], it[2])
        elif kind == "do":
            self.value(it[1])
        elif kind == "if":
            self.branch(it)
        elif kind == "for":
            self.loop(it)
        elif kind == "throw":
            self.refusals.append([self.when, list(self.loops)])
            self.when = False
        elif kind == "return":
            if len(it) > 1:
                self.result = self.value(it[1])
            self.when = False
        elif kind in ("continue", "break"):
            self.when = False
        elif kind == "unknown":
            before = self.when
            self.when = _both(before, UNKNOWN)
            for one in it[1] if len(it) > 1 else ():
                self.statement(one)
            self.when = before
        elif kind == "switch" and "create_tensor" in it[1]:  # else it names a size
            self.tensors.append([None, [], [], self.when, False, False, list(self.loops)])

    def branch(self, it: Tree) -> None:
        condition = _truth(self.value(it[1]))
        before = self.when
        start = dict(self.env)
        self.when = _both(before, condition)
        self.statements(it[2])
        first = self.env
        first_alive = self.when is not False
        self.env = dict(start)
        self.when = _both(before, _not(condition))
        self.statements(it[3])
        second = self.env
        second_alive = self.when is not False
        if first_alive and second_alive:
            merged = {}
            for name in {*first, *second}:
                a = first.get(name)
                b = second.get(name)
                if name.startswith("hparams.") and (a is None or b is None):
                    default = self.default_of(name[8:])
                    a, b = (default if one is None else one for one in (a, b))
                if name.startswith("def ") or a is None or b is None:
                    merged[name] = a if a is not None else b
                else:
                    merged[name] = _chosen(condition, a, b)
            self.env = merged
            self.when = before
        elif first_alive:
            self.env = first
            self.when = _both(before, condition)
        elif second_alive:
            self.env = second
            self.when = _both(before, _not(condition))
        else:
            self.when = False

    def loop(self, it: Tree) -> None:
        _, name, start, end, body = it
        self.counter += 1
        var = f"i{len(self.loops)}"
        before = self.when
        old = self.env.get(name)
        self.loops.append([var, self.value(start), self.value(end)])
        self.env[name] = ["var", var]
        start_of = dict(self.env)
        self.statements(body)
        self.loops.pop()
        self.when = before
        for one, value in self.env.items():
            was = start_of.get(one)
            if one.startswith("def ") or value == was or (was is None and _is_free(value, var)):
                continue
            is_list = isinstance(value, list) and value[0] == "map"
            goes_on = isinstance(was, list) and not is_list and _within(was, value)
            if _is_free(value, var) or goes_on:
                self.env[one] = UNKNOWN  # it goes from turn to turn
        if old is None:
            self.env.pop(name, None)
        else:
            self.env[name] = old

    def assign(self, target: Tree, value: Tree) -> None:
        made = self.value(value)
        if isinstance(target, list) and target[0] == "item":
            self.assign_item(target, made)
            return
        path = _path(target)
        if path is not None:
            self.env[path] = made

    def assign_item(self, target: Tree, made: Tree) -> None:
        path = _path(target[1])
        index = self.value(target[2])
        if path is None:
            return
        old = self.env.get(path, ["fill", 0] if path.startswith("hparams.") else UNKNOWN)
        if self.loops and index == ["var", self.loops[-1][0]]:
            var, start, end = self.loops[-1]
            if old != UNKNOWN and old[0] == "map" and old[1:4] == [var, start, end]:
                old = old[5]
            self.env[path] = ["map", var, start, end, made, old]
        elif isinstance(index, int):
            self.env[path] = ["map", "at", index, index + 1, made, old]
        else:
            self.env[path] = UNKNOWN

    # ---- expressions

    def h(self, name: str) -> Tree:
        path = f"hparams.{name}"
        return self.env[path] if path in self.env else self.default_of(name)

    def default_of(self, name: str) -> Tree:
        if "." in name:
            return 0
        if name.endswith(("_arr", "_impl")) and name not in self.source.defaults:
            return ["fill", 0]
        return self.source.defaults.get(name, UNKNOWN)

    def value(self, it: Tree) -> Tree:
        if isinstance(it, (bool, int, float)):
            return it
        kind = it[0]
        if kind == "null":
            return False
        if kind == "text":
            return it
        if kind in ("name", "member"):
            return self.named(it)
        if kind == "item":
            return self.item(self.value(it[1]), self.value(it[2]))
        if kind == "call":
            return self.call(it)
        if kind == "?":
            return _chosen(self.value(it[1]), self.value(it[2]), self.value(it[3]))
        if kind == "!":
            return _not(self.value(it[1]))
        if len(it) == 3:
            return self.operation(kind, it)
        if kind == "-":
            inner = self.value(it[1])
            return -inner if isinstance(inner, (int, float)) else UNKNOWN
        return UNKNOWN

    def named(self, it: Tree) -> Tree:
        path = _path(it)
        if path is None:
            if it[0] == "member" and it[2] == "ne":
                return ["sizes", self.value(it[1])]
            return UNKNOWN
        path = path.replace("model.hparams.", "hparams.")
        if path.endswith(".ne"):
            return ["sizes", self.named(["name", path[:-3]])]
        if path in self.env and self.env[path] is not None:
            return self.env[path]
        if path.startswith("hparams."):
            return self.h(path[8:])
        last = path.rpartition("::")[2]
        if last in _BITS:
            return _BITS[last]
        if path in _CONSTANTS:
            return _CONSTANTS[path]
        if path == "arch":
            return ["text", self.case]
        if path.startswith(("LLM_ARCH_", "LLM_TENSOR_")):
            return ["text", path]
        if path.startswith("LLAMA_ROPE_SCALING_TYPE_"):
            return ["text", path.removeprefix("LLAMA_ROPE_SCALING_TYPE_").lower()]
        if path == "ml.load_mtp" or path == "ml->load_mtp":
            return False
        if path.startswith(("layer.", "layers.")):
            return False
        return UNKNOWN

    def item(self, array: Tree, index: Tree) -> Tree:
        if array == UNKNOWN or index == UNKNOWN:
            return UNKNOWN
        if array[0] == "sizes":
            return ["size", array[1], index] if array[1][0] == "has" else UNKNOWN
        if array[0] == "fill":
            return array[1]
        if array[0] == "?":
            return _chosen(array[1], self.item(array[2], index), self.item(array[3], index))
        return ["item", array, index]

    def operation(self, sign: str, it: Tree) -> Tree:
        a = self.value(it[1])
        if sign == "&&":
            if a is False:
                return False
            return _both(a, self.value(it[2]))
        b = self.value(it[2])
        if sign == "||":
            if a is True or b is True:
                return True
            return a if b is False else b if a is False else ["or", a, b]
        if sign in ("==", "!="):
            return self.equal(a, b, sign)
        if isinstance(a, (int, float)) and isinstance(b, (int, float)):
            return _counted(sign, a, b)
        if UNKNOWN in (a, b):
            return UNKNOWN
        if sign == "&":
            return _bit(a, b) if isinstance(b, int) else UNKNOWN
        if sign == "|":
            return b if a == 0 else a if b == 0 else ["|", a, b]
        return [{"/": "//"}.get(sign, sign), a, b]

    def equal(self, a: Tree, b: Tree, sign: str) -> Tree:
        if (
            b is False
            and isinstance(a, list)
            and a[0] in ("has", "and", "or", "not", "haskey", "?")
        ):
            return _not(a) if sign == "==" else a
        both_known = not isinstance(a, list) and not isinstance(b, list)
        texts = isinstance(a, list) and isinstance(b, list) and a[0] == b[0] == "text"
        if both_known or texts:
            return (a == b) == (sign == "==")
        if UNKNOWN in (a, b):
            return UNKNOWN
        return ["==", a, b] if sign == "==" else ["not", ["==", a, b]]

    # ---- calls

    def call(self, it: Tree) -> Tree:
        function = it[1]
        arguments = it[2]
        path = _path(function)
        if path is None:
            if function[0] == "member" and function[2] in ("str", "c_str"):
                return self.value(function[1])
            return UNKNOWN
        short = re.split(r"\.|->|::", path)[-1]
        if path in ("create_tensor", "ml.create_tensor"):
            return self.create(arguments)
        if path == "tn":
            return self.tensor_name(arguments)
        if short in _GETTERS:
            return self.get(short, arguments)
        if self.env.get(f"def {path}"):
            _, _, parameters, body = self.env[f"def {path}"]
            return self.called(parameters, body, [self.value(one) for one in arguments])
        if path in ("create_tensor_qkv", "create_tensor_gate_up_exps"):
            values = [self.value(one) if place else UNKNOWN for place, one in enumerate(arguments)]
            return self.run(f"llama_model_base::{path}", values)
        if path == "load_arch_hparams":
            method = self.source.method(self.source.classes[self.case], path)
            return self.run(method, []) if method else UNKNOWN
        if path.endswith(("::load_arch_hparams", "::load_arch_tensors")):
            return self.run(path, [])
        if short in ("get_weight", "get_tensor_meta"):
            return _stored(self.value(arguments[0]))
        if path.startswith("hparams."):
            return self.hparam_call(path[8:], [self.value(one) for one in arguments])
        if path == "load_swa_pattern":
            rest = [self.value(one) for one in arguments[1:]]
            dense_first = rest[1] if len(rest) > 1 else False
            self.env["hparams.is_swa_impl"] = ["swa", rest[0], dense_first]
            return True
        return self.known_call(path, short, arguments)

    def known_call(self, path: str, short: str, arguments: list[Tree]) -> Tree:
        if path == "GGML_ASSERT":
            condition = self.value(arguments[0])
            if condition is not True and condition != UNKNOWN:
                self.refusals.append([_both(self.when, _not(condition)), list(self.loops)])
            return True
        if path == "GGML_ABORT":
            self.refusals.append([self.when, list(self.loops)])
            self.when = False
            return True
        if path == "std::fill" and len(arguments) == 3:
            target = _path(arguments[0][1][1]) if arguments[0][0] == "call" else None
            if target:
                self.env[target] = ["fill", self.value(arguments[2])]
            return True
        if path in ("std::max", "std::min") and len(arguments) == 2:
            a, b = (self.value(one) for one in arguments)
            if UNKNOWN in (a, b):
                return UNKNOWN
            return [short, a, b]
        if path == "llama_rope_scaling_type_from_string":
            return self.value(arguments[0])
        if path == "std::to_string" or short in ("c_str", "str"):
            return self.value(arguments[0]) if arguments else self.value(_owner(path))
        if path == "llm_arch_is_recurrent":
            return self.case in self.source.recurrent
        if path == "ml.get_arch":
            return ["text", self.case]
        if path == "vocab.n_tokens":
            return ["vocab"]
        if path in ("int", "int64_t", "uint32_t", "float", "static_cast") and arguments:
            return self.value(arguments[0])
        if short in ("size", "empty") and "." in path:
            owner = self.value(_owner(path))
            if not isinstance(owner, list) or owner[0] != "keys":
                return UNKNOWN
            count = ["count", owner[1], 0]
            return count if short == "size" else ["==", count, 0]
        if path in self.source.functions and path.endswith("require_nonzero"):
            value = self.value(arguments[2])
            if value != UNKNOWN:
                self.refusals.append([_both(self.when, ["==", value, 0]), list(self.loops)])
            return True
        return UNKNOWN

    def hparam_call(self, name: str, args: list[Tree]) -> Tree:
        layer: Tree = args[0] if args else 0
        if UNKNOWN in args:
            return UNKNOWN
        arrays = {
            "n_head": "n_head_arr", "n_head_kv": "n_head_kv_arr", "n_ff": "n_ff_arr",
            "n_ff_exp": "n_ff_exp_arr", "n_expert_used": "n_expert_used_arr",
            "is_recr": "is_recr_impl", "is_swa": "is_swa_impl",
            "is_indexer_full": "is_indexer_full_impl",
        }  # fmt: skip
        if name in arrays:
            return self.item(self.h(arrays[name]), layer)
        if name == "n_layer":
            return self.binary("-", self.h("n_layer_all"), self.h("n_layer_nextn"))
        if name in ("n_rot", "n_embd_head_k", "n_embd_head_v"):
            swa = self.hparam_call("is_swa", [layer])
            return _chosen(swa, self.h(f"{name}_swa"), self.h(f"{name}_full"))
        if name in ("n_embd_k_gqa", "n_embd_v_gqa"):
            size = self.hparam_call(f"n_embd_head_{name[7]}", [layer])
            return self.binary("*", size, self.hparam_call("n_head_kv", [layer]))
        if name == "is_mla":
            key = self.h("n_embd_head_k_mla_impl")
            value = self.h("n_embd_head_v_mla_impl")
            return _both(_not(self.equal(key, 0, "==")), _not(self.equal(value, 0, "==")))
        if name in ("n_embd_head_k_mla", "n_embd_head_v_mla"):
            return _chosen(
                self.hparam_call("is_mla", []),
                self.h(f"{name}_impl"),
                self.hparam_call(name[:13], []),
            )
        if name == "n_embd_out":
            out = self.h("n_embd_out_impl")
            return _chosen(_not(self.equal(out, 0, "==")), out, self.h("n_embd"))
        if name == "n_expert_used_max":
            return ["highest", self.h("n_expert_used_arr"), self.h("n_layer_all")]
        if name == "has_kv":
            first = self.h("n_layer_kv_from_start")
            return ["or", ["<", first, 0], ["<", layer, first]]
        if name in ("set_swa_pattern", "set_recr_pattern"):
            dense_first = args[1] if len(args) > 1 else False
            kind = "is_swa_impl" if "swa" in name else "is_recr_impl"
            self.env[f"hparams.{kind}"] = ["pattern", args[0], dense_first]
            return True
        return UNKNOWN

    def binary(self, sign: str, a: Tree, b: Tree) -> Tree:
        if isinstance(a, (int, float)) and isinstance(b, (int, float)):
            return _counted(sign, a, b)
        if UNKNOWN in (a, b):
            return UNKNOWN
        return [sign, a, b]

    def get(self, kind: str, arguments: list[Tree]) -> Tree:
        """``get_key(KEY, target, required)`` and its kin: whether the key is there."""
        name = self.key_name(arguments[0])
        required: Tree = True
        rest = arguments[2:]
        if kind == "get_key_or_arr" and len(rest) > 1:
            required = self.value(rest[1])
        elif kind == "get_key_or_arr" and rest and rest[0] is False:
            required = False
        elif kind != "get_key_or_arr" and rest:
            required = self.value(rest[0])
        target = _path(arguments[1])
        if name is None:
            if target:
                self.env[target] = UNKNOWN
            return UNKNOWN
        if required is True:
            self.keys.append([name, self.when, list(self.loops)])
        if target is not None:
            self.env[target] = self.read_key(kind, name, target, rest)
        return True if required is True else ["haskey", name]

    def read_key(self, kind: str, name: str, target: str, rest: list[Tree]) -> Tree:
        old = self.named(["name", target])
        if kind == "get_arr_n":
            return ["count", name, old]
        if kind in ("get_arr", "get_key_or_arr"):
            count = self.value(rest[0]) if kind == "get_key_or_arr" and rest else UNKNOWN
            if isinstance(count, bool):  # get_key_or_arr(KEY, one number, required)
                return UNKNOWN
            array = old if isinstance(old, list) and old != UNKNOWN else ["fill", 0]
            return ["keys", name, count, array]
        return ["key", name, old]

    def key_name(self, it: Tree) -> str | None:
        path = _path(it)
        if path is None or path not in self.source.keys:
            return None
        return self.source.keys[path].replace("%s.", ".", 1)

    def tensor_name(self, arguments: list[Tree]) -> Tree:
        which = self.value(arguments[0])
        if which == UNKNOWN or which[0] != "text" or which[1] not in self.source.names:
            return UNKNOWN
        rest = arguments[1:]
        suffix = ""
        if rest and isinstance(rest[0], list) and rest[0][0] == "text":
            suffix = f".{rest[0][1]}"
            rest = rest[1:]
        name = self.source.names[which[1]]
        indices = [self.value(one) for one in rest]
        return ["tensor", name + suffix, indices[: name.count("%d")]]

    def create(self, arguments: list[Tree]) -> Tree:
        name = self.value(arguments[0])
        flags = self.value(arguments[2]) if len(arguments) > 2 else 0
        braces = arguments[1]
        sizes = UNKNOWN
        if isinstance(braces, list) and braces[0] == "braces":
            sizes = [self.value(one) for one in braces[1]]
        if name == UNKNOWN or name[0] != "tensor":
            self.tensors.append([None, [], [], self.when, False, False, list(self.loops)])
            return UNKNOWN
        required = _not(_bit(flags, _NOT_REQUIRED))
        if required == ["not", UNKNOWN]:
            required = UNKNOWN
        reshape = _bit(flags, _RESHAPE)
        row = [name[1], name[2], sizes, self.when, required, reshape, list(self.loops)]
        self.tensors.append(row)
        there: Tree = ["has", name[1], name[2]]
        if required is True:
            there = True
        skipped = _bit(flags, _SKIP)
        return _both(_not(skipped), there) if skipped != UNKNOWN else UNKNOWN


def _stored(name: Tree) -> Tree:
    if isinstance(name, list) and name[0] == "tensor":
        return ["has", name[1], name[2]]
    if isinstance(name, list) and name[0] == "text":
        return ["has", name[1], []]
    if isinstance(name, list) and name[0] == "+":  # "blk." + std::to_string(n) + ".nextn..."
        left = name[1]
        right = name[2]
        if isinstance(left, list) and left[0] == "+" and left[1] == ["text", "blk."]:
            return ["has", f"blk.%d{right[1]}", [left[2]]]
    return UNKNOWN


def _owner(path: str) -> Tree:
    return ["name", path.rpartition(".")[0]]


def _counted(sign: str, a: Any, b: Any) -> Tree:
    if sign in ("/", "//", "%") and not b:
        return UNKNOWN
    return {
        "+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: a // b,
        "%": lambda: a % b, "<": lambda: a < b, ">": lambda: a > b, "<=": lambda: a <= b,
        ">=": lambda: a >= b, "|": lambda: a | b, "&": lambda: a & b,
    }.get(sign, lambda: UNKNOWN)()  # fmt: skip


def _path(it: Tree) -> str | None:
    """``hparams.n_ff`` of a name or of members of one."""
    if not isinstance(it, list):
        return None
    if it[0] == "name":
        return str(it[1])
    if it[0] == "member":
        owner = _path(it[1])
        return None if owner is None else f"{owner}.{it[2]}"
    if it[0] == "item" and _path(it[1]) == "layers":
        return "layer"
    return None


def asked_by_all(source: Source) -> Mapping[str, Asked]:
    """Architecture, as ``general.architecture`` spells it -> what its loader asks."""
    made = {}
    for case, name in source.architectures.items():
        if case in source.classes:
            made[name] = asked_by(source, case)
    return made
