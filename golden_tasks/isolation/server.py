"""The fork server: imports torch once, then forks a child for every order. It never runs a torch operation itself.

It listens on a socket. A connection brings one order, as a line of JSON, and gets two lines back: the child's pid, and
its exit status. When a connection closes early, its child's process group is ended; when the owner is gone, all are.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import selectors
import signal
import socket
import sys
from importlib import import_module
from pathlib import Path

from golden_tasks.isolation.child import serve


class _Server:
    def __init__(self, address: str) -> None:
        self._address = Path(address)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(address)
        self._listener.listen()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        self._selector.register(sys.stdin.fileno(), selectors.EVENT_READ, self._owner_gone)
        self._orders: dict[socket.socket, bytes] = {}  # connection -> what of its order has arrived
        self._children: dict[int, socket.socket] = {}  # pid -> the connection that waits for it
        woken, wake = os.pipe()
        os.set_blocking(wake, False)
        self._wake = wake
        signal.set_wakeup_fd(wake)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._selector.register(woken, selectors.EVENT_READ, self._reap)
        self._woken = woken
        self._running = True

    def run(self) -> None:
        """Serves until the owner is gone."""
        try:
            while self._running:
                for key, _ in self._selector.select():
                    key.data(key.fileobj)
        finally:
            for pid in self._children:
                _end_group(pid)
            with contextlib.suppress(OSError):
                self._address.unlink()
                self._address.parent.rmdir()

    def _accept(self, _: object) -> None:
        connection, _address = self._listener.accept()
        self._orders[connection] = b""
        self._selector.register(connection, selectors.EVENT_READ, self._read)

    def _read(self, connection: socket.socket) -> None:
        try:
            arrived = connection.recv(1 << 16)
        except OSError:
            arrived = b""
        if not arrived:
            self._drop(connection)
            return
        self._orders[connection] += arrived
        if self._orders[connection].endswith(b"\n"):
            self._fork(connection, self._orders[connection])

    def _fork(self, connection: socket.socket, order: bytes) -> None:
        pid = os.fork()
        if pid == 0:
            self._become_child(order)
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)  # here too, so that the group can be ended from now on
        self._children[pid] = connection
        self._tell(connection, {"pid": pid})

    def _become_child(self, order: bytes) -> None:
        status = 1
        try:
            os.setpgid(0, 0)
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            self._selector.close()
            self._listener.close()
            for connection in self._orders:
                connection.close()
            os.close(self._wake)
            os.close(self._woken)
            nothing = os.open(os.devnull, os.O_RDONLY)
            os.dup2(nothing, 0)
            content = json.loads(order)
            os.environ.clear()
            os.environ.update(content["environment"])
            serve(content)
        finally:
            os._exit(status)

    def _reap(self, _: object) -> None:
        os.read(self._woken, 4096)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            _end_group(pid)  # what the child itself started
            connection = self._children.pop(pid, None)
            if connection is not None:
                self._tell(connection, {"returncode": os.waitstatus_to_exitcode(status)})

    def _drop(self, connection: socket.socket) -> None:
        """The parent does not wait any more: its child goes."""
        for pid, waiting in list(self._children.items()):
            if waiting is connection:
                _end_group(pid)
                del self._children[pid]
        self._selector.unregister(connection)
        self._orders.pop(connection, None)
        connection.close()

    def _owner_gone(self, _: object) -> None:
        if not os.read(sys.stdin.fileno(), 1):
            self._running = False

    @staticmethod
    def _tell(connection: socket.socket, news: dict[str, int]) -> None:
        with contextlib.suppress(OSError):
            connection.sendall(json.dumps(news).encode() + b"\n")


def _end_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def main(address: str, preload: str) -> None:
    """Imports `preload`, says that it is ready, and serves."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import_module(preload)
    gc.collect()
    gc.freeze()  # children share these pages instead of copying them
    server = _Server(address)
    print("ready", flush=True)
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    server.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
