"""`doit prune`: removes what cases that were renamed or deleted have left in `build_output/`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from doit.cmd_base import DoitCmdBase
from doit.exceptions import InvalidCommand

from golden_tasks.graph import names, terminal

_OF_A_PLATFORM = ("program.json", "runtime/build.json", "run.json", "verdict.json")


class Prune(DoitCmdBase):  # type: ignore[misc]
    """The command. It never touches what a case of the project has, nor what scripts have made."""

    name = "prune"
    doc_purpose = "remove what renamed or deleted cases have left in build_output/"
    doc_usage = "[OLD_CASE ...]"
    doc_description = (
        "Lists and removes the artefacts of cases, and of platforms of cases, that no kernel file declares any more. "
        "A published snapshot (data/) of such a case is removed only if the case is named. Folders of script runs "
        "(NAME_TIMESTAMP) stay."
    )
    cmd_options: ClassVar[tuple[Any, ...]] = (
        {
            "name": "dry_run",
            "short": "",
            "long": "dry-run",
            "type": bool,
            "default": False,
            "help": "list only, remove nothing",
        },
    )

    @terminal.until_unread
    def _execute(self, pos_args: list[str], dry_run: bool) -> int:
        stages = names.stages_of(self.task_list, [task.name for task in self.task_list])
        if not stages:
            raise InvalidCommand("there is no case in this project: `doit prune` is for golden_tasks' artefacts")
        output = stages[0].project.output
        there = {stage.case.name: stage.case for stage in stages}
        gone = [folder for folder in _case_folders(output) if folder.name not in there]
        for name in pos_args:
            if name in there:
                raise InvalidCommand(f"{name!r} is a case of {there[name].file}: nothing of it is left over")
            if name not in [folder.name for folder in gone]:
                raise InvalidCommand(f"{output} holds nothing of a case {name!r}; `doit prune --dry-run` lists all")
        doomed = [path for folder in gone for path in _left_over(folder, named=folder.name in pos_args)]
        if not pos_args:
            doomed += [path for name, case in there.items() for path in _platforms(output / name, case.platforms)]
        else:
            doomed = [path for path in doomed if path.relative_to(output).parts[0] in pos_args]
        for path in doomed:
            self.outstream.write(f"{'would remove' if dry_run else 'removed'} {path}\n")
            if not dry_run:
                _remove(path)
        kept = [folder for folder in gone if (folder / "data").is_dir() and folder.name not in pos_args]
        for folder in kept:
            self.outstream.write(f"kept {folder / 'data'}, a published snapshot: doit prune {folder.name} removes it\n")
        if not doomed and not kept:
            self.outstream.write("nothing is left over\n")
        return 0


def _case_folders(output: Path) -> Iterator[Path]:
    """The folders that cases have been given by the graph."""
    for folder in sorted(output.iterdir()):
        if folder.is_dir() and any(folder.glob(".*.lock")):
            yield folder


def _platforms(folder: Path, platforms: tuple[str, ...]) -> Iterator[Path]:
    """What a case has of platforms that it does not declare any more."""
    if folder.is_dir():
        for path in sorted(folder.iterdir()):
            if path.name not in platforms and any((path / name).exists() for name in _OF_A_PLATFORM):
                yield path


def _left_over(folder: Path, named: bool) -> Iterator[Path]:
    """What goes of a case's folder: all of it, or all but a published snapshot."""
    if named or not (folder / "data").is_dir():
        yield folder
        return
    yield from (path for path in sorted(folder.iterdir()) if path.name != "data")


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
