"""What transformers' classes make of the pieces of a SentencePiece model.

Some give each piece its number as id, some put tokens of their own before and behind them (fairseq
numbered its special tokens by itself), and all append a special token that the model lacks. Every
row is what two releases of the library agree on (``python -m tests.oracle record vocabularies``);
the ids of any other class are unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Final, NamedTuple

from ..core.tokenizer_facts import AddedToken
from .token_table import MAX_ADDED, TokenTable, spelled_token

#: Roles in the order in which the library appends tokens that the vocabulary lacks.
ROLES: Final = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
#: And the keys of further special tokens, behind those.
_FURTHER: Final = ("additional_special_tokens", "extra_special_tokens")
#: Sentinels of T5, unless the config says another number.
_EXTRA_IDS: Final = 100
#: And so many at most.
_MAX_EXTRA_IDS: Final = 10_000

_MBART: Final = (
    "ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT "
    "lv_LV my_MM ne_NP nl_XX ro_RO ru_RU si_LK tr_TR vi_VN zh_CN"
)
_MBART_50: Final = (
    f"{_MBART} af_ZA az_AZ bn_IN fa_IR he_IL hr_HR id_ID ka_GE km_KH mk_MK ml_IN mn_MN mr_IN "
    "pl_PL ps_AF pt_XX sv_SE sw_KE ta_IN te_IN th_TH tl_XX uk_UA ur_PK xh_ZA gl_ES sl_SI"
)
_FAIRSEQ: Final = "<s> <pad> </s> <unk>"
_FAIRSEQ_ROLES: Final = "<s> </s> <unk> </s> <pad> <s> <mask>"
_CAMEMBERT: Final = "<s>NOTUSED <pad> </s>NOTUSED <unk> <unk>NOTUSED"


class PieceLayout(NamedTuple):
    """``roles``: a token for each of ROLES, ``-`` for none. ``head`` comes in place of the first
    ``without`` pieces, ``tail`` behind the last."""

    roles: str
    head: str = ""
    without: int = 0
    tail: str = ""


_LAYOUTS: Final = {
    "Llama": PieceLayout("<s> </s> <unk> - - - -"),
    "Gemma": PieceLayout("<bos> <eos> <unk> - <pad> - -"),
    "T5": PieceLayout("- </s> <unk> - <pad> - -"),
    "Siglip": PieceLayout("- </s> <unk> - </s> - -"),
    "Albert": PieceLayout("[CLS] [SEP] <unk> [SEP] <pad> [CLS] [MASK]"),
    "XLNet": PieceLayout("<s> </s> <unk> <sep> <pad> <cls> <mask>"),
    "DebertaV2": PieceLayout("[CLS] [SEP] [UNK] [SEP] [PAD] [CLS] [MASK]"),
    "BigBird": PieceLayout("<s> </s> <unk> [SEP] <pad> [CLS] [MASK]"),
    "Reformer": PieceLayout("- </s> <unk> - - - -"),
    "SpeechT5": PieceLayout("<s> </s> <unk> - <pad> - -"),
    "GPTSw3": PieceLayout("<s> <|endoftext|> <unk> - <pad> - -"),
    "XLMRoberta": PieceLayout(_FAIRSEQ_ROLES, _FAIRSEQ, 3, "<mask>"),
    "LayoutXLM": PieceLayout(_FAIRSEQ_ROLES, _FAIRSEQ, 3, "<mask>"),
    "MBart": PieceLayout(_FAIRSEQ_ROLES, _FAIRSEQ, 3, f"{_MBART} <mask>"),
    "MBart50": PieceLayout(f"-{_FAIRSEQ_ROLES[3:]}", _FAIRSEQ, 3, f"{_MBART_50} <mask>"),
    "Camembert": PieceLayout(_FAIRSEQ_ROLES, _CAMEMBERT, 1, "<mask>"),
}
#: The class of a type, where no file names one (transformers: TOKENIZER_MAPPING_NAMES).
_BY_TYPE: Final = {
    "llama": "Llama",
    "mistral": "Llama",
    "mixtral": "Llama",
    "gemma": "Gemma",
    "gemma2": "Gemma",
    "t5": "T5",
    "mt5": "T5",
    "siglip": "Siglip",
    "albert": "Albert",
    "xlnet": "XLNet",
    "deberta-v2": "DebertaV2",
    "big_bird": "BigBird",
    "reformer": "Reformer",
    "xlm-roberta": "XLMRoberta",
    "mbart": "MBart",
    "camembert": "Camembert",
}
#: Classes and types that number the tokens of vocab.json and vocab.txt otherwise, or add to them.
_NUMBERED_IN_CODE: Final = (
    "M2M100Tokenizer",
    "m2m_100",
    "PhobertTokenizer",
    "BertweetTokenizer",
)


def placed(
    table: TokenTable | None, config: Mapping[str, object], model: Mapping[str, object]
) -> TokenTable | None:
    """The table with the ids of its class, by tokenizer_config.json and the model's config.json.

    A model of SentencePiece of which no file names a class has its own ids; of a class that is not
    in the table above, or numbers other lists in code, only the number of tokens is known.
    """
    if table is None or table.coverage == "part" or table.file.endswith("tokenizer.json"):
        return table
    name = config.get("tokenizer_class") or model.get("tokenizer_class")
    kind = model.get("model_type")
    if table.coverage == "all":
        return _unplaced(table) if name in _NUMBERED_IN_CODE or kind in _NUMBERED_IN_CODE else table
    if not name and not kind and "auto_map" not in config:
        return replace(table, coverage="all")
    stem = str(name).removesuffix("Fast").removesuffix("Tokenizer") if name else None
    layout = _LAYOUTS.get(_BY_TYPE.get(str(kind), "") if stem is None else stem)
    tokens = _tokens(table, layout, config) if layout is not None else []
    if layout is None or len(set(tokens)) != len(tokens):
        return _unplaced(table)
    roles = zip(ROLES, layout.roles.split(), strict=True)
    ids = {token: number for number, token in enumerate(tokens)}
    named = {role: name for role, name in roles if name not in "-"}
    return replace(table, ids=ids, coverage="all", roles=named)


def _unplaced(table: TokenTable) -> TokenTable:
    return replace(table, ids={}, coverage="part", size=len(table.ids), roles={})


def _tokens(table: TokenTable, layout: PieceLayout, config: Mapping[str, object]) -> list[str]:
    tail = layout.tail.split()
    if layout is _LAYOUTS["T5"]:
        count = config.get("extra_ids", _EXTRA_IDS)
        if type(count) is not int or not 0 <= count <= _MAX_EXTRA_IDS:
            return ["", ""]
        tail = [f"<extra_id_{number}>" for number in reversed(range(count))]
    own = layout.roles.split()
    for role, token in zip(ROLES, own, strict=True):
        if layout.head and (spelled_token(config.get(f"{role}_token")) or token) != token:
            return ["", ""]  # releases differ where such a token gets another name
    return [*layout.head.split(), *list(table.ids)[layout.without :], *tail]


def role_tokens(
    table: TokenTable | None, configs: Iterable[tuple[str, Mapping[str, object]]]
) -> Mapping[str, tuple[str, str]]:
    """Role -> its token and the file that names it, the first of ``configs``; the file is empty
    where only the tokenizer's class does."""
    named = {role: (token, "") for role, token in (table.roles if table else {}).items()}
    for file, config in reversed(list(configs)):
        for role in ROLES:
            token = spelled_token(config.get(f"{role}_token"))
            if token is not None:
                named[role] = (token, file)
    return named


def appended(
    table: TokenTable | None,
    added: Iterable[AddedToken],
    configs: Iterable[tuple[str, Mapping[str, object]]],
) -> list[AddedToken]:
    """Special tokens that are named and in no list: the library gives them the ids that follow."""
    if table is None or table.coverage != "all":
        return []
    configs = list(configs)
    roles = role_tokens(table, configs)
    named = [roles[role] for role in ROLES if role in roles]
    further = next((_further(file, config) for file, config in configs if _has(config)), None)
    named += islice(further or (), MAX_ADDED)
    known = {*table.ids, *table.given, *(one.content for one in added)}
    numbers = (one.id for one in added if table.id_of(one.content) is None)
    following = max(
        len(table.ids),
        *(number + 1 for number in table.given.values()),
        *(number + 1 for number in numbers),
        0,
    )
    tokens = []
    for content, file in named:
        if content not in known:
            known.add(content)
            tokens.append(AddedToken(content, following, True, file, following))
            following += 1
    return tokens


def _has(config: Mapping[str, object]) -> bool:
    return any(isinstance(config.get(key), (list, dict)) for key in _FURTHER)


def _further(file: str, config: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for key in _FURTHER:
        value = config.get(key)
        items = list(value.values()) if isinstance(value, dict) else value
        for item in items if isinstance(items, list) else ():
            if (token := spelled_token(item)) is not None:
                yield token, file
