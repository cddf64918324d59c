"""Translate the kernels of relations for a GPU that need not be there, and print what they take of its chip.

    python kernels_for_gpus.py 80                   # JSON, for the test
    python kernels_for_gpus.py 80 90 100 --table    # Markdown, for `relations.md` of the objectives

To be run as a program: where the tests run Triton's interpreter, nothing can be translated in the same process.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from retort.objectives.relation_forms import fused, kernels

SCALARS = {"length": "i32", "heads": "i32", "scale_s": "fp32", "scale_t": "fp32"}
MEASURED = dict.fromkeys(("statistics", "weights", "upstream"), "*fp32") | {"keys": "*i1"}
NAMES = {torch.float32: "*fp32", torch.bfloat16: "*bf16"}
# head sizes of student and teacher: 48 relation heads of MiniLMv2's students, 12 of 384 and of 768, and the widest
SIZES = ((8, 16), (16, 16), (32, 64), (64, 64))


def taken(kernel: Any, capability: int, vectors: torch.dtype, sizes: tuple[int, int]) -> dict[str, int]:
    """Return the registers of a thread, the bytes of spills of a thread, and the bytes of shared memory of a program.

    Args:
        kernel: the kernel.
        capability: that of the GPU, such as 80.
        vectors: the type of the vectors.
        sizes: head sizes of student and teacher.
    """
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
    return {**_of_ptx(compiled.asm["ptx"]), "shared": int(compiled.metadata.shared)}


def _of_ptx(ptx: str) -> dict[str, int]:
    """Return what the assembler that comes with Triton says of a kernel: registers, and spills in bytes."""
    from triton.backends import nvidia

    target = re.search(r"\.target (\w+)", ptx)
    assert target
    said = ""
    for ptxas in sorted(Path(nvidia.__path__[0], "bin").glob("ptxas*")):  # one of them knows the newest GPUs
        with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
            file.write(ptx)
            file.flush()
            command = [str(ptxas), "-v", f"--gpu-name={target[1]}", file.name, "-o", f"{file.name}.cubin"]
            said += subprocess.run(command, check=False, capture_output=True, text=True).stderr
            Path(f"{file.name}.cubin").unlink(missing_ok=True)
    spilled = re.search(r"(\d+) bytes spill stores", said)
    registers = re.search(r"Used (\d+) registers", said)
    assert spilled, said
    assert registers, said
    return {"registers": int(registers[1]), "spills": int(spilled[1])}


def every(capability: int) -> dict[str, dict[str, int]]:
    """Return what each kernel takes on a GPU, by kernel, type and head sizes."""
    return {
        f"{kernel.__name__} {str(vectors).removeprefix('torch.')} {sizes[0]} x {sizes[1]}": taken(
            kernel, capability, vectors, sizes
        )
        for kernel in (kernels.row_divergence, kernels.gradient)
        for vectors in NAMES
        for sizes in SIZES
    }


if __name__ == "__main__":
    capabilities = [int(text) for text in sys.argv[1:] if text != "--table"]
    found = {capability: every(capability) for capability in capabilities}
    if "--table" not in sys.argv:
        print(json.dumps(found))
    else:
        print("| kernel | " + " | ".join(f"sm_{capability}" for capability in capabilities) + " |")
        print("| --- |" + " ---: |" * len(capabilities))
        for name in found[capabilities[0]]:
            cells = (found[each][name] for each in capabilities)
            shown = (f"{cell['registers']}, {cell['spills']}, {cell['shared'] / 1024:.1f}" for cell in cells)
            print(f"| {name} | {' | '.join(shown)} |")
