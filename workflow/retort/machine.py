"""This machine as its processes see it: its name, for process ids mean something there only, its memory, its GPUs."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import resource
import socket
import sys
from pathlib import Path

from retort.errors import RetortError

BOOT, NAMESPACE = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")
STATUS, CLEAR_REFS = Path("/proc/self/status"), Path("/proc/self/clear_refs")
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # options of mallopt(3), as <malloc.h> numbers them


@functools.cache
def name() -> str:
    """Return a name of the running system in which process ids count: letters, digits and dashes.

    Two containers may share a host name, and a machine keeps it when it starts anew. So the name is that of the
    kernel's start and of the namespace of process ids; where there is no /proc, it is the host's.
    """
    try:
        boot, namespace = BOOT.read_text(encoding="ascii"), str(NAMESPACE.readlink())
    except OSError:
        return "".join(letter if letter.isalnum() else "-" for letter in socket.gethostname())
    return f"{boot.partition('-')[0]}-{namespace.strip('pid:[]')}"


def is_alive(process: int) -> bool:
    """Return whether a process of this machine lives."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # of another user
        return True
    return True


def keep_freed_memory() -> None:
    """Make the C library keep the memory that this process frees, for its next allocations.

    By default the GNU library returns every large block to the system as soon as it is freed, so that each step of a
    training gets its tensors page by page anew. Other C libraries have no mallopt(3), or ignore these options.
    """
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        library.mallopt(M_MMAP_THRESHOLD, 2**30)  # bytes from which on an allocation is mapped, and unmapped, by itself
        library.mallopt(M_TRIM_THRESHOLD, 2**31 - 1)  # bytes that may stay free at the end of the heap


def max_rss_mb() -> float:
    """Return the most memory (resident set size) that this process has held so far, or since `reset_max_rss`, in MB.

    Where there is a /proc, it tells: getrusage(2) also counts what a process was before it became this program.
    """
    try:
        lines = STATUS.read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        bytes_each = 1 if sys.platform == "darwin" else 1024  # kilobytes on Linux, bytes on macOS
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * bytes_each / 1024**2


def reset_max_rss() -> bool:
    """Let `max_rss_mb` count from now on what this process holds; return whether this can be done, as it can on Linux.

    Freed memory that the C library keeps goes back to the system first: it would count as held.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    try:
        CLEAR_REFS.write_text("5", encoding="ascii")  # the kernel's word for: VmHWM is what is resident now
    except OSError:
        return False
    return True


def check_gpus(promised: int) -> None:
    """Check that torch sees as many GPUs as were promised.

    Raises:
        RetortError: it sees fewer.
    """
    import torch

    seen = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if seen < promised:
        gpus, sees = ("a GPU" if promised == 1 else f"{promised} GPUs"), seen or "none"
        raise RetortError(
            f"the job was promised {gpus}, and torch {torch.__version__} sees {sees} on {socket.gethostname()}",
            "see nvidia-smi there; to train on its CPU, --config device=cpu",
        )
