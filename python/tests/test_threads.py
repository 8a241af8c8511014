"""Python goes on while something is checked; and a check takes no more time than the command, and leaves nothing in memory."""

from __future__ import annotations

import os
import resource
import subprocess
import threading
import time
from pathlib import Path

import deburr
import pytest

from conftest import COMMAND, FIXTURES, is_elf


@pytest.fixture(scope="module")
def large() -> Path:
    """Of the largest libraries of this machine below 60 MB, that with most code."""
    found = [path for place in Path("/usr/lib").glob("*-linux-gnu") for path in place.glob("*.so*") if is_elf(path)]
    found += [path for path in Path("/usr/lib/gcc").glob("*/*/cc1*") if is_elf(path)]
    found = sorted((path for path in found if path.stat().st_size < 60_000_000), key=lambda path: path.stat().st_size)
    return max(found[-5:], key=lambda path: deburr.check(path).statistics.executable_bytes)


def test_another_thread_runs_during_a_check(large: Path) -> None:
    done = threading.Event()

    def work() -> None:
        deburr.check(large, threads=1)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    steps = 0
    while not done.is_set():
        time.sleep(0.001)
        steps += 1
    thread.join()
    assert steps > 20


def test_two_checks_run_at_a_time(large: Path) -> None:
    spans: list[tuple[float, float]] = []
    documents = []
    barrier = threading.Barrier(2)

    def work() -> None:
        barrier.wait()
        began = time.monotonic()
        documents.append(deburr.check(large, threads=1).to_json())
        spans.append((began, time.monotonic()))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (one_began, one_ended), (other_began, other_ended) = spans
    shared = min(one_ended, other_ended) - max(one_began, other_began)
    assert shared > 0.5 * min(one_ended - one_began, other_ended - other_began)
    assert documents[0] == documents[1]


def cpu_seconds(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def test_a_check_takes_the_cpu_time_of_the_command(large: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The ratio is about 1. Other work on the machine changes it, but not as work done twice would."""
    of_module, of_command = [], []
    for _ in range(5):
        before = cpu_seconds(resource.RUSAGE_SELF)
        deburr.check(large, threads=1).to_json()
        of_module.append(cpu_seconds(resource.RUSAGE_SELF) - before)
        before = cpu_seconds(resource.RUSAGE_CHILDREN)
        words = [COMMAND, "check", "--threads", "1", "--format", "json", large]
        subprocess.run(words, stdout=subprocess.DEVNULL, check=False)
        of_command.append(cpu_seconds(resource.RUSAGE_CHILDREN) - before)
    ratio = min(of_module) / min(of_command)
    with capsys.disabled():
        print(f"\n{large.name}: module {min(of_module):.3f} s, command {min(of_command):.3f} s of CPU, ratio {ratio:.3f}")
    assert ratio < 1.7


def test_memory_does_not_grow_with_the_number_of_checks() -> None:
    objects = sorted(FIXTURES.glob("*/hit-*.o"))[:3]

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")

    def checked(times: int) -> None:
        for _ in range(times):
            deburr.check(objects, threads=3)
            deburr.check(objects[0].read_bytes(), threads=3)

    checked(30)
    before = resident()
    checked(150)
    # A thread's pool that is never freed has 8 KiB: 7 MB.
    assert resident() - before < 2_000_000
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    checked(3)
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors
