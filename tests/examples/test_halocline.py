"""Examples of the library's own."""

import pytest

from gallery import output, run, skip


@pytest.mark.parametrize("ranks", [1, 3])
def test_two_fields(ranks):
    assert output("two_fields", ranks=ranks) == "u(130, 70) = 0.422841113792386\n"


@pytest.mark.parametrize("language", ["c", "fortran"])
@pytest.mark.parametrize("ranks", [1, 2])
def test_laplace(language, ranks):
    # The checksum of halocline solve laplace --cells 256x256, which stops after as many sweeps.
    said = output(f"{language}_laplace", ranks=ranks, needs=language).lower()
    assert "199 sweeps, checksum eacb0e5c9c2d699c" in said


@pytest.mark.parametrize("ranks", [1, 2])
def test_gpu_heat(ranks):
    # The hot cell's value after 20 steps, by the same steps on paper's grid.
    u = {(0, 0): 1000.0}
    for _ in range(20):
        cells = {(x + i, y + j) for x, y in u for i, j in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))}
        at = lambda x, y: u.get((x, y), 0.0)  # noqa: E731
        u = {(x, y): at(x, y) + 0.2 * (((at(x - 1, y) + at(x + 1, y)) + (at(x, y - 1) + at(x, y + 1)))
                                       - 4 * at(x, y)) for x, y in cells}
    order = {"CUDA_ON_CPU_ORDER": "thread"} if ranks > 1 else {}
    end = run("gpu_heat", 20, ranks=ranks, env=order)
    if end.code == 3:
        skip(end.err.splitlines()[0], needs="gpu")
    assert (end.code, end.out) == (0, f"u(100, 100) = {u[0, 0]:.12f}\n"), end


def test_gpu_heat_wants_a_number():
    assert "not 'many'" in run("gpu_heat", "many").err
