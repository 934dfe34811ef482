"""The tensor types of GGUF: names, block sizes, and the names of whole files' mixtures.

Source: ``type_traits`` in ggml/src/ggml.c and ``enum ggml_type`` in ggml/include/ggml.h, and
``enum llama_ftype`` in llama.cpp's include/llama.h; checked against the ``gguf`` package in tests.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class GgmlType(NamedTuple):
    """A tensor type: ``block`` elements are stored in ``nbytes`` bytes, scales included."""

    name: str
    block: int
    nbytes: int

    def stored_bytes(self, shape: tuple[int, ...]) -> int:
        """Bytes of a tensor of this row-major shape: every row is rounded up to whole blocks."""
        rows = 1
        for size in shape[:-1]:
            rows *= size
        columns = shape[-1] if shape else 1
        return rows * (-(-columns // self.block)) * self.nbytes


#: Type number -> type. Numbers 4, 5 (Q4_2, Q4_3) never occurred in GGUF. 31 to 33 and 36 to 38 are
#: the rearranged Q4_0 and IQ4_NL that older files hold; llama.cpp refuses them today.
GGML_TYPES: Mapping[int, GgmlType] = MappingProxyType(
    {
        0: GgmlType("F32", 1, 4),
        1: GgmlType("F16", 1, 2),
        2: GgmlType("Q4_0", 32, 18),
        3: GgmlType("Q4_1", 32, 20),
        6: GgmlType("Q5_0", 32, 22),
        7: GgmlType("Q5_1", 32, 24),
        8: GgmlType("Q8_0", 32, 34),
        9: GgmlType("Q8_1", 32, 40),
        10: GgmlType("Q2_K", 256, 84),
        11: GgmlType("Q3_K", 256, 110),
        12: GgmlType("Q4_K", 256, 144),
        13: GgmlType("Q5_K", 256, 176),
        14: GgmlType("Q6_K", 256, 210),
        15: GgmlType("Q8_K", 256, 292),
        16: GgmlType("IQ2_XXS", 256, 66),
        17: GgmlType("IQ2_XS", 256, 74),
        18: GgmlType("IQ3_XXS", 256, 98),
        19: GgmlType("IQ1_S", 256, 50),
        20: GgmlType("IQ4_NL", 32, 18),
        21: GgmlType("IQ3_S", 256, 110),
        22: GgmlType("IQ2_S", 256, 82),
        23: GgmlType("IQ4_XS", 256, 136),
        24: GgmlType("I8", 1, 1),
        25: GgmlType("I16", 1, 2),
        26: GgmlType("I32", 1, 4),
        27: GgmlType("I64", 1, 8),
        28: GgmlType("F64", 1, 8),
        29: GgmlType("IQ1_M", 256, 56),
        30: GgmlType("BF16", 1, 2),
        31: GgmlType("Q4_0_4_4", 32, 18),
        32: GgmlType("Q4_0_4_8", 32, 18),
        33: GgmlType("Q4_0_8_8", 32, 18),
        34: GgmlType("TQ1_0", 256, 54),
        35: GgmlType("TQ2_0", 256, 66),
        36: GgmlType("IQ4_NL_4_4", 32, 18),
        37: GgmlType("IQ4_NL_4_8", 32, 18),
        38: GgmlType("IQ4_NL_8_8", 32, 18),
        39: GgmlType("MXFP4", 32, 17),
        40: GgmlType("NVFP4", 64, 36),
        41: GgmlType("Q1_0", 128, 18),
        42: GgmlType("Q2_0", 64, 18),
    }
)

#: The same by name, for those who have a tensor and not its number.
GGML_TYPES_BY_NAME: Mapping[str, GgmlType] = MappingProxyType(
    {kind.name: kind for kind in GGML_TYPES.values()}
)

#: Those that no release reads any more.
REMOVED_TYPES = frozenset(GGML_TYPES[number].name for number in (31, 32, 33, 36, 37, 38))

#: ``general.file_type`` -> name of the mixture, without MOSTLY_.
FILE_TYPES: Mapping[int, str] = MappingProxyType(
    dict(
        enumerate(
            """F32 F16 Q4_0 Q4_1 Q4_1_SOME_F16 Q4_2 Q4_3 Q8_0 Q5_0 Q5_1 Q2_K Q3_K_S Q3_K_M Q3_K_L
            Q4_K_S Q4_K_M Q5_K_S Q5_K_M Q6_K IQ2_XXS IQ2_XS Q2_K_S IQ3_XS IQ3_XXS IQ1_S IQ4_NL IQ3_S
            IQ3_M IQ2_S IQ2_M IQ4_XS IQ1_M BF16 Q4_0_4_4 Q4_0_4_8 Q4_0_8_8 TQ1_0 TQ2_0 MXFP4_MOE
            NVFP4 Q1_0 Q2_0""".split()
        )
    )
)
