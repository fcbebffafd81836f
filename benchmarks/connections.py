"""How long `GET /` takes while other clients hold idle connections.

    python -m benchmarks.connections [--source PATH]

Starts `placement-api` with four threads, and crowds of clients: idle ones, which send nothing, and
partial ones, which stop within the headers. `--source` is another checkout.
"""

import argparse
import contextlib
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

CROWDS = (0, 4, 20, 600, 2_000)
SENT = {"idle": b"", "partial": b"GET / HTTP/1.1\r\nX-Endless: "}
REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
#: timeout of a request in seconds
PATIENCE = 60
ROUNDS = 3


def delay(port: int) -> float | None:
    """Return the seconds until the response is complete; None without a response."""
    began = time.perf_counter()
    try:
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as client:
            client.sendall(REQUEST)
            answered = client.recv(65_536)
    except OSError:
        return None
    return time.perf_counter() - began if answered else None


@contextlib.contextmanager
def serving(source: Path) -> Iterator[int]:
    """Yield the port of a service of that checkout."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("OS_")}
        environ |= {"PYTHONPATH": str(source), "HOME": folder}
        command = [sys.executable, "-m", "placement.cli.serve", "--port", str(port)]
        server = subprocess.Popen(
            command, cwd=folder, env=environ, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            while delay(port) is None:
                time.sleep(0.1)
            yield port
        finally:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def main() -> None:
    """Run the measurements and print them."""
    options = argparse.ArgumentParser(description="GET / beside connections that say nothing.")
    options.add_argument("--source", type=Path, default=Path(__file__).parents[1])
    source = options.parse_args().source
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    for kind, sent in SENT.items():
        for count in CROWDS:
            with serving(source) as port, contextlib.ExitStack() as held:
                for _ in range(count):
                    client = socket.create_connection(("127.0.0.1", port), PATIENCE)
                    held.enter_context(client).sendall(sent)
                found = [delay(port) for _ in range(ROUNDS)]
            shown = ["none" if one is None else f"{one * 1000:.1f} ms" for one in found]
            print(f"{count:5} {kind:8}", *shown, flush=True)


if __name__ == "__main__":
    main()
