"""Kernels that are compiled ahead are compiled once, elsewhere, and waited for."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import compiling


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module of kernels that is nowhere on disk in compiled form."""
    (tmp_path / "some_kernels.py").write_text(
        "from pathlib import Path\n\n"
        "def warm_up() -> None:\n"
        "    with (Path(__file__).parent / 'calls').open('a') as file:\n"
        "        file.write('x')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, [tmp_path, *sys.path])))
    monkeypatch.setattr(compiling, "_processes", {})
    monkeypatch.setitem(sys.modules, "some_kernels", None)  # put back what was there, nothing
    monkeypatch.delitem(sys.modules, "some_kernels")
    return tmp_path


WARM_UPS = {"some_kernels": "some_kernels:warm_up"}


def test_what_is_not_on_disk_is_compiled_in_a_process_of_its_own(module: Path) -> None:
    assert compiling.ahead(WARM_UPS)
    assert not compiling.ahead(WARM_UPS)  # it is under way
    compiling._wait_for("some_kernels")
    assert (module / "calls").read_text() == "x"


def test_what_was_compiled_is_left_alone_until_its_source_changes(
    module: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert compiling.ahead(WARM_UPS)
    compiling._wait_for("some_kernels")
    monkeypatch.setattr(compiling, "_processes", {})  # as another program
    assert not compiling.ahead(WARM_UPS)
    later = compiling._mark("some_kernels").stat().st_mtime + 10
    os.utime(module / "some_kernels.py", (later, later))
    assert compiling.ahead(WARM_UPS)
    compiling._wait_for("some_kernels")
    assert (module / "calls").read_text() == "xx"


def test_the_mark_lies_where_numba_keeps_what_it_compiles(
    module: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kernels that are kept in one place are not on disk for whoever has another."""
    home, other = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("other")
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    for set_, writable, folder in [
        (None, True, module / "__pycache__"),
        (None, False, home / "discreet"),
        (str(other / "kept"), True, other / "kept"),
    ]:
        monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
        if set_:
            monkeypatch.setenv("NUMBA_CACHE_DIR", set_)
        monkeypatch.setattr(compiling.os, "access", lambda path, mode, w=writable: w)
        assert compiling._mark("some_kernels").parent == folder
        assert not compiling.on_disk("some_kernels")
        compiling.compile_all(WARM_UPS, behind=False)
        assert compiling.on_disk("some_kernels")
    assert (module / "calls").read_text() == "xxx"


def test_without_a_home_nothing_is_marked(module: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container may run a user of whom the system knows no home."""
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(compiling.os.path, "expanduser", lambda path: path)
    monkeypatch.setattr(compiling.os, "access", lambda path, mode: False)
    assert not compiling.on_disk("some_kernels")
    assert not compiling.ahead(WARM_UPS, behind=True)


def test_of_several_programs_that_begin_at_once_one_compiles(
    module: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = module / "go"
    os.mkfifo(go)  # whoever compiles waits until somebody writes
    with (module / "some_kernels.py").open("a") as file:
        file.write("    (Path(__file__).parent / 'go').read_text()\n")
    programs = []
    for _ in range(3):
        monkeypatch.setattr(compiling, "_processes", {})  # each knows nothing of the others
        assert compiling.ahead(WARM_UPS)
        programs.append(compiling._processes["some_kernels"])
    go.write_text("")
    assert [program.wait() for program in programs] == [0, 0, 0]
    assert (module / "calls").read_text() == "x"


def test_nobody_is_told_to_wait_for_what_is_compiled_behind(
    module: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = module / "go"
    os.mkfifo(go)  # the process waits until somebody writes
    with (module / "some_kernels.py").open("a") as file:
        file.write("    (Path(__file__).parent / 'go').read_text()\n")
    kernel = compiling.njit()(lambda: 7)
    kernel.py_func.__module__ = "some_kernels"
    large = compiling.SMALL + 1
    assert compiling.pays(kernel, large)
    assert not compiling.pays(kernel, compiling.SMALL)
    assert compiling.ahead(WARM_UPS, behind=True)
    assert not compiling.pays(kernel, compiling.PATIENT)
    assert compiling.pays(kernel, compiling.PATIENT + 1)  # the twin would take longer
    go.write_text("")
    compiling._wait_for("some_kernels")
    assert compiling.pays(kernel, large)
    assert (module / "calls").read_text() == "x"


def test_warming_calls_at_once_what_is_on_disk(
    module: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiling._mark("some_kernels").parent.mkdir(exist_ok=True)
    compiling._mark("some_kernels").touch()
    compiling.warm(WARM_UPS, patient=True)
    assert (module / "calls").read_text() == "x"


def test_a_process_that_fails_leaves_the_work_to_whoever_calls(module: Path) -> None:
    assert compiling.ahead({"some_kernels": "some_kernels:missing"})
    compiling._wait_for("some_kernels")  # returns
    kernel = compiling.njit()(lambda: 7)
    assert kernel() == 7


def test_a_kernel_compiles_the_kernels_that_it_calls() -> None:
    names: dict[str, object] = {"njit": compiling.njit}
    exec("@njit()\ndef one():\n    return 1\n\n@njit()\ndef two():\n    return one() + 1", names)
    two = names["two"]
    assert isinstance(two, compiling.Kernel)
    assert two() == 2
    assert len(two.overloads) == 1


def test_a_place_that_is_sent_for_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the processor in a kernel, and by nobody in plain code."""
    names: dict[str, object] = {"njit": compiling.njit}
    names |= {"fetch": compiling.fetch, "fetch_far": compiling.fetch_far}
    code = "@njit()\ndef sent(a):\n    fetch(a, 1)\n    fetch_far(a, 10**12)\n    return a[1]"
    exec(code, names)
    sent = names["sent"]
    assert isinstance(sent, compiling.Kernel)
    assert sent(np.array([3, 4])) == 4
    monkeypatch.setattr(compiling, "there", lambda: False)
    plainly = compiling._Instruction(compiling._nothing, lambda: None)
    assert plainly.compiled()(np.array([3, 4]), 1) is None


def test_a_kernel_as_it_is_written_calls_others_as_they_are_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from discreet.solve import random

    def compiled(kernel: compiling.Kernel) -> None:
        raise AssertionError(f"{kernel.py_func.__name__} is compiled")

    source = "def twice(state):\n    return uniform(state) + uniform(state)\n"
    names = {"uniform": random.uniform, "__name__": "some_kernels"}
    exec(source, names)
    twice = compiling.njit()(names["twice"])  # type: ignore[arg-type]
    monkeypatch.setattr(compiling.Kernel, "compiled", compiled)
    found = compiling.fitting(twice, 1)(np.array([7], np.uint64))
    state = np.array([7], np.uint64)
    once = compiling.as_written(getattr(random.uniform, "py_func"))  # noqa: B009
    assert found == once(state) + once(state)


def test_a_kernel_is_called_where_there_is_much_to_do() -> None:
    kernel = compiling.njit()(lambda: 7)
    assert compiling.fitting(kernel, compiling.SMALL + 1) is kernel
    assert compiling.fitting(kernel, compiling.SMALL) is not kernel


def test_tables_are_tightened_and_rounded_alike_compiled_and_as_written() -> None:
    from discreet.solve import kernels
    from discreet.solve.system import TableSystem

    rng = np.random.default_rng(1)
    matrix = TableSystem.of((6, 5)).equations.tocsr().astype(np.float64)
    inner = np.pad(rng.integers(0, 9, (6, 5)), ((0, 1), (0, 1)))
    inner[-1] = inner.sum(0)
    inner[:, -1] = inner.sum(1)
    true = inner.reshape(-1) * 1.0
    low = true - rng.integers(0, 4, true.size)
    high = true + rng.integers(0, 40, true.size)
    given = (
        kernels.Lists.of_rows(matrix), matrix.data, np.zeros(matrix.shape[0]),
        kernels.Lists.of_rows(matrix.T),
    )  # fmt: skip
    ends = np.stack(np.divmod(np.arange(30), 5), axis=1)
    ends[:, 1] += 6
    part = rng.integers(0, 3, (5, 4)) * 1.0
    part = np.pad(part, ((0, 1), (0, 1)))
    part[:-1, -1] = -part[:-1, :-1].sum(1) % 3
    part[-1] = -part[:-1].sum(0) % 3
    bounds, flows = [], []
    for run in (lambda kernel: kernel, lambda kernel: compiling.as_written(kernel.py_func)):
        least, most, flow = low.copy(), high.copy(), part.reshape(-1).copy()
        assert run(kernels.tighten)(*given, least, most, True, 0.0, 1000)[0] == -1
        bounds.append((least, most))
        network = (ends.astype(np.int32), 11, 6, flow, np.linspace(0.1, 0.9, 31), 3.0, 0.5)
        assert run(kernels.round_network)(*network)
        flows.append(flow)
    assert np.array_equal(*bounds)
    assert np.array_equal(*flows)
    assert not np.array_equal(bounds[0][1], high)


def test_whoever_waits_for_a_kernel_is_told_once_and_not_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cold_kernels.py").write_text(
        "from discreet.compiling import njit\n\n"
        "@njit(cache=True)\n"
        "def twice(x):\n"
        "    return x + x\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "cold_kernels", raising=False)
    import cold_kernels  # type: ignore[import-not-found]

    told: list[str] = []

    def tell(stage: str, done: int, total: int | None) -> None:
        told.append(stage)

    twice = cold_kernels.twice
    assert compiling.announced(twice, tell)(3) == 6
    assert told == ["compiling"]
    assert compiling.announced(twice, tell)(3) == 6  # it is loaded
    another = compiling.njit(cache=True)(twice.py_func)  # as another program finds it on disk
    compiling.announced(another, tell)
    assert told == ["compiling"]
    later = Path(cold_kernels.__file__).stat().st_mtime + 10
    os.utime(cold_kernels.__file__, (later, later))
    compiling.announced(another, tell)
    assert told == ["compiling"] * 2


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32])
def test_what_is_squeezed_stands_close_together(kind: type) -> None:
    """By the processor, if it can, and in plain code."""
    names: dict[str, Any] = {"njit": compiling.njit, "np": np}
    names |= {"squeeze": compiling.squeeze, "squeezes": compiling.squeezes}
    code = (
        "@njit()\ndef copied(a, i, flags, j, out, k):\n"
        "    return squeeze(a, i, flags, j, out, np.uint64(k))\n"
        "@njit()\ndef can():\n    return squeezes()"
    )
    exec(code, names)
    ways = [names["copied"]] if names["can"]() else []
    random = np.random.default_rng(4)
    values = random.integers(0, 200, 70).astype(kind)
    for share in (0, 0.1, 0.5, 1):
        flags = (random.random(65) < share).astype(np.uint8)
        passed = values[3:67][flags[1:] != 0]
        for squeeze in [*ways, compiling._squeezed]:
            out = np.zeros(66, kind)
            assert squeeze(values, 3, flags, 1, out, 2) == len(passed)
            assert (out[2 : 2 + len(passed)] == passed).all()
            assert (out[:2] == 0).all()
