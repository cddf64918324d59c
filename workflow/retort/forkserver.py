"""Start the jobs of one machine, or of one Slurm job, as forks of a process that has imported torch and transformers.

These imports take seconds of CPU time, and a study has hundreds of short jobs. Snakemake starts each job's script in a
new process. The script asks the server for a fork, in which it runs from its first line, and waits for the end of it.
Without a server, and wherever the server cannot stand in for the process that asks, the script runs in its own process.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import runpy
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retort import provenance

ADDRESS = "RETORT_FORKSERVER"  # environment variable: the path of the server's socket
TERMINATE = b"T"  # a client was told to end, and so is its fork
GREETING = 1 << 20  # largest size of a request: arguments, environment and module path
LONGEST = 80  # bytes of the folder of temporary files: the whole path of a socket may have 107
ON_NODES = (  # what jobs of a cluster's nodes import
    "transformers.models.bert.modeling_bert",
    "transformers.models.roberta.modeling_roberta",
    "snakemake.script",
    "retort.stages.distill",
    "retort.stages.finetune",
    "retort.stages.preprocess",
    "retort.stages.teacher",
)
PRELOADED = (
    *ON_NODES,
    "matplotlib.pyplot",
    "pandas",
    "scipy.stats",
    "retort.stages.submission",
    "retort.tables.make",
    "retort.report.page",
)


def identity() -> str:
    """Return what a server and the process that asks it must have in common: interpreter and code."""
    return f"{sys.executable} {provenance.code()}"


def start(environment: dict[str, str], preloaded: tuple[str, ...]) -> None:
    """Start a server that ends with this process, and set its address in this process's environment.

    Where none can be started, there is none.

    Args:
        environment: the variables of the server; a fork has those of the process that asks for it.
        preloaded: the modules that the server imports.
    """
    with contextlib.suppress(OSError):
        folder = _folder()
        try:
            os.environ[ADDRESS] = _start(folder, environment, preloaded)
        except OSError:
            shutil.rmtree(folder, ignore_errors=True)


def _folder() -> Path:
    """Return a new folder for the socket, of this user alone: who reaches the socket can run code."""
    long = len(os.fsencode(tempfile.gettempdir())) > LONGEST
    return Path(tempfile.mkdtemp(prefix="retort-", dir="/tmp" if long else None))


def _start(folder: Path, environment: dict[str, str], preloaded: tuple[str, ...]) -> str:
    """Start a server whose socket is in a folder, and return its address."""
    address = str(folder / "socket")
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(address)
        listener.listen(64)  # from here on, clients can connect, and wait until the server has imported the modules
        command = [sys.executable, "-m", "retort.forkserver", str(listener.fileno()), *preloaded]
        # its standard input is a pipe that nobody writes to: it closes when this process ends, however it ends
        server = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment, pass_fds=[listener.fileno()])
    _servers.append(server)
    return address


_servers: list[subprocess.Popen[bytes]] = []  # kept, because the pipes close when they are deleted


def hand_over() -> None:
    """Run the script of this process in a fork of the server and exit with its status; return if there is no server."""
    address = os.environ.pop(ADDRESS, None)
    if address is None:
        return
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as connection:
        try:
            connection.connect(address)
            _ask(connection)
            if connection.recv(1) != b"y":
                return
        except OSError:  # it ended, or belongs to another machine
            return
        signal.signal(signal.SIGTERM, lambda *_: connection.send(TERMINATE))
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to the fork as well
        status = connection.recv(64)
    sys.exit(int(status) if status else 1)


def _ask(connection: socket.socket) -> None:
    request = {
        "identity": identity(),
        "arguments": sys.argv,
        "environment": dict(os.environ),
        "path": sys.path,
        "folder": str(Path.cwd()),
    }
    text = json.dumps(request).encode()
    socket.send_fds(connection, [len(text).to_bytes(4, "big")], [0, 1, 2])
    connection.sendall(text)


def _received(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Return the request of a client, and its standard streams."""
    size, streams, _, _ = socket.recv_fds(connection, 4, 3)
    left, text = int.from_bytes(size, "big"), b""
    if left > GREETING or len(streams) != 3:
        raise ValueError("no request")
    while len(text) < left:
        part = connection.recv(left - len(text))
        if not part:
            raise ValueError("half a request")
        text += part
    return json.loads(text), streams


@dataclass
class Fork:
    """A job that runs as a fork.

    Args:
        process: its process id.
        client: the connection to the process that waits for it.
        alive: the end of a pipe that closes when the fork ends.
    """

    process: int
    client: socket.socket
    alive: int


class Server:
    """Accepts requests and forks; ends when the process that started it has ended and the last fork is done."""

    def __init__(self, listener: socket.socket) -> None:
        self.identity = identity()
        self.listener = listener
        self.selector = selectors.DefaultSelector()
        self.forks: list[Fork] = []
        self.accepting = True

    def serve(self) -> None:
        """Serve until standard input closes and no fork is left."""
        self.selector.register(self.listener, selectors.EVENT_READ, self._accept)
        self.selector.register(sys.stdin, selectors.EVENT_READ, self._stop)
        while self.accepting or self.forks:
            for key, _ in self.selector.select():
                key.data()

    def _stop(self) -> None:
        self.accepting = False
        self.selector.unregister(sys.stdin)
        self.selector.unregister(self.listener)
        self.listener.close()

    def _accept(self) -> None:
        client, _ = self.listener.accept()
        try:
            request, streams = _received(client)
        except (OSError, ValueError):
            client.close()
            return
        if request["identity"] == self.identity:
            self._fork(client, request, streams)
        else:
            client.close()
        for stream in streams:
            os.close(stream)

    def _fork(self, client: socket.socket, request: dict[str, Any], streams: list[int]) -> None:
        reading, writing = os.pipe()
        process = os.fork()
        if process == 0:
            os.close(reading)
            self.selector.close()
            for opened in (self.listener, client, *(fork.client for fork in self.forks)):
                opened.close()
            _run(request, streams)
        os.close(writing)
        client.send(b"y")
        fork = Fork(process, client, reading)
        self.forks.append(fork)
        self.selector.register(reading, selectors.EVENT_READ, lambda: self._ended(fork))
        self.selector.register(client, selectors.EVENT_READ, lambda: self._told(fork))

    def _told(self, fork: Fork) -> None:
        """Pass a signal on to a fork; a client that is gone was killed, and so is its fork."""
        try:
            terminate = fork.client.recv(1) == TERMINATE
        except OSError:
            terminate = False
        os.kill(fork.process, signal.SIGTERM if terminate else signal.SIGKILL)
        if not terminate:
            self.selector.unregister(fork.client)

    def _ended(self, fork: Fork) -> None:
        """Tell the client the exit status of its fork; killed by signal n counts as 128 + n, as in a shell."""
        _, status = os.waitpid(fork.process, 0)
        code = os.waitstatus_to_exitcode(status)
        with contextlib.suppress(OSError):
            fork.client.send(str(code if code >= 0 else 128 - code).encode())
        with contextlib.suppress(KeyError):
            self.selector.unregister(fork.client)
        self.selector.unregister(fork.alive)
        fork.client.close()
        os.close(fork.alive)
        self.forks.remove(fork)


def _run(request: dict[str, Any], streams: list[int]) -> None:
    """Run a client's script in this process, a fork, as if the client had gone on; never return."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    status = 1
    try:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        os.environ.clear()
        os.environ.update(request["environment"])
        os.chdir(request["folder"])
        sys.argv, sys.path[:] = request["arguments"], request["path"]
        runpy.run_path(sys.argv[0], run_name="__main__")
        status = 0
    except SystemExit as end:
        status = _exit_status(end)
    except BaseException:
        traceback.print_exc()
    finally:
        for output in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                output.flush()
        os._exit(status)  # without the exit handlers of the server


def _exit_status(end: SystemExit) -> int:
    """Return the status with which an interpreter ends, and print the message that is given in its place."""
    if end.code is None or isinstance(end.code, int):
        return end.code or 0
    print(end.code, file=sys.stderr)
    return 1


def main(listener: socket.socket, preloaded: list[str]) -> None:
    """Import the modules and serve the clients of a socket."""
    for number in (signal.SIGINT, signal.SIGTERM):  # whoever started the server decides when it ends; Slurm tells all
        signal.signal(number, signal.SIG_IGN)
    folder = Path(listener.getsockname()).parent
    try:
        server = Server(listener)
        for name in preloaded:
            importlib.import_module(name)
        gc.freeze()  # a fork that collects garbage would copy the memory of all imported modules
        server.serve()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:])
