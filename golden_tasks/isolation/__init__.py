"""Runs a function in a child process, with a time limit and a kept log.

The function takes and returns plain JSON data. A child has succeeded only if its parent received a complete result:
one that ends without it has crashed, whatever its exit status says. Children are forked by a server that has imported
torch already (see `server`); one that needs an environment of its own from the start is a fresh process.
"""

from golden_tasks.isolation.call import ChildError, call, is_started, start
from golden_tasks.isolation.clock import restart_clock

__all__ = ["ChildError", "call", "is_started", "restart_clock", "start"]
