"""Worker threads that never see Python: they wait inside compiled code for parts to work on.

A team is a piece of memory that is never freed. Its only job at a time is the caller's who found it free; any other
caller does all its parts itself. Parts are claimed one by one, by the caller too, so nobody ever waits for a worker to
come, only for parts that a worker has begun.

Waiting is looking again and again for a short while, then sleep. A call that follows soon finds the workers awake, for
less than a microsecond; later ones pay the system's price for waking somebody, and nobody burns a core for nothing.
"""

from __future__ import annotations

from numba import types

from ..jit.machine import (
    LOCK_BYTES,
    atomic_add,
    atomic_read,
    atomic_replace,
    atomic_unsigned_min,
    atomic_write,
    lock,
    nanoseconds,
    pause,
    sleep,
    unlock,
    wake_one,
)
from ..jit.memory import inlined_piece, piece, read_i64, write_i64
from .runner import run_alone, run_part, task_at
from .task import DONE

# Where things stand in a team's memory. What several cores write has two cache lines of its own.
SPACE = 128
BUSY, LEFT, PENDING, SLEEPERS, CALLER_SLEEPS, JOB = range(0, 6 * SPACE, SPACE)
TASK, SCRATCH, ONE, TWO, THREE, PARTS, FIRST_BAD = range(JOB, JOB + 7 * 8, 8)
MUTEX = JOB + SPACE
WORK_CAME, WORK_DONE = MUTEX + LOCK_BYTES, MUTEX + 2 * LOCK_BYTES
RUN_TOGETHER = WORK_DONE + LOCK_BYTES  # the address of the function of that name
TEAM_BYTES = RUN_TOGETHER + 8

# Waking a thread takes about as long as this, so looking longer would cost more than it can save.
LOOK_NANOSECONDS = 100_000
LOOKS_PER_TIME = 64


@inlined_piece
def claim(team: int) -> int:
    """How many parts were left, this one included; 0 if there is none to claim."""
    left = atomic_read(team + LEFT)
    while left > 0:
        seen = atomic_replace(team + LEFT, left, left - 1)
        if seen == left:
            break
        left = seen
    return left


@piece
def work_while_there_is_work(team: int) -> None:
    """A job can't end before its claimed parts are done, so what is read after a claim belongs to the claim's job."""
    left = claim(team)
    while left > 0:
        part = read_i64(team, PARTS) - left
        task, scratch = read_i64(team, TASK), read_i64(team, SCRATCH)
        one, two, three = read_i64(team, ONE), read_i64(team, TWO), read_i64(team, THREE)
        bad = run_part(task, scratch, one, two, three, part)
        if bad != DONE:
            atomic_unsigned_min(team + FIRST_BAD, bad)  # as unsigned numbers all places are below -1
        if atomic_add(team + PENDING, -1) == 1 and atomic_read(team + CALLER_SLEEPS):
            # If the caller has just gone and another has come, that one wakes for nothing and looks again.
            lock(team + MUTEX)
            wake_one(team + WORK_DONE)
            unlock(team + MUTEX)
        left = claim(team)


@piece
def wake_others(team: int) -> None:
    """Two at most, who wake two each: a caller that woke a large team one by one would be the last to begin."""
    wanted = min(atomic_read(team + SLEEPERS), atomic_read(team + LEFT) - 1, 2)
    if wanted > 0:
        lock(team + MUTEX)
        for _ in range(wanted):
            wake_one(team + WORK_CAME)
        unlock(team + MUTEX)


def serve(team: int) -> int:
    """The life of a worker: it ends with the process."""
    while team:
        deadline = nanoseconds() + LOOK_NANOSECONDS
        while atomic_read(team + LEFT) <= 0 and nanoseconds() < deadline:
            for _ in range(LOOKS_PER_TIME):
                if atomic_read(team + LEFT) > 0:
                    break
                pause()
        if atomic_read(team + LEFT) <= 0:
            lock(team + MUTEX)
            atomic_add(team + SLEEPERS, 1)
            while atomic_read(team + LEFT) <= 0:
                sleep(team + WORK_CAME, team + MUTEX)
            atomic_add(team + SLEEPERS, -1)
            unlock(team + MUTEX)
            wake_others(team)
        work_while_there_is_work(team)
    return 0


TOGETHER = types.int64(*[types.int64] * 6)


def run_together(task: int, scratch: int, team: int, one: int, two: int, three: int) -> int:
    """All parts, with whoever of the team comes."""
    if atomic_replace(team + BUSY, 0, 1) != 0:
        return run_alone(task, scratch, one, two, three)
    parts = task_at(task).parts
    write_i64(team, TASK, task)
    write_i64(team, SCRATCH, scratch)
    write_i64(team, ONE, one)
    write_i64(team, TWO, two)
    write_i64(team, THREE, three)
    write_i64(team, PARTS, parts)
    write_i64(team, FIRST_BAD, DONE)
    atomic_write(team + PENDING, parts)
    atomic_write(team + LEFT, parts)
    wake_others(team)
    work_while_there_is_work(team)
    wait_for_others(team)
    first_bad = read_i64(team, FIRST_BAD)
    atomic_write(team + BUSY, 0)
    return first_bad


@piece
def wait_for_others(team: int) -> None:
    deadline = nanoseconds() + LOOK_NANOSECONDS
    while atomic_read(team + PENDING) > 0 and nanoseconds() < deadline:
        for _ in range(LOOKS_PER_TIME):
            if atomic_read(team + PENDING) == 0:
                break
            pause()
    if atomic_read(team + PENDING) > 0:
        lock(team + MUTEX)
        atomic_write(team + CALLER_SLEEPS, 1)
        while atomic_read(team + PENDING) > 0:
            sleep(team + WORK_DONE, team + MUTEX)
        atomic_write(team + CALLER_SLEEPS, 0)
        unlock(team + MUTEX)
