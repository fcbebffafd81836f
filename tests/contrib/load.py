"""Clients that send requests while something happens to the servers."""

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any


class Load:
    """Threads that call `request(number)` again and again, and count what they get.

    `answers` counts status codes, and the names of exceptions.
    """

    def __init__(self, request: Callable[[int], Any], threads: int = 3) -> None:
        self.answers: Counter[int | str] = Counter()
        self._request = request
        self._enough = threading.Event()
        self._lock = threading.Lock()
        self._sent = 0
        self._threads = [threading.Thread(target=self._run) for _ in range(threads)]

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._enough.set()
        for thread in self._threads:
            thread.join()

    def sent(self) -> int:
        """Return how many requests have been answered, or have failed."""
        return self.answers.total()

    def _run(self) -> None:
        # paced, to leave the processors to the servers
        while not self._enough.wait(0.02):
            with self._lock:
                self._sent += 1
                number = self._sent
            try:
                answer: int | str = self._request(number).status_code
            except OSError as error:
                answer = type(error).__name__
            with self._lock:
                self.answers[answer] += 1
