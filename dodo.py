"""The tasks of this repository's kernels: `doit list` shows them, `doit` replays what an edit has made stale."""

from golden_tasks.graph import Project

project = Project(kernels="kernels/*.py")

DOIT_CONFIG = project.doit_config


def task_kernels():
    """Inspect, golden, compile, execute, validate, capture and replay for every case."""
    yield from project.tasks()
