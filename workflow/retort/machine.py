"""This machine as a process sees it: its name, processes, memory, GPUs and their precision, and the environment."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import resource
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

from retort.errors import RetortError

BOOT, NAMESPACE = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")
CPU_INFO = Path("/proc/cpuinfo")
STATUS, CLEAR_REFS = Path("/proc/self/status"), Path("/proc/self/clear_refs")
PR_SET_PDEATHSIG = 1  # of prctl(2)
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # options of mallopt(3), as <malloc.h> numbers them


@functools.cache
def name() -> str:
    """Return a name of the running system, in which a process id is unique: letters, digits and dashes.

    The host name is not enough: two containers may share it, and a machine keeps it over a reboot. So the name is made
    of the kernel's boot id and the namespace of process ids; without /proc, it is the host name.
    """
    try:
        boot, namespace = BOOT.read_text(encoding="ascii"), str(NAMESPACE.readlink())
    except OSError:
        return "".join(letter if letter.isalnum() else "-" for letter in socket.gethostname())
    return f"{boot.partition('-')[0]}-{namespace.strip('pid:[]')}"


@functools.cache
def cpu_info(key: str) -> str:
    """Return what Linux tells of this machine's first CPU under a key of /proc/cpuinfo; empty if it tells nothing."""
    try:
        lines = CPU_INFO.read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith((f"{key}\t", f"{key} "))), "")


def default_workers(gpu: bool) -> int:
    """Return how many processes prepare batches next to a training by default."""
    return 2 if gpu else 0  # a training on a CPU needs all of its cores itself


def keep_freed_memory() -> None:
    """Make the C library keep the memory that this process frees, for its next allocations.

    By default the GNU library returns every large block to the system as soon as it is freed, so that each training
    step gets new pages for its tensors. Other C libraries have no mallopt(3), or ignore these options.
    """
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        library.mallopt(M_MMAP_THRESHOLD, 2**30)  # bytes of an allocation that gets a memory map of its own
        library.mallopt(M_TRIM_THRESHOLD, 2**31 - 1)  # bytes that may stay free at the end of the heap


def die_with_parent(signal: int) -> None:
    """Let the system signal this process, whatever it does, when its parent ends; 0 for no more. Linux alone can."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal)


def max_rss_mb() -> float:
    """Return the peak memory (resident set size) of this process, or the peak since `reset_max_rss`, in MB.

    /proc is asked first: getrusage(2) also counts the memory of the process before it started this program.
    """
    try:
        lines = STATUS.read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        bytes_each = 1 if sys.platform == "darwin" else 1024  # kilobytes on Linux, bytes on macOS
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * bytes_each / 1024**2


def reset_max_rss() -> bool:
    """Reset the peak that `max_rss_mb` returns to the memory in use now; return whether the system can, as Linux can.

    Freed memory that the C library keeps is given back to the system first, because it would count as in use.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    try:
        CLEAR_REFS.write_text("5", encoding="ascii")  # 5 resets VmHWM, see proc(5)
    except OSError:
        return False
    return True


def check_gpus(promised: int) -> None:
    """Check that torch sees at least as many GPUs as the job was promised.

    Raises:
        RetortError: torch sees fewer.
    """
    import torch

    seen = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if seen < promised:
        gpus, sees = ("a GPU" if promised == 1 else f"{promised} GPUs"), seen or "none"
        raise RetortError(
            f"the job was promised {gpus}, and torch {torch.__version__} sees {sees} on {socket.gethostname()}",
            "see nvidia-smi there; to train on its CPU, --config device=cpu",
        )


@contextlib.contextmanager
def float32_products(precision: str) -> Iterator[None]:
    """Set the precision in which a GPU multiplies float32 matrices inside a block.

    Args:
        precision: 'tf32' rounds the factors to 10 bits of mantissa in place of 23; all others multiply in full
            float32. Sums are in float32 in any case, and so is everything on a CPU.
    """
    import torch  # late: planning needs no torch

    matmul = torch.backends.cuda.matmul
    before = matmul.fp32_precision
    matmul.fp32_precision = "tf32" if precision == "tf32" else "ieee"
    try:
        yield
    finally:
        matmul.fp32_precision = before


# --- variables of the environment that would decide before this package's code, and which of them hold
#
# Libraries read them when they are imported, so `settle_environment` is called where a process begins: the command, a
# run, a job and the server of forks; other processes inherit them. A notebook that imports the package keeps its own.
#
# The user's hold where they name places, limits and what is told: caches (`HF_HOME`, `MPLCONFIGDIR`), the hub
# (`HF_ENDPOINT`, tokens, time limits), threads of a CPU (`OMP_NUM_THREADS`, `MKL_NUM_THREADS`), memory
# (`PYTORCH_CUDA_ALLOC_CONF`) and what helps to find a fault (`CUDA_LAUNCH_BLOCKING`, `HF_DEBUG`). Jobs are
# offline, whatever those of the hub say, and claim GPUs among `CUDA_VISIBLE_DEVICES`. No figure uses a `matplotlibrc`.

# variable -> the value that holds, whatever the user's is; None removes it
OUR_VARIABLES: dict[str, str | None] = {
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


def settle_environment() -> None:
    """Set the variables that this package decides, before the libraries that read them are imported."""
    for name, value in OUR_VARIABLES.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
