"""Tell this machine, as its processes see it, from others: process ids mean something on one machine only."""

from __future__ import annotations

import functools
import os
import socket
from pathlib import Path

BOOT, NAMESPACE = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")


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
