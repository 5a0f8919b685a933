"""The fork server: imports torch once, then forks a child for every order. It never runs a torch operation itself.

Its standard input is a socket from its owner, which brings connections. A connection is greeted with one byte, brings
one order, as a line of JSON, and gets two lines back: the child's pid, and its exit status. When a connection closes
early, its child's process group is ended. When the owner is gone, all are, and every process that has left its group or
lost its parent meanwhile.
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

from golden_tasks.isolation.child import serve
from golden_tasks.isolation.processes import READY, adopt_orphans, end_children, end_group, end_with_parent


class _Server:
    def __init__(self) -> None:
        self._owner = socket.socket(fileno=sys.stdin.fileno())
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._owner, selectors.EVENT_READ, self._accept)
        self._orders: dict[socket.socket, bytes] = {}  # connection -> what of its order has arrived
        self._children: dict[int, socket.socket] = {}  # pid -> the connection that waits for it
        woken, wake = os.pipe()
        os.set_blocking(wake, False)
        self._wake = wake
        signal.set_wakeup_fd(wake)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._stop)
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
            end_children()

    def _stop(self, *_: object) -> None:
        self._running = False

    def _accept(self, _: object) -> None:
        _said, handles, _flags, _address = socket.recv_fds(self._owner, 1, 1)
        if not handles:
            self._stop()
            return
        connection = socket.socket(fileno=handles[0])
        with contextlib.suppress(OSError):
            connection.sendall(b"+")
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
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if ended is None:
                return
            if ended.si_pid in self._children:
                end_group(ended.si_pid)  # what it has started; while it is not reaped, its id is no one else's
            _, status = os.waitpid(ended.si_pid, 0)
            connection = self._children.pop(ended.si_pid, None)
            if not self._children:
                end_children()
            if connection is not None:
                self._tell(connection, {"returncode": os.waitstatus_to_exitcode(status)})

    def _drop(self, connection: socket.socket) -> None:
        """The parent does not wait any more: its child goes."""
        for pid, waiting in list(self._children.items()):
            if waiting is connection:
                end_group(pid)
                del self._children[pid]
        self._selector.unregister(connection)
        self._orders.pop(connection, None)
        connection.close()

    @staticmethod
    def _tell(connection: socket.socket, news: dict[str, int]) -> None:
        with contextlib.suppress(OSError):
            connection.sendall(json.dumps(news).encode() + b"\n")


def main(preload: str) -> None:
    """Imports `preload`, says that it is ready, and serves."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent(signal.SIGTERM)  # though it is still importing
    adopt_orphans()
    import_module(preload)
    gc.collect()
    gc.freeze()  # children share these pages instead of copying them
    server = _Server()
    print(READY, flush=True)
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    server.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
