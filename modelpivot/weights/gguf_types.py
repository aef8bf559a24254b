"""The tensor types of GGUF: number in the file, name, and how many bytes a block of how many values takes. From the format's own list."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TensorType:
    """Values are stored in blocks."""

    name: str
    block_values: int
    block_bytes: int

    def size_bytes(self, values: int) -> int:
        """Bytes of so many values."""
        return -(-values // self.block_values) * self.block_bytes


_PLAIN = {0: ("F32", 4), 1: ("F16", 2), 24: ("I8", 1), 25: ("I16", 2), 26: ("I32", 4), 27: ("I64", 8), 28: ("F64", 8), 30: ("BF16", 2)}
_BLOCKS_OF_32 = {2: ("Q4_0", 18), 3: ("Q4_1", 20), 6: ("Q5_0", 22), 7: ("Q5_1", 24), 8: ("Q8_0", 34), 20: ("IQ4_NL", 18), 39: ("MXFP4", 17)}
_BLOCKS_OF_256 = {
    10: ("Q2_K", 84), 11: ("Q3_K", 110), 12: ("Q4_K", 144), 13: ("Q5_K", 176), 14: ("Q6_K", 210), 15: ("Q8_K", 292), 16: ("IQ2_XXS", 66),
    17: ("IQ2_XS", 74), 18: ("IQ3_XXS", 98), 19: ("IQ1_S", 50), 21: ("IQ3_S", 110), 22: ("IQ2_S", 82), 23: ("IQ4_XS", 136),
    29: ("IQ1_M", 56), 34: ("TQ1_0", 54), 35: ("TQ2_0", 66),
}  # fmt: skip
TYPES = {
    number: TensorType(name, block_values, block_bytes)
    for block_values, kinds in ((1, _PLAIN), (32, _BLOCKS_OF_32), (256, _BLOCKS_OF_256))
    for number, (name, block_bytes) in kinds.items()
}
"""By number. A type that is not here is newer than this list: its tensors are taken at their word."""
