"""A kernel that starts by a fork. Seventy notebooks import the same modules; here they are imported once.

``python tools/quick_kernel.py -f FILE`` is the kernel `alone`, whose specification tools/alone.py writes. A server
holds the imported modules and forks a child for each notebook, which takes over the folder, the variables and the
output of the process that asked for it, and ends with it. Whoever finds no server starts one; it ends when nobody has
asked for `PATIENCE` seconds. So a notebook starts in a tenth of the processor's time.

Where there is no fork, and on macOS, whose libraries do not survive one, the kernel starts like any other.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from hashlib import sha256
from pathlib import Path

MODULES = (
    "IPython.core.completerlib",
    "IPython.core.debugger",
    "IPython.extensions.storemagic",
    "ipykernel.debugger",
    "ipykernel.kernelapp",
    "matplotlib.pyplot",
    "matplotlib_inline.backend_inline",
    "numpy.random",
    "psutil",
    "sqlite3",
    "statsmodels.datasets",
    "tornado.platform.asyncio",
    "gru_lib.check",
    "gru_lib.viz",
    "gru_lib.widgets",
)
PATIENCE = 30.0  # seconds
OF_ONE_KERNEL = ("JPY_", "PYTEST_", "PWD", "OLDPWD", "_")  # variables that do not decide what the modules hold


def name() -> str:
    """Of the socket in the environment's folder where the server for these variables listens."""
    lasting = sorted(pair for pair in os.environ.items() if not pair[0].startswith(OF_ONE_KERNEL))
    return f"quick-{sha256(repr(lasting).encode()).hexdigest()[:12]}"


def serve() -> None:
    """Import the modules, then fork a kernel for everybody who connects."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system clears ended children away
    path, own = Path(name()), Path(f"{name()}-{os.getpid()}")
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # as in every kernel
    for module in MODULES:
        importlib.import_module(module)
    draw()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(own))
        server.listen()
        server.settimeout(PATIENCE)
        file = own.stat().st_ino
        own.rename(path)  # of two servers that start at once, one is found from now on; the other ends soon
        found = True
        while True:
            try:
                line, _ = server.accept()
            except TimeoutError:
                if not found:
                    return
                if path.exists() and path.stat().st_ino == file:
                    path.unlink()
                found = False  # but somebody may have found it just before
                server.settimeout(1)
            else:
                with line:
                    if os.fork() == 0:
                        server.close()
                        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                        become(line)


def draw() -> None:
    """Draw a figure, since the first one in a process takes most of its time to find and read the fonts."""
    from matplotlib.figure import Figure

    figure = Figure()
    figure.subplots().set(title="$h_t$", xlabel="step")
    figure.savefig(io.BytesIO(), format="svg")


def become(line: socket.socket) -> None:
    """In the child: be the kernel that the other end asks for, and end with it."""
    _, outputs, *_ = socket.recv_fds(line, 1, 2)
    for output, standard in zip(outputs, (1, 2), strict=True):
        os.dup2(output, standard)
    arguments, folder, variables = json.loads(line.makefile().readline())
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)

    def heed() -> None:
        while line.recv(1):
            os.kill(os.getpid(), signal.SIGINT)
        os._exit(0)

    threading.Thread(target=heed, daemon=True).start()
    start(arguments)
    os._exit(0)


def start(arguments: list[str]) -> None:
    """Be a kernel."""
    from ipykernel.kernelapp import IPKernelApp  # not in the process that only asks

    IPKernelApp.launch_instance(argv=arguments)


def connect() -> socket.socket:
    """A line to the server, which is started if there is none."""
    line = socket.socket(socket.AF_UNIX)
    started = None
    while started is None or started.poll() is None:
        try:
            line.connect(name())
            return line
        except OSError:
            quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
            started = started or subprocess.Popen(
                [sys.executable, __file__, "--serve"], start_new_session=True, **quiet
            )
            time.sleep(0.02)
    sys.exit(f"python {__file__} --serve ended with {started.returncode}.")


def main(arguments: list[str]) -> None:
    """Be the server, or a kernel."""
    if arguments == ["--serve"]:
        serve()
    elif sys.platform != "linux":
        start(arguments)
    else:
        folder = os.getcwd()
        variables = os.environ | {"JPY_PARENT_PID": "1"}  # it heeds the line, and watches no parent
        os.chdir(sys.prefix)  # a socket's path may have 107 bytes
        line = connect()
        socket.send_fds(line, [b" "], [1, 2])
        line.sendall(json.dumps([arguments, folder, variables]).encode() + b"\n")
        signal.signal(signal.SIGINT, lambda *_: line.send(b"i"))
        line.recv(1)  # until it ends


if __name__ == "__main__":
    main(sys.argv[1:])
