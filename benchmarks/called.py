"""The other end of `benchmarks.in_process`: calls the interpreter's own service in a loop.

Each line of the input has a list of requests: method, path, query, headers as WSGI names them, and
body. The answer is a line as soon as all is read. After another line of input all requests are
made, and the answer is the body of the last one. Needs nothing but the service.
"""

import io
import json
import os
import sys
from typing import Any


def environ(method: str, path: str, query: str, headers: dict[str, str], body: str) -> Any:
    """Return what a WSGI server gives for a request."""
    sent = body.encode()
    return headers | {
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "CONTENT_LENGTH": str(len(sent)),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(sent),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": False,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }


def main() -> None:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    # what the service prints is no answer
    os.dup2(2, 1)
    from placement.wsgi.api import application

    states: list[str] = []

    def start(status: str, headers: Any, failed: Any = None) -> Any:
        states.append(status)
        return states.append

    for line in sys.stdin:
        environs = [environ(*request) for request in json.loads(line)]
        states[:] = ["200"]
        last = b""
        print("ready", file=answers, flush=True)
        sys.stdin.readline()
        for one in environs:
            chunks = application(one, start)
            last = b"".join(chunks)
            if hasattr(chunks, "close"):
                chunks.close()
            if states[-1] >= "4":
                break
        print(json.dumps([states[-1], last.decode()]), file=answers, flush=True)


if __name__ == "__main__":
    main()
