"""Start the jobs of one machine as forks of a process that has imported torch and transformers.

These imports take seconds of CPU time, and a study has many short jobs. Snakemake starts each job's script by a shell
command, in which a function puts a client (`fork_client`) in the place of Python. The client asks the server for a
fork, which runs the script from its first line, and waits until the fork ends. If the server has ended, or the code has
been edited since the server imported it, the client becomes Python and runs the script itself.

For each client, the server forks a watcher, and it forks the process that runs the script. The watcher waits for
the script and for its client, so jobs go on even if the server is killed.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import hashlib
import importlib
import json
import multiprocessing
import os
import runpy
import shlex
import shutil
import signal
import socket
import socketserver
import subprocess
import sys
import tempfile
import time
from multiprocessing.connection import wait
from pathlib import Path

from retort import machine, provenance
from retort.job import fork_client
from retort.job.fork_client import MESSAGE

# environment variables that hold an access token, or an address with a password
TOKENS: tuple[str, ...] = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACEHUB_API_TOKEN")
TOKENS += ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_PROXY")
# numpy's threads would not survive a fork; the hub's library reads its variable when it is imported
SETTINGS = {"OPENBLAS_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
FOLDER, PREFIX = "/tmp", "retort-"  # the path of a socket is short
# what forks find done: modules that are imported, and functions that are called
FOR_PAGES = (
    "matplotlib.pyplot",
    "retort.report.index",
    "retort.report.page:prepare_ahead",
    "retort.results.frames:prepare_ahead",
    "retort.results.planned_study:open_ahead",
    "scipy.stats",
    "snakemake.script",
)
PRELOADED = (
    "datasets",
    "retort.training.stages.distill",
    "retort.training.stages.preprocess",
    "transformers.models.bert.modeling_bert",
    "transformers.models.roberta.modeling_roberta",
    *FOR_PAGES,
)


def _code() -> str:
    """Return a digest of the interpreter, the folder and the code, which must be the same for server and client."""
    identity = f"{sys.executable} {Path(__file__).resolve()} {provenance.digest_code()}"
    return hashlib.sha256(identity.encode()).hexdigest()[:16]


def start(preloaded: tuple[str, ...] = PRELOADED) -> None:
    """Start a server that ends with this process, and set its address in this process's environment.

    If the process that started this one has a server of the same code, use that. If none can be started, each job runs
    in its own process. The server gets this process's environment variables without tokens; a fork has its client's.

    Args:
        preloaded: the modules that the server imports, and the functions that it calls.
    """
    if is_running():
        return
    variables = {name: value for name, value in os.environ.items() if name not in TOKENS} | SETTINGS
    _sweep()
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as listener:
        # only this user can open the folder
        address = str(Path(tempfile.mkdtemp(prefix=PREFIX, dir=FOLDER)) / _code())
        listener.bind(address)
        listener.listen()  # from here on, clients can connect, and wait until the server has imported the modules
        command = [sys.executable, "-m", "retort.job.forkserver", str(listener.fileno()), *preloaded]
        # its standard input is a pipe without data, which closes when this process ends for whatever reason
        _servers.append(subprocess.Popen(command, stdin=subprocess.PIPE, env=variables, pass_fds=[listener.fileno()]))
        os.environ[fork_client.ADDRESS] = address


def is_running() -> bool:
    """Return whether this process's environment names a server of this interpreter and this code."""
    return Path(os.environ.get(fork_client.ADDRESS, "")).name == _code()


def shell_prefix() -> str:
    """Return the start of a shell command (bash) in which this interpreter, called by its path, is the client."""
    python, client = (shlex.quote(str(path)) for path in (sys.executable, Path(fork_client.__file__).resolve()))
    # a function whose name has a slash hides the program of that path; `command` finds the program
    return f'set -euo pipefail; function {python} {{ command {python} -I -S {client} "$@"; }}; '


def _sweep() -> None:
    """Delete the folders of servers that were killed, with everything else of their run: no process has the socket."""
    folders = map(os.walk, Path(FOLDER).glob(f"{PREFIX}*"))  # unlike `Path.glob`, it allows that a folder is deleted
    for path in (Path(above, name) for walk in folders for above, _, names in walk for name in names):
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as client:
            client.settimeout(1)
            is_old = time.time() - path.stat().st_mtime > 60  # a new one may be of a server that is about to listen
            if is_old and client.connect_ex(str(path)) == errno.ECONNREFUSED:
                shutil.rmtree(path.parent, ignore_errors=True)


_servers: list[subprocess.Popen[bytes]] = []  # a pipe would close when its Popen object is deleted


class Watcher(socketserver.StreamRequestHandler):
    """What the server forks for a client: it starts the process that runs the client's script, and waits for both."""

    def handle(self) -> None:
        """Run the script of a client, and send the client the exit status: 128 + n if signal n ended it."""
        self.server.server_close()  # clients must not wait for a server that has ended
        _, streams, _, _ = socket.recv_fds(self.request, 1, 3)
        line = self.rfile.readline()
        if not line:  # the client is gone
            return
        fork = multiprocessing.get_context("fork").Process(target=_run, args=(self.request, streams, json.loads(line)))
        fork.start()
        with contextlib.suppress(ConnectionError):
            while self.request in wait([self.request, fork.sentinel]) and self.request.recv(1):
                fork.terminate()
        fork.kill()  # unless it has ended, its client is gone
        fork.join()
        code = fork.exitcode or 0
        with contextlib.suppress(ConnectionError):
            self.request.send(str(code if code >= 0 else 128 - code).encode())


def _run(client: socket.socket, streams: list[int], request: tuple[list[str], list[str], str, dict[str, str]]) -> None:
    """Run a client's script in this process, with the client's streams, arguments, path, folder and environment."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    multiprocessing.set_start_method(None, force=True)  # the start of this process has set it
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = os.fdopen(0)  # in a process of `multiprocessing`, it is empty
    sys.argv, path, folder, variables = request
    sys.path[:] = path or [str(Path(sys.argv[0]).parent), *sys.path[1:]]
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    multiprocessing.current_process().name = sys.argv[0]  # a traceback begins with it
    client.send(MESSAGE)  # no script runs for a client that is gone
    runpy.run_path(sys.argv[0], run_name="__main__")


class Server(socketserver.ForkingMixIn, socketserver.UnixStreamServer):
    """Fork a watcher for each client."""

    max_children = sys.maxsize  # Snakemake limits the jobs


def serve(listener: socket.socket, preloaded: list[str]) -> None:
    """Prepare what forks find done; serve a socket's clients until standard input closes and all forks have ended."""
    # Ctrl-C signals all processes, but the server lives until the process that started it has ended
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    machine.die_with_parent(signal.SIGKILL)  # it may hang in an import
    machine.settle_environment()
    address = Path(listener.getsockname())
    try:
        with Server(str(address), Watcher, bind_and_activate=False) as server:
            server.socket.close()
            server.socket = listener
            for name in preloaded:
                module, _, function = name.partition(":")
                imported = importlib.import_module(module)
                if function:
                    getattr(imported, function)()
            machine.die_with_parent(0)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            gc.freeze()  # a fork that collects garbage would copy the memory of all imported modules
            # its code is not that of its name if files were edited since it began; 0: standard input
            while 0 not in wait([listener, 0]) and address.name == _code():
                server.handle_request()
                server.service_actions()
    finally:
        shutil.rmtree(address.parent, ignore_errors=True)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:])
