"""The products of a model's sizes that the bytes which autograd keeps are multiples of."""

from collections.abc import Mapping


def products(z: Mapping[str, int]) -> dict[str, int]:
    """What a kept tensor's elements may be, by sizes: s tokens of b sequences, width h, a heads and
    g key/value heads of d, inner width I (J of a decoder next to an encoder), V words, rank r, k of
    E experts; Q = a·d, K = g·d, t = s·b; e tokens of an encoder, u = e·b. f is a quarter of d,
    which may turn with the position. Frozen matrices that are cast for one step are rows · columns.
    """
    h, a, g, d, inner, s, b, r = (z[name] for name in "hagdIsbr")
    t = s * b
    q = a * d
    kv = g * d
    vocab = z["V"]
    terms = {
        "th": t * h,
        "tQ": t * q,
        "tK": t * kv,
        "tI": t * inner,
        "ta": t * a,
        "tg": t * g,
        "t": t,
        "tr": t * r,
        "tas": t * a * s,
        "tss": t * s,
        "tV": t * vocab,
        "": 1,
        "h": h,
        "d": d,
        "s": s,
        "sd": s * d,
        "sf": s * (d // 4),
        "ss": s * s,
        "hQ": h * q,
        "hK": h * kv,
        "hI": h * inner,
        "hV": h * vocab,
        "Q": q,
        "K": kv,
        "I": inner,
        "V": vocab,
        "rh": r * h,
        "rQ": r * q,
        "rK": r * kv,
        "rI": r * inner,
        "hh": h * h,
        "a": a,
        "r": r,
        "qkv": t * (q + 2 * kv),
        "hqkv": h * (q + 2 * kv),
        "rqkv": r * (q + 2 * kv),
    }
    if "E" in z:
        k = z["k"]
        experts = z["E"]
        terms |= {
            "tk": t * k,
            "tkh": t * k * h,
            "tkI": t * k * inner,
            "tE": t * experts,
            "E": experts,
            "hE": h * experts,
            "EhI": experts * h * inner,
            "Er": experts * r,
            "Ehr": experts * h * r,
            "EIr": experts * inner * r,
            "tkE": t * k * experts,
            "rE": r * experts,
        }
    if "e" in z:
        u = z["e"] * b
        wide = z["J"]
        terms |= {
            "uh": u * h,
            "uQ": u * q,
            "uI": u * inner,
            "ua": u * a,
            "ur": u * r,
            "u": u,
            "uae": u * a * z["e"],
            "tae": t * a * z["e"],
            "tJ": t * wide,
            "hJ": h * wide,
            "rJ": r * wide,
            "J": wide,
            "e": z["e"],
            "ass": a * s * s,
            "aee": a * z["e"] ** 2,
            "ee": z["e"] ** 2,
            "ase": a * s * z["e"],
            "se": s * z["e"],
            "uss": u * s,
        }
    return terms
