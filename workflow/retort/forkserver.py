"""Start the jobs of one machine, or of one Slurm job, as forks of a process that has imported torch and transformers.

These imports take seconds of CPU time, and a study has hundreds of short jobs. Snakemake starts each job's script in a
new process, the client. The client asks the server for a fork, which runs the script from its first line, and waits
until the fork ends. If there is no server, or it has another interpreter or other code, the client runs the script.
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
TERMINATE = b"T"  # message of a client that received SIGTERM: its fork gets SIGTERM, too
MAX_REQUEST = 1 << 20  # bytes of a request: arguments, environment and module path
MAX_TEMP_PATH = 80  # bytes of the path of the temporary folder: the whole path of a socket may have 107
ON_NODES = (  # modules that jobs on a cluster's nodes import
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
    """Return the interpreter, the folder and the code, which must be the same for server and client."""
    return f"{sys.executable} {Path(__file__).resolve().parent} {provenance.code()}"


def start(environment: dict[str, str], preloaded: tuple[str, ...]) -> None:
    """Start a server that ends with this process, and set its address in this process's environment.

    If the process that started this one has a server, use that. If none can be started, each job runs in its own
    process.

    Args:
        environment: the environment variables of the server; a fork has those of its client.
        preloaded: the modules that the server imports.
    """
    if _is_running():
        return
    with contextlib.suppress(OSError):
        folder = _make_folder()
        try:
            os.environ[ADDRESS] = _start(folder, environment, preloaded)
        except OSError:
            shutil.rmtree(folder, ignore_errors=True)


def _is_running() -> bool:
    """Return whether the server that the environment names accepts processes of this code."""
    address = os.environ.get(ADDRESS)
    if address is None:
        return False
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as connection:
        return _is_accepted(connection, address, [])


def _make_folder() -> Path:
    """Make a folder for the socket. Only this user can open it: whoever reaches the socket can run code."""
    is_long = len(os.fsencode(tempfile.gettempdir())) > MAX_TEMP_PATH
    return Path(tempfile.mkdtemp(prefix="retort-", dir="/tmp" if is_long else None))


def _start(folder: Path, environment: dict[str, str], preloaded: tuple[str, ...]) -> str:
    """Start a server with its socket in a folder, and return its address, the path of the socket."""
    address = str(folder / "socket")
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(address)
        listener.listen(64)  # from here on, clients can connect, and wait until the server has imported the modules
        command = [sys.executable, "-m", "retort.forkserver", str(listener.fileno()), *preloaded]
        # its standard input is a pipe without data, which closes when this process ends for whatever reason
        server = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment, pass_fds=[listener.fileno()])
    _servers.append(server)
    return address


_servers: list[subprocess.Popen[bytes]] = []  # a pipe would close when its Popen object is deleted


def hand_over() -> None:
    """Run the script of this process in a fork of the server and exit with its status.

    Return if no server accepts this process; the script then runs here.
    """
    address = os.environ.pop(ADDRESS, None)
    if address is None:
        return
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as connection:
        if not _is_accepted(connection, address, sys.argv):
            return
        signal.signal(signal.SIGTERM, lambda *_: connection.send(TERMINATE))
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to the fork as well
        status = connection.recv(64)
    sys.exit(int(status) if status else 1)


def _is_accepted(connection: socket.socket, address: str, arguments: list[str]) -> bool:
    """Connect to a server, ask it for a fork with these arguments, and return whether it accepts this process."""
    try:
        connection.connect(address)
        _send_request(connection, arguments)
        return connection.recv(1) == b"y"
    except OSError:  # the server has ended, or is on another machine
        return False


def _send_request(connection: socket.socket, arguments: list[str]) -> None:
    """Send what the fork needs to run a script, standard streams included.

    Args:
        connection: the connection to the server.
        arguments: the script and its arguments; empty to ask only whether the server accepts this process.
    """
    request = {
        "identity": identity(),
        "arguments": arguments,
        "environment": dict(os.environ),
        "path": sys.path,
        "folder": str(Path.cwd()),
    }
    text = json.dumps(request).encode()
    socket.send_fds(connection, [len(text).to_bytes(4, "big")], [0, 1, 2])
    connection.sendall(text)


def _receive_request(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Return the request of a client, and its standard streams as file descriptors.

    Raises:
        ValueError: the request is too large or incomplete.
    """
    header, streams, _, _ = socket.recv_fds(connection, 4, 3)
    size, text = int.from_bytes(header, "big"), b""
    if size > MAX_REQUEST or len(streams) != 3:
        raise ValueError("no request")
    while len(text) < size:
        part = connection.recv(size - len(text))
        if not part:
            raise ValueError("half a request")
        text += part
    return json.loads(text), streams


@dataclass
class Fork:
    """A job that runs as a fork.

    Args:
        process: its process id.
        client: the connection to its client.
        alive: the read end of a pipe that closes when the fork ends.
    """

    process: int
    client: socket.socket
    alive: int


class Server:
    """Fork for each client; end when the process that started the server and all forks have ended."""

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
            request, streams = _receive_request(client)
        except (OSError, ValueError):
            client.close()
            return
        if request["identity"] == self.identity and request["arguments"]:
            self._fork(client, request, streams)
        else:
            with contextlib.suppress(OSError):  # the client is gone
                client.send(b"y" if request["identity"] == self.identity else b"n")
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
        with contextlib.suppress(OSError):  # the client is gone: `_pass_signal` kills the fork
            client.send(b"y")
        fork = Fork(process, client, reading)
        self.forks.append(fork)
        self.selector.register(reading, selectors.EVENT_READ, lambda: self._report_end(fork))
        self.selector.register(client, selectors.EVENT_READ, lambda: self._pass_signal(fork))

    def _pass_signal(self, fork: Fork) -> None:
        """Send SIGTERM to a fork if its client received it; kill the fork if its client was killed."""
        try:
            terminate = fork.client.recv(1) == TERMINATE
        except OSError:  # the client is gone
            terminate = False
        os.kill(fork.process, signal.SIGTERM if terminate else signal.SIGKILL)
        if not terminate:
            self.selector.unregister(fork.client)

    def _report_end(self, fork: Fork) -> None:
        """Send a client the exit status of its fork: 128 + n if signal n killed the fork, as in a shell."""
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
    """Run a client's script in this process, a fork, with the client's streams and environment; never return."""
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
    """Return the exit status that Python gives a `SystemExit`; print its message if it has one in place of a status."""
    if end.code is None or isinstance(end.code, int):
        return end.code or 0
    print(end.code, file=sys.stderr)
    return 1


def main(listener: socket.socket, preloaded: list[str]) -> None:
    """Import the modules and serve the clients of a socket."""
    # Ctrl-C and Slurm signal all processes, but the server lives until the process that started it has ended
    for number in (signal.SIGINT, signal.SIGTERM):
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
