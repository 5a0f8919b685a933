"""The task graph: `Project` turns a folder of kernel files into doit tasks."""

from golden_tasks.graph.project import Project

__all__ = ["Project"]
