"""The streaming primitive: every element once, in order, on several threads, whatever the layout."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from golden_tasks.validation.chunks import index_of, visit

SHAPES = st.lists(st.integers(0, 6), max_size=4).map(tuple)


def numbered(shape: tuple[int, ...]) -> torch.Tensor:
    """Each element holds its flat position in row-major order."""
    return torch.arange(math.prod(shape)).reshape(shape)


def keep(start: int, *pieces: torch.Tensor) -> tuple[int, list[list[int]]]:
    return start, [piece.tolist() for piece in pieces]


@settings(deadline=None)
@given(shape=SHAPES, order=st.randoms(use_true_random=False), elements=st.integers(1, 40))
def test_every_element_is_seen_once_in_row_major_order_whatever_the_strides(
    shape: tuple[int, ...], order: object, elements: int
) -> None:
    axes = list(range(len(shape)))
    order.shuffle(axes)  # type: ignore[attr-defined]
    back = [axes.index(axis) for axis in range(len(shape))]
    plain = numbered(shape)
    strided = plain.permute(axes).contiguous().permute(back)

    found = visit(keep, plain, strided, elements=elements)

    assert [value for _, (one, _) in found for value in one] == list(range(plain.numel()))
    assert all(one == other for _, (one, other) in found)
    assert all(one[0] == start and len(one) <= elements for start, (one, _) in found)


def test_what_is_contiguous_is_never_copied() -> None:
    tensor = torch.zeros(10)

    visit(lambda start, piece: piece.fill_(start), tensor, elements=4)

    assert tensor.tolist() == [0, 0, 0, 0, 4, 4, 4, 4, 8, 8]


def test_a_0_dim_tensor_is_one_piece_and_an_empty_one_none() -> None:
    assert visit(keep, torch.tensor(7)) == [(0, [[7]])]
    assert visit(keep, torch.zeros(3, 0, 2)) == []


def test_tensors_of_several_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"several shapes: \[\[2, 3\], \[3, 2\]\]"):
        visit(keep, torch.zeros(2, 3), torch.zeros(3, 2))


def test_a_piece_holds_the_values_of_conjugated_negated_and_tracked_tensors() -> None:
    z = torch.tensor([1 + 2j, 3 - 4j], requires_grad=True)

    ((_, (conjugated, negated)),) = visit(keep, z.conj(), z.conj().imag)

    assert (conjugated, negated) == ([1 - 2j, 3 + 4j], [-2.0, 4.0])


def test_an_exception_of_the_first_piece_that_failed_comes_out_and_ends_the_visit() -> None:
    seen = []

    def look(start: int, piece: torch.Tensor) -> None:
        seen.append(start)
        if start >= 3:
            raise ZeroDivisionError(f"in the piece at {start}")

    with pytest.raises(ZeroDivisionError, match="in the piece at 3"):
        visit(look, torch.zeros(10_000), elements=1)

    assert len(seen) < 100


def test_as_many_pieces_are_looked_at_at_once_as_torch_has_threads() -> None:
    before = torch.get_num_threads()
    together = threading.Barrier(3, timeout=20)
    try:
        torch.set_num_threads(3)
        visit(lambda start, piece: together.wait(), torch.zeros(3), elements=1)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


SMALLEST = 2.0**-149


def test_the_smallest_numbers_count_although_the_caller_flushes_them_to_zero() -> None:
    tensor = torch.full((4,), 3, dtype=torch.int32).view(torch.float32)
    try:
        assert torch.set_flush_denormal(True)
        found = visit(lambda start, piece: (piece.double() + 0).tolist(), tensor)
        flushes_still = (tensor + tensor).tolist() == [0.0] * 4
    finally:
        torch.set_flush_denormal(False)

    assert found == [[3 * SMALLEST] * 4]
    assert flushes_still


def test_an_interrupt_ends_a_visit_at_once() -> None:
    program = """
import time, torch
from golden_tasks.validation.chunks import visit

def look(start, piece):
    if start == 0:
        print("started", flush=True)
    time.sleep(0.05)

visit(look, torch.zeros(1_000_000), elements=1)
"""
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "started\n"
    child.send_signal(signal.SIGINT)

    _, errors = child.communicate(timeout=60)  # to the end: hours

    assert "KeyboardInterrupt" in errors
    assert child.returncode in (1, -signal.SIGINT)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_of_a_process_that_has_visited_can_visit() -> None:
    tensor = torch.ones(1 << 20)
    before = torch.get_num_threads()
    for _ in range(10):  # one in three failed once, when a piece was large enough for torch's own threads
        try:
            torch.set_num_threads(3)
            visit(keep_sum, tensor)
        finally:
            torch.set_num_threads(before)
        (tensor + tensor).sum()

        assert status_of_forked(lambda: sum(visit(keep_sum, tensor)) == 1 << 20) == 0


def status_of_forked(check: Callable[[], bool]) -> int | None:
    """The wait status of a forked child that checks something: 0 if it holds; None if it hangs."""
    pid = os.fork()
    if pid == 0:
        status = 3
        try:
            status = 0 if check() else 1
        finally:
            os._exit(status)
    until = time.monotonic() + 60
    while time.monotonic() < until:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def keep_sum(start: int, piece: torch.Tensor) -> float:
    return float(piece.sum())


@given(shape=st.lists(st.integers(1, 6), max_size=4).map(tuple), data=st.data())
def test_the_index_of_a_flat_position_is_where_the_element_lies(shape: tuple[int, ...], data: st.DataObject) -> None:
    tensor = numbered(shape)
    flat = data.draw(st.integers(0, tensor.numel() - 1))

    assert tensor[index_of(flat, tensor.shape)] == flat
