"""Cells over many workers: processes of this machine, or whatever else is an Executor. Results come as they are done.

One cell that fails, or takes its process with it, is told by name and costs no other. Keeps nothing and decides
nothing: the caller stores what comes.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from time import sleep
from typing import ParamSpec, TypeVar

from replay.contest import compete
from replay.headline import Headline
from replay.sweep.cells import Cell, TraceFile, load
from replay.trace import Trace

P = ParamSpec("P")
T = TypeVar("T")

# Two a worker, so that none waits for the next cell while the first is fetched.
_AHEAD = 2
# Seconds until a worker notices that its parent is gone.
_LOOK_EVERY_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A cell that gave no figures, and why."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """`make` opens the executor, again when its processes died.

    `sent`: traces that are with the workers already, or what stands for them there; others read the file.
    """

    make: Callable[[], Executor]
    workers: int
    sent: Mapping[TraceFile, Trace] | None = None


Answer = Headline | Failed


def play(cell: Cell, source: TraceFile | Trace) -> Answer:
    """One cell, wherever this runs. Errors come back as words: not every error can travel between processes."""
    try:
        trace = load(source) if isinstance(source, TraceFile) else source
        return compete(cell.arena(trace), cell.entrant).headline
    except Exception as error:  # noqa: BLE001 - one cell must not end the sweep; the caller tells of it by name
        return Failed(why=f"{type(error).__name__}: {error}")


def processes(workers: int) -> Crew:
    """Processes of this machine, started afresh rather than forked: the parent has threads."""

    def make() -> Executor:
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(workers, mp_context=context, initializer=_start_worker, initargs=(os.getpid(),))

    return Crew(make=make, workers=workers)


def alone() -> Crew:
    """This process itself, one cell after the other: nothing to start, for a few short cells."""
    return Crew(make=_Here, workers=1)


class _Here(Executor):
    """Runs what it is given before it returns."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def run(cells: Sequence[Cell], crew: Crew) -> Iterator[tuple[Cell, Answer]]:
    """Every cell once, in the order in which they end. Ended early, it ends the workers too."""
    suspects: list[Cell] = []
    waiting = deque(cells)
    while waiting:
        with _opened(crew) as executor:
            yield from _round(waiting, crew, executor, suspects)
    for cell in suspects:
        # Who of them took the process with it is known only when each is alone.
        with _opened(crew) as executor:
            yield cell, _answer(executor.submit(play, cell, _source(cell, crew)))


def _round(waiting: deque[Cell], crew: Crew, executor: Executor, suspects: list[Cell]) -> Iterator[tuple[Cell, Answer]]:
    """Until all are done, or the executor broke: those that were under way are suspects then."""
    running: dict[Future[Answer], Cell] = {}
    is_broken = False
    while running or (waiting and not is_broken):
        while waiting and not is_broken and len(running) < crew.workers * _AHEAD:
            try:
                running[executor.submit(play, waiting[0], _source(waiting[0], crew))] = waiting[0]
                waiting.popleft()
            except BrokenExecutor:
                is_broken = True
        done = wait(running, return_when=FIRST_COMPLETED).done
        for future in [future for future in running if future in done]:
            cell = running.pop(future)
            if not future.cancelled() and isinstance(future.exception(), BrokenExecutor):
                is_broken = True
                suspects.append(cell)
            else:
                yield cell, _answer(future)


def _source(cell: Cell, crew: Crew) -> TraceFile | Trace:
    return cell.file if crew.sent is None else crew.sent[cell.file]


def _answer(future: Future[Answer]) -> Answer:
    if future.cancelled():
        return Failed(why="it was cancelled where it ran")
    error = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, BrokenExecutor):
        return Failed(why="its process died; perhaps the memory did not suffice")
    return Failed(why=f"{type(error).__name__}: {error}")


@contextmanager
def _opened(crew: Crew) -> Iterator[Executor]:
    """Left in order, it waits for its workers; left by an error or Ctrl-C, it ends those it started."""
    before = set(multiprocessing.active_children())
    executor = crew.make()
    try:
        yield executor
    except BaseException:
        executor.shutdown(wait=False)
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
        raise
    executor.shutdown()


def _start_worker(parent: int) -> None:
    """Ctrl-C reaches the workers too, and the parent speaks for them; that it was killed ends them all the same."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        sleep(_LOOK_EVERY_S)
    os._exit(1)
