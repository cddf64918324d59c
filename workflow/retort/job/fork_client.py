"""Ask the server of forks to run a script. Only the standard library is imported: this is the start of every job."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import Sequence
from typing import Any

ADDRESS = "RETORT_FORKSERVER"  # environment variable: the path of the server's socket, which is named after its code
DOWNLOADS = ".fetch_source.py"  # Snakemake's copy of the script that needs the network: a server of forks is offline
TRIED = "RETORT_TRIED"  # environment variable: how often a job was tried again, since others held its GPU's memory
AGAIN = 75  # the exit status of a fork whose script runs again, in place of the client (EX_TEMPFAIL of sysexits.h)
PATIENCE = 60.0  # seconds that a client waits for its fork: a server that is short of memory may never end its imports
MESSAGE = b"."  # from a fork: the script begins; from a client: it received SIGTERM


def begins(watcher: socket.socket, address: str, streams: Sequence[int], *request: Any) -> bool:
    """Ask a server for a fork that runs a script, and return whether it begins; the socket then gives its status.

    Args:
        watcher: a new socket.
        address: the path of the server's socket.
        streams: the standard input, output and error of the script.
        request: its arguments, its `sys.path` (empty: that of the server, behind the folder of the script), its folder
            and its environment variables.
    """
    with contextlib.suppress(OSError):  # the server has ended, hangs, or is on another machine
        watcher.settimeout(PATIENCE)
        watcher.connect(address)
        socket.send_fds(watcher, [MESSAGE], streams)
        watcher.sendall(f"{json.dumps(request)}\n".encode())
        begun = bool(watcher.recv(1))
        watcher.settimeout(None)
        return begun
    return False


def run(arguments: list[str]) -> None:
    """Run Python with these arguments: in a fork of the server, if it accepts; else in place of this process."""
    address = os.environ.pop(ADDRESS, "") if not arguments[0].endswith(DOWNLOADS) else ""
    folder = os.getcwd()  # noqa: PTH109 (to import pathlib would take longer than all the rest)
    with socket.socket(socket.AF_UNIX) as watcher:
        if not begins(watcher, address, (0, 1, 2), arguments, [], folder, dict(os.environ)):
            os.execv(sys.executable, [sys.executable, *arguments])
        signal.signal(signal.SIGTERM, lambda *_: watcher.send(MESSAGE))
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to the fork as well
        status = int(watcher.recv(3) or 1)
        if status != AGAIN:
            sys.exit(status)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.environ[TRIED] = "1"
    os.execv(sys.executable, [sys.executable, *arguments])


if __name__ == "__main__":
    run(sys.argv[1:])
