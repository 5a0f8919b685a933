"""A snapshot's tensors: written with `torch.save`, read back with every check against the arguments."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path

import torch

from golden_tasks import digest
from golden_tasks.records import Argument, Entry
from golden_tasks.results import Failure, Status, of_os_error
from golden_tasks.specs import dtype_name


def save(folder: Path, tensors: Mapping[str, torch.Tensor]) -> dict[str, Entry]:
    """Writes each tensor to `folder/<name>.pt` and returns the entries, named `in/<name>.pt` after the folder.

    Raises `Failure` naming the file that could not be written whole; nothing is left of it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    entries = {}
    for name, tensor in tensors.items():
        kept = _compact(tensor)
        path = folder / f"{name}.pt"
        _write(kept, path)
        entries[f"{folder.name}/{name}.pt"] = Entry(
            digest=digest.of_file(path),
            shape=tuple(kept.shape),
            dtype=dtype_name(kept.dtype),
            stride=tuple(kept.stride()),
            bytes=path.stat().st_size,
        )
    return entries


def load_inputs(folder: Path, arguments: Iterable[Argument]) -> dict[str, torch.Tensor]:
    """The inputs, inouts and scalars below `folder/in`, by name. Raises `Failure` naming the file that is wrong."""
    return {a.name: _load(folder / "in" / f"{a.name}.pt", a) for a in arguments if a.is_input}


def load_outputs(folder: Path, arguments: Iterable[Argument]) -> dict[str, torch.Tensor]:
    """The tensors below `folder/out`, by name. Raises `Failure` naming the file that is wrong."""
    return {a.name: _load(folder / "out" / f"{a.name}.pt", a) for a in arguments if a.is_output}


def origin() -> dict[str, object]:
    """Where and when a snapshot is made: the manifest's `time`, `versions`, `threads` and `commit`."""
    import platform

    return {
        "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "versions": {"torch": str(torch.__version__), "python": platform.python_version()},
        "threads": torch.get_num_threads(),
        "commit": _commit(),
    }


def _compact(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor on the CPU, owning exactly its own elements."""
    kept = tensor.detach().cpu()
    if kept.untyped_storage().nbytes() != kept.numel() * kept.element_size():
        kept = kept.clone()
    return kept


def _write(tensor: torch.Tensor, path: Path) -> None:
    try:
        with path.open("wb") as file:  # given a path, torch would say nothing of why the system refused to write
            torch.save(tensor, file)
    except (OSError, RuntimeError) as error:
        reason = error if isinstance(error, OSError) else error.__context__
        if not isinstance(reason, OSError):
            raise
        path.unlink(missing_ok=True)  # which frees space for the message, too
        raise of_os_error(OSError(reason.errno, reason.strerror, str(path))) from None


def _load(path: Path, argument: Argument) -> torch.Tensor:
    try:
        tensor = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise Failure(Status.DAMAGED, f"golden_data is missing files: ['{path}']") from None
    except Exception as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise Failure(Status.DAMAGED, f"{path} cannot be read as a saved tensor: {lines[0]}") from None
    if not isinstance(tensor, torch.Tensor):
        raise Failure(Status.DAMAGED, f"{path} holds a {type(tensor).__name__}, not a tensor")
    if tensor.layout != torch.strided or tensor.device.type != "cpu":
        raise Failure(Status.DAMAGED, f"{path} holds a tensor without plain memory: {tensor.layout}, {tensor.device}")
    if argument.kind == "scalar" and tensor.dim() != 0:
        raise Failure(Status.DAMAGED, f"{path}: scalar {argument.name!r} must be 0-dim, not {list(tensor.shape)}")
    if dtype_name(tensor.dtype) != argument.dtype:
        what = f"dtype mismatch: the file holds {dtype_name(tensor.dtype)}, the spec says {argument.dtype}"
        raise Failure(Status.DAMAGED, f"{path}: {what}")
    if tuple(tensor.shape) != argument.shape:
        what = f"shape mismatch: the file holds {list(tensor.shape)}, the spec says {list(argument.shape)}"
        raise Failure(Status.DAMAGED, f"{path}: {what}")
    return tensor


def _commit() -> str | None:
    try:
        call = subprocess.run(
            ["git", "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            timeout=5,
            cwd=os.getcwd(),
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return call.stdout.strip() if call.returncode == 0 else None
