"""The variables of the environment that would decide before this package's code, and which of them hold.

Libraries read them when they are imported, so `settle` is called where a process begins: the command, a run, a job and
the server of forks; other processes inherit them. A notebook that imports the package keeps its own.

The user's hold where they name places, limits and what is told: caches (`HF_HOME`, `MPLCONFIGDIR`), the hub
(`HF_ENDPOINT`, tokens, time limits), threads of a CPU (`OMP_NUM_THREADS`, `MKL_NUM_THREADS`), memory
(`PYTORCH_CUDA_ALLOC_CONF`) and what helps to find a fault (`CUDA_LAUNCH_BLOCKING`, `HF_DEBUG`). Jobs are
offline, whatever those of the hub say, and claim GPUs among `CUDA_VISIBLE_DEVICES`. No figure uses a `matplotlibrc`.
"""

from __future__ import annotations

import os

# variable -> the value that holds, whatever the user's is; None removes it
OURS: dict[str, str | None] = {
    "MPLBACKEND": "agg",  # a notebook's kernel names a module that is not installed here
    "NVIDIA_TF32_OVERRIDE": None,  # `precision` decides how precisely a GPU multiplies
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": None,
    "USE_TORCH": None,  # those who work with TensorFlow or JAX tell libraries to leave torch out
    "USE_TF": None,
    "USE_JAX": None,
    "HF_DATASETS_DISABLE_PROGRESS_BARS": None,  # 0 would forbid the code to hide them
    "HF_HUB_DISABLE_PROGRESS_BARS": None,
    "HF_DATASETS_IN_MEMORY_MAX_SIZE": None,  # no more than a batch of a split is held in memory
    "FSDP_CPU_RAM_EFFICIENT_LOADING": None,  # would read the weights in the first of several processes alone
}


def settle() -> None:
    """Set the variables that this package decides, before the libraries that read them are imported."""
    for name, value in OURS.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
