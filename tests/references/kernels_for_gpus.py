"""Translate the kernels of relations for a GPU that need not be there, and print what they take of its chip.

To be run as a program: where the tests run Triton's interpreter, nothing can be translated in the same process.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import torch
from retort.objectives.relation_forms import fused, kernels

SCALARS = {"length": "i32", "heads": "i32", "scale_s": "fp32", "scale_t": "fp32"}
MEASURED = dict.fromkeys(("statistics", "weights", "upstream"), "*fp32") | {"keys": "*i1"}
NAMES = {torch.float32: "*fp32", torch.bfloat16: "*bf16"}


def shared_memory(kernel: Any, capability: int, vectors: torch.dtype, sizes: tuple[int, int]) -> int:
    """Return the bytes of shared memory that a program of a kernel takes, for head sizes of student and teacher."""
    import triton
    from triton.backends.compiler import GPUTarget

    student, teacher = (torch.empty(1, 1, size, dtype=vectors, device="meta") for size in sizes)
    launch = fused.launch_of(student, teacher, 1)
    constants = dict(launch.constants) | {"AS_ROWS": True, "AS_COLUMNS": True}
    constants |= dict(zip(("ROWS", "COLUMNS"), launch.block, strict=True))
    constants |= dict(zip(("MINE", "OTHERS"), launch.block, strict=True))
    options = {name: constants.pop(name) for name in ("num_stages", "num_warps")}
    constants = {name: value for name, value in constants.items() if name in kernel.arg_names}
    types = dict.fromkeys(kernel.arg_names, NAMES[vectors]) | SCALARS | MEASURED
    signature = {name: "constexpr" if name in constants else types[name] for name in kernel.arg_names}
    source = triton.compiler.ASTSource(kernel, signature, constants)
    compiled = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)
    return int(compiled.metadata.shared)


STUDENTS = (torch.bfloat16, (8, 16))  # 48 relation heads: the students of MiniLMv2
LARGEST = (torch.float32, (fused.WIDEST, fused.WIDEST))  # what takes most

if __name__ == "__main__":
    kernels_of = (kernels.row_divergence, kernels.gradient)
    sizes_of = [shared_memory(each, int(sys.argv[1]), *case) for each in kernels_of for case in (STUDENTS, LARGEST)]
    print(json.dumps(sizes_of))
