#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the coefficients of src/solve/problem/functions.hpp: minimax polynomials by Remez's exchange
in 60 digits, rounded to double, and the parts of ln 2, pi/2 and 2/pi. Needs mpmath."""

from mpmath import mp, mpf, ldexp, log, pi, sqrt, cos, floor, factorial, matrix, lu_solve, nstr, nint

mp.dps = 60


def minimax(name, f, degree, low, high, weight):
    """Fits p to f so that the largest |weight * (p - f)| is least, and prints p."""
    low, high = mpf(low), mpf(high)
    count = degree + 2
    points = [(low + high) / 2 - (high - low) / 2 * cos(pi * i / (count - 1)) for i in range(count)]
    for i in range(count - 1):
        if weight(points[i]) < mpf(10) ** -20:  # no equation there, so not a point
            points[i] = (points[i] * 9 + points[i + 1]) / 10
    grid = [(low + high) / 2 - (high - low) / 2 * cos(pi * i / 1500) for i in range(1501)]
    values = [f(x) for x in grid]
    for _ in range(30):
        rows = matrix(count, count)
        right = matrix(count, 1)
        for i, x in enumerate(points):
            for j in range(degree + 1):
                rows[i, j] = x**j * weight(x)
            rows[i, count - 1] = (-1) ** i
            right[i] = f(x) * weight(x)
        solution = lu_solve(rows, right)
        p = list(solution[: degree + 1])
        errors = [weight(x) * (sum(c * x**j for j, c in enumerate(p)) - v) for x, v in zip(grid, values)]
        extremes = []  # the largest error between two changes of sign
        for x, e in zip(grid, errors):
            if extremes and (e > 0) == (extremes[-1][1] > 0):
                if abs(e) > abs(extremes[-1][1]):
                    extremes[-1] = (x, e)
            elif e != 0:
                extremes.append((x, e))
        while len(extremes) > count:
            extremes.pop(0 if abs(extremes[0][1]) < abs(extremes[-1][1]) else -1)
        if len(extremes) < count:
            break
        points = [x for x, _ in extremes]
        sizes = [abs(e) for _, e in extremes]
        if max(sizes) / min(sizes) < 1.001:
            break
    rounded = [mpf(float(c)) for c in p]
    worst = max(abs(weight(x) * (sum(c * x**j for j, c in enumerate(rounded)) - v)) for x, v in zip(grid, values))
    print(f"{name}: degree {degree}, worst error 2^{nstr(log(worst, 2), 4)}")
    for c in rounded:
        print("   ", float(c).hex())


def parts(name, value, bits):
    """Prints `value` as a sum of numbers of `bits` bits each; the last one has 53."""
    print(name)
    exponent = int(floor(log(value, 2))) + 1
    for i, b in enumerate(bits):
        unit = ldexp(mpf(1), exponent - sum(bits[: i + 1]))
        part = mpf(float(value)) if i == len(bits) - 1 else nint(value / unit) * unit
        print("   ", float(part).hex())
        value -= part


def series(term, first=0):
    return lambda x: sum(term(k) * x ** (k - first) for k in range(first, first + 60))


half_ln2 = log(2) / 2 * mpf("1.0001")
z_of_log = ((sqrt(2) - 1) / (sqrt(2) + 1)) ** 2 * mpf("1.0001")
z_of_sin = (pi / 4 * mpf("1.0001")) ** 2
exp3 = series(lambda k: 1 / factorial(k), 3)  # (e^r - 1 - r - r^2/2) / r^3
sin3 = series(lambda k: (-1) ** k / factorial(2 * k + 1), 1)  # (sin r - r) / r^3, of r^2
cos4 = series(lambda k: (-1) ** k / factorial(2 * k), 2)  # (cos r - 1 + r^2/2) / r^4, of r^2


def atanh(first):
    return series(lambda k: mpf(2) / (2 * k + 1), first)  # 2 atanh(s)/s from s^(2 first) on, of s^2


for degree in (9, 5):
    minimax("exp", exp3, degree, -half_ln2, half_ln2, lambda r: r * r)
for first, degree in ((1, 6), (3, 6), (1, 5)):
    minimax(f"log from s^{2 * first + 1}", atanh(first), degree, 0, z_of_log, lambda z: z**first / 2)
for degree in (5, 4):
    minimax("sin from r^3", sin3, degree, 0, z_of_sin, lambda z: z)
for degree in (5, 3):
    minimax("cos from r^4", cos4, degree, 0, z_of_sin, lambda z: z * z)
print("1/ln 2", float(1 / log(2)).hex(), "2/pi", float(2 / pi).hex())
parts("ln 2", log(2), [42, 53])
parts("pi/2 for double", pi / 2, [31, 31, 31, 53])
parts("pi/2 for float, and whole", pi / 2, [31, 53])
parts("pi/2", pi / 2, [53, 53])
parts("2/3", mpf(2) / 3, [53, 53])
mp.dps = 400
print("2/pi after 64 zeros:")
words = int(floor(ldexp(2 / pi, 64 * 19)))
print("   ", ", ".join(f"0x{words >> (64 * (18 - i)) & (2**64 - 1):016x}" for i in range(19)))
