"""Tensors of one shape read once, side by side, in pieces that stay in the processor's cache."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from math import prod
from typing import Any, TypeVar

import torch

# In a piece, at most: torch gives nothing as small to threads of its own (from 2**15 it does). These would be one team
# for each of ours, and in a forked child of a process that has used them torch fails ("Invalid thread pool").
ELEMENTS = (1 << 15) - 64

T = TypeVar("T")
_Index = tuple[int | slice, ...]


def visit(look: Callable[..., T], *tensors: torch.Tensor, elements: int = ELEMENTS) -> list[T]:
    """What `look(start, *pieces)` returns for every piece, in order.

    The tensors are of one shape, of any strides and dtypes. A piece is 1-D, of at most `elements`, and lies at `start`
    in row-major order; what is contiguous is never copied. Pieces are looked at on as many threads as torch uses, so
    `look` must change nothing but its own. What `look` raises is raised here, of several the one of the first piece;
    that, as an interrupt, ends the visit after the pieces at hand.
    """
    shape = tuple(tensors[0].shape)
    if any(tuple(tensor.shape) != shape for tensor in tensors):
        raise ValueError(f"tensors of several shapes: {[list(tensor.shape) for tensor in tensors]}")
    if prod(shape) == 0:
        return []
    given = [tensor.detach() for tensor in tensors]
    if all(tensor.is_contiguous() for tensor in given):
        given = [tensor.view(-1) for tensor in given]
        shape = (prod(shape),)

    def at(piece: tuple[int, _Index]) -> T:
        start, index = piece
        return look(start, *(_plain(tensor[index].reshape(-1)) for tensor in given))

    return _on_threads(at, list(_pieces(shape, elements)))


def index_of(flat: int, shape: Any) -> tuple[int, ...]:
    """The N-d index of an element in row-major order."""
    index = []
    for extent in reversed(shape):
        index.append(flat % extent)
        flat //= extent
    return tuple(reversed(index))


def _plain(piece: torch.Tensor) -> torch.Tensor:
    """A piece whose memory holds its values: a conjugated or negated view is computed."""
    return piece.resolve_conj().resolve_neg()


def _on_threads(do: Callable[[Any], T], tasks: list[Any]) -> list[T]:
    """What `do` returns for every task, in order.

    The threads are new ones, even if it is one: torch's modes and the processor's are a thread's own, so that the
    caller's play no part, and in a forked child no thread pool of its parent is waited for.
    """
    found: dict[int, T] = {}
    failed: dict[int, BaseException] = {}
    stop = threading.Event()
    ahead = iter(range(len(tasks)))
    taking = threading.Lock()

    def work() -> None:
        torch.set_flush_denormal(False)  # the smallest numbers are numbers; this thread's only
        while not stop.is_set():
            with taking:
                at = next(ahead, None)
            if at is None:
                return
            try:
                found[at] = do(tasks[at])
            except BaseException as error:
                failed[at] = error
                stop.set()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(torch.get_num_threads(), len(tasks)))]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        stop.set()
    if failed:
        raise failed[min(failed)]
    return [found[at] for at in range(len(tasks))]


def _pieces(shape: tuple[int, ...], elements: int) -> Iterator[tuple[int, _Index]]:
    """Where each piece starts, and its index: slices of an axis below which all is whole."""
    if prod(shape) <= elements:
        yield 0, ()
        return
    inner = prod(shape[1:])
    if inner >= elements:
        for at in range(shape[0]):
            for start, index in _pieces(shape[1:], elements):
                yield at * inner + start, (at, *index)
        return
    step = elements // inner
    for at in range(0, shape[0], step):
        yield at * inner, (slice(at, at + step),)
