#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Solves the problem of a file with NumPy, on the whole domain at once, and prints what comes out.

A second implementation, by another hand, of what problem files mean: it shares nothing with
src/solve/problem and must give the same bits. The exception are exp, log, sin, cos, tanh and pow in
updates and in boundaries with t: Halocline computes them with functions of its own, this file with the
C library's.
"""

import argparse
import json
import math
import pathlib
import re
import sys
import tomllib

import numpy as np

from expressions import Meaning, Wrong, parse

AXES = "xyz"
KEYS = {"title", "axes", "cells", "lower", "upper", "precision", "seed", "parameters", "require", "fields",
        "coefficients", "locals", "update", "stop", "output"}
ONE_VALUE = ("outside", "value", "derivative")
U64 = np.uint64


def mix(z):
    z = (z ^ (z >> U64(30))) * U64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> U64(27))) * U64(0x94D049BB133111EB)
    return z ^ (z >> U64(31))


def noise(seed, count):
    """The noise of cells 0 to count - 1."""
    number = np.arange(1, count + 1, dtype=U64)
    z = U64(seed % 2**64) + number * U64(0x9E3779B97F4A7C15)
    return (mix(z) >> U64(11)).astype(np.float64) * 2.0**-53


def checksum(values):
    """Of cells in the order of their index."""
    values = values + values.dtype.type(0)  # -0.0 as 0.0
    bits = values.view(np.uint32 if values.dtype == np.float32 else U64).astype(U64)
    # One NaN, the quiet one without payload, stands for all.
    bits[np.isnan(values)] = 0x7FC00000 if values.dtype == np.float32 else 0x7FF8000000000000
    number = np.arange(1, values.size + 1, dtype=U64)
    return f"{int(np.sum(mix(bits ^ mix(number)), dtype=U64)):016x}"


def plain_sum(values):
    """In fp64, one after the other. (np.sum adds in another order.)"""
    return float(np.add.accumulate(values.astype(np.float64))[-1])


def of_axes(value, axes):
    """What a table by number of axes has for this one; anything else is for all of them."""
    if isinstance(value, dict) and set(value) <= {"1", "2", "3"}:
        return value[str(axes)]
    return value


def along_axes(value, axes):
    """One value for each axis, of a list or of one value for all; None without any."""
    value = of_axes(value, axes)
    if isinstance(value, list) and len(value) != axes:
        raise Wrong(f"{len(value)} values for {axes} axes")
    return value if isinstance(value, list) or value is None else [value] * axes


class Numbers:
    """The parameters, spacings and sizes by name, each evaluated when it is first asked for."""

    def __init__(self, texts, axes):
        self.texts, self.axes, self.values = texts, axes, {"pi": math.pi}
        self.under_way = set()

    def __contains__(self, name):
        return name in self.values or name in self.texts

    def __getitem__(self, name):
        if name not in self.values:
            if name in self.under_way:
                raise Wrong(f"{name} needs itself")
            self.under_way.add(name)
            text = self.texts[name]
            self.values[name] = text() if callable(text) else self.of(text)
        return self.values[name]

    def of(self, text):
        """The value of an expression of numbers only."""
        return self.meaning().of(parse(text)).item()

    def meaning(self):
        def refuse(name, _):
            raise Wrong(f"'{name}' is not one number")
        return Meaning(self.axes, self, {}, np.float64, refuse)


class Side:
    """The rule for the ghosts beyond one side of one field."""

    def __init__(self, text):
        if isinstance(text, str):
            self.kind, value = text, None
        else:
            (self.kind, value), = text.items()
        if self.kind == "mixed":
            self.a, self.b, self.value = value["a"], value["b"], parse(value["c"])
        elif self.kind in ONE_VALUE:
            self.value = parse(value)
        elif self.kind in ("periodic", "reflect") and value is None:
            self.value = None
        else:
            raise Wrong(f"there is no boundary '{self.kind}'")


def is_rule(text):
    return isinstance(text, str) or set(text) & {"mixed", *ONE_VALUE}


def sides_of(boundary, axes):
    """The rules of x-, x+, y-, ...; None where the file gives none."""
    if boundary is None:
        return [None] * (2 * axes)
    table = {"*": boundary} if is_rule(boundary) else boundary
    sides = []
    for axis in AXES[:axes]:
        for side in (axis + "-", axis + "+"):
            if axis in table and side in table:
                raise Wrong(f"the boundary of {side} is given twice")
            text = table.get(side, table.get(axis, table.get("*")))
            sides.append(None if text is None else Side(text))
    return sides


def offsets_in(node, axes, locals_, moved=None, found=None, seen=None):
    """The offsets at which a tree reads each name."""
    moved, found = moved or (0,) * axes, {} if found is None else found
    seen = set() if seen is None else seen
    if (id(node), moved) in seen:
        return found
    seen.add((id(node), moved))

    def into(part, at):
        offsets_in(part, axes, locals_, at, found, seen)

    def shifted(axis, distance):
        return tuple(m + distance * (a == axis) for a, m in enumerate(moved))

    if node[0] == "name":
        offset = tuple(a + b for a, b in zip(node[2] or (0,) * axes, moved))
        if node[1] in locals_:
            into(locals_[node[1]], offset)
        else:
            found.setdefault(node[1], set()).add(offset)
    elif node[0] == "call":
        # Each macro reads its argument on both sides, at 0 also where the middle has no weight.
        macro = re.fullmatch(r"laplace|d2?d([xyz])2?", node[1])
        if macro:
            order = int(node[2][1][1]) if len(node[2]) > 1 else 2
            for axis in [AXES.index(macro[1])] if macro[1] else range(axes):
                for distance in range(-order // 2, order // 2 + 1):
                    into(node[2][0], shifted(axis, distance))
        else:
            for part in node[2]:
                into(part, moved)
    elif node[0] != "number":
        for part in node[1:]:
            into(part, moved)
    return found


class Problem:
    """A file with every choice made."""

    def __init__(self, text, cells=None, parameters=None, precision=None, seed=None, folder="."):
        file = tomllib.loads(text)
        if set(file) - KEYS:
            raise Wrong(f"keys that are not known: {set(file) - KEYS}")
        self.file, self.folder = file, pathlib.Path(folder)
        known = file["axes"] if isinstance(file["axes"], list) else [file["axes"]]
        self.axes = len(cells) if cells else known[0]
        if self.axes not in known:
            raise Wrong(f"the file is for {known} axes, not {self.axes}")
        self.cells = cells or along_axes(file.get("cells"), self.axes)
        self.dtype = np.dtype({"f32": np.float32, "f64": np.float64}[precision or file.get("precision", "f64")])
        self.seed = file.get("seed", 12345) if seed is None else seed
        self.read_numbers(parameters or {})
        self.locals = {name: parse(of_axes(value, self.axes)) for name, value in file.get("locals", {}).items()}
        self.check_requirements()
        self.read_fields()
        self.read_stop()

    def read_numbers(self, chosen):
        file, texts = self.file, {}
        for name, value in file.get("parameters", {}).items():
            texts[name] = value["value"] if isinstance(value, dict) else value
        for name, value in chosen.items():
            if name not in texts:
                raise Wrong(f"there is no parameter {name}")
            texts[name] = value
        own = set(texts)
        numbers = self.numbers = Numbers(texts, self.axes)
        numbers.values["axes"] = float(self.axes)
        for axis in range(self.axes):
            numbers.values[f"n{AXES[axis]}"] = float(self.cells[axis])
        lower, upper = (along_axes(file.get(key), self.axes) for key in ("lower", "upper"))
        self.lower = [numbers.of(value) for value in lower or [0] * self.axes]
        for axis in range(self.axes):
            if upper:
                def spacing(axis=axis):
                    return (numbers.of(upper[axis]) - self.lower[axis]) / self.cells[axis]
                texts[f"d{AXES[axis]}"] = spacing
            elif f"d{AXES[axis]}" not in own:
                texts[f"d{AXES[axis]}"] = (lambda: numbers["dx"]) if "dx" in own else 1.0
        self.spacing = [numbers[f"d{axis}"] for axis in AXES[:self.axes]]
        self.upper = [numbers.of(upper[axis]) if upper else
                      self.lower[axis] + self.cells[axis] * self.spacing[axis] for axis in range(self.axes)]
        for name in own:
            numbers[name]
        self.dt = numbers["dt"] if "dt" in own else None

    def check_requirements(self):
        for condition, message in self.file.get("require", {}).items():
            if not self.numbers.meaning().truth_or_number(parse(condition)):
                raise Wrong(message)

    def read_fields(self):
        file, axes = self.file, self.axes
        self.fields = list(file["fields"])
        self.coefficients = {name: value["value"] if "value" in value else value
                             for name, value in file.get("coefficients", {}).items()}
        self.sides = {name: sides_of(of_axes(file["fields"][name].get("boundary"), axes), axes)
                      for name in self.fields}
        self.follows, self.updates = {}, {}
        for name in self.fields:
            if name not in file["update"]:
                raise Wrong(f"{name} has no update: make it a coefficient")
            node = parse(of_axes(file["update"][name], axes))
            if node[0] == "name" and node[2] is None and node[1] in self.fields:
                self.follows[name] = node[1]
            else:
                self.updates[name] = node
        self.periodic = []
        for axis in range(axes):
            kinds = [side.kind == "periodic" for name in self.fields
                     for side in self.sides[name][2 * axis:2 * axis + 2] if side]
            if any(kinds) and not all(kinds):
                raise Wrong(f"{AXES[axis]} is periodic on both sides and for all fields, or for none")
            self.periodic.append(any(kinds))
        self.offsets = {}
        for node in self.updates.values():
            offsets_in(node, axes, self.locals, found=self.offsets)
        read = [offset for name in [*self.fields, *self.coefficients] for offset in self.offsets.get(name, ())]
        for offset in [offset for found in self.offsets.values() for offset in found]:
            if max(map(abs, offset)) > 8:
                raise Wrong(f"a formula reads {offset} away; 8 cells are the most")
        rules = [rule for sides in self.sides.values() for rule in sides if rule and rule.value is not None]
        self.depends_on_time = "t" in self.offsets or any("t" in offsets_in(rule.value, axes, {}) for rule in rules)
        self.ghosts = [max((abs(offset[axis]) for offset in read), default=0) for axis in range(axes)]
        self.check_sides()

    def check_sides(self):
        for name in self.fields:
            for number, rule in enumerate(self.sides[name]):
                axis, is_upper = divmod(number, 2)
                sign = 1 if is_upper else -1
                reach = max((sign * offset[axis] for offset in self.offsets.get(name, ())), default=0)
                if reach <= 0 or self.periodic[axis]:
                    continue
                if not rule:
                    raise Wrong(f"{name} is read beyond a side along {AXES[axis]} that has no boundary")
                if reach > self.cells[axis] and rule.kind != "outside":
                    raise Wrong(f"'{rule.kind}' needs at least {reach} cells along {AXES[axis]}")

    def read_stop(self):
        stop = self.file["stop"]
        if "time" in stop:
            self.sweeps = math.ceil(self.numbers.of(stop["time"]) / self.dt * (1 - 1e-12))
        else:
            self.sweeps = stop["sweeps"]
        self.tolerance = self.numbers.of(stop["tolerance"]) if "tolerance" in stop else None
        norm = stop.get("norm", "none" if self.tolerance is None else "max")
        norm = norm if isinstance(norm, dict) else {"kind": norm}
        self.norm_kind, of = norm.get("kind", "max"), norm.get("of", list(self.updates))
        self.norm_of = of if isinstance(of, list) else [of]

    def centres(self, axis, index):
        return self.lower[axis] + (index + 0.5) * self.spacing[axis]

    def at_points(self, indices, face=None, time=None):
        """Evaluates on the host, in fp64, at the product of `indices`, one array by axis. `face` is an
        axis and the coordinate that all points have there."""
        def leaf(name, offset):
            axis = "xyzijk".find(name) % 3
            if name == "t" and time is not None:
                return np.float64(time)
            if name == "noise":
                count = math.prod(self.cells)
                return noise(self.seed + offset, count).reshape(self.cells[::-1])
            if name not in tuple("xyzijk") or axis >= self.axes:
                raise Wrong(f"'{name}' cannot be used here")
            index = indices[axis] + offset[axis]
            if self.periodic[axis]:
                index = index % self.cells[axis]
            values = np.asarray(index, np.float64)
            if name in AXES:
                values = self.centres(axis, values)
                if face and axis == face[0]:
                    values = np.full_like(values, face[1] + offset[axis] * self.spacing[axis])
            return values.reshape([-1 if a == axis else 1 for a in reversed(range(self.axes))])
        return Meaning(self.axes, self.numbers, {}, np.dtype(np.float64), leaf)

    def rounded(self, values):
        with np.errstate(all="ignore"):
            return np.asarray(values).astype(self.dtype)


def names_in(node):
    if node[0] == "name":
        return {node[1]}
    parts = node[2] if node[0] == "call" else node[1:]
    return set().union(*(names_in(part) for part in parts if isinstance(part, tuple)))


class State:
    """The fields with their ghosts. Arrays have the axes z, y, x."""

    def __init__(self, problem):
        self.problem, self.sweeps, self.kept = problem, 0, {}
        held = [np.arange(-g, n + g) for g, n in zip(problem.ghosts, problem.cells)]
        self.held = held
        self.inside = tuple(slice(g, g + n) for g, n in zip(problem.ghosts, problem.cells))[::-1]
        self.shape = [len(index) for index in held][::-1]
        self.fields = {}
        for name in problem.fields:
            self.fields[name] = np.full(self.shape, np.nan, problem.dtype)
            self.fields[name][self.inside] = self.start(of_axes(
                problem.file["fields"][name]["initial"], problem.axes))
        self.coefficients = {name: self.coefficient(value) for name, value in problem.coefficients.items()}

    def from_file(self, value):
        array = np.load(self.problem.folder / value["file"])
        if list(array.shape) != self.problem.cells[::-1]:
            raise Wrong(f"{value['file']} has the shape {array.shape}; the cells are {self.problem.cells}")
        return self.problem.rounded(array)

    def start(self, value):
        if isinstance(value, dict):
            return self.from_file(value)
        indices = [np.arange(n) for n in self.problem.cells]
        return self.problem.rounded(self.problem.at_points(indices).of(parse(value)))

    def coefficient(self, value):
        problem = self.problem
        if isinstance(value, dict):
            array = self.from_file(value)
            for axis in range(problem.axes):
                n = problem.cells[axis]
                index = self.held[axis] % n if problem.periodic[axis] else self.held[axis].clip(0, n - 1)
                array = np.take(array, index, axis=problem.axes - 1 - axis)
            return array
        values = problem.rounded(problem.at_points(self.held).of(parse(value)))
        return np.broadcast_to(values, self.shape)

    def time(self):
        if self.problem.dt is None:
            raise Wrong("t is used, and there is no parameter named dt")
        return self.sweeps * self.problem.dt

    def layer(self, axis, index):
        """The cells with one index along an axis, of arrays with ghosts."""
        where = [slice(None)] * self.problem.axes
        where[self.problem.axes - 1 - axis] = slice(index + self.problem.ghosts[axis],
                                                    index + self.problem.ghosts[axis] + 1)
        return tuple(where)

    def fill_ghosts(self, name):
        problem, array = self.problem, self.fields[name]
        for axis in range(problem.axes):
            if problem.periodic[axis]:
                index = self.held[axis] % problem.cells[axis] + problem.ghosts[axis]
                array[...] = np.take(array, index, axis=problem.axes - 1 - axis)
        for axis in range(problem.axes):
            if problem.periodic[axis]:
                continue
            for side in (0, 1):
                rule = problem.sides[name][2 * axis + side]
                if rule:
                    for k in range(1, problem.ghosts[axis] + 1):
                        self.fill_layer(array, (name, axis, side), rule, k)

    def fill_layer(self, array, side, rule, k):
        _, axis, is_upper = side
        n = self.problem.cells[axis]
        ghost = self.layer(axis, n - 1 + k if is_upper else -k)
        if rule.kind == "outside":
            array[ghost] = self.rule_values(side, rule, k)
        elif k <= n:
            with np.errstate(all="ignore"):
                array[ghost] = self.mirrored(array[self.layer(axis, n - k if is_upper else k - 1)],
                                             side, rule, k)

    def mirrored(self, m, side, rule, k):
        problem, numbers = self.problem, self.problem.numbers
        real = problem.dtype.type
        if rule.kind == "reflect":
            return m
        h = (2 * k - 1) * problem.spacing[side[1]]
        if rule.kind == "derivative":
            if numbers.meaning().is_number(rule.value):
                return m + real(h * numbers.meaning().of(rule.value))
            return m + real(h) * self.rule_values(side, rule, k)
        value = self.rule_values(side, rule, k)
        if rule.kind == "value":
            return real(2) * value - m
        a, b = numbers.of(rule.a), numbers.of(rule.b)
        if a / 2 + b / h == 0:
            raise Wrong("'mixed' divides by zero")
        return (value - real(a / 2 - b / h) * m) / real(a / 2 + b / h)

    def rule_values(self, side, rule, k):
        """The value of a rule for the k-th layer beyond a side, rounded to the fields' type."""
        problem = self.problem
        name, axis, is_upper = side
        time = self.time() if "t" in names_in(rule.value) else None
        key = (name, axis, is_upper, k if rule.kind == "outside" else 0)
        if time is not None or key not in self.kept:
            indices = list(self.held)
            n = problem.cells[axis]
            face = None
            if rule.kind == "outside":
                indices[axis] = np.array([n - 1 + k if is_upper else -k])
            else:
                indices[axis] = np.array([n - 0.5 if is_upper else -0.5])
                face = (axis, problem.upper[axis] if is_upper else problem.lower[axis])
            self.kept[key] = problem.rounded(problem.at_points(indices, face, time).of(rule.value))
        return self.kept[key]

    def part(self, array, offset):
        """The values at an offset of all cells."""
        ghosts, cells = self.problem.ghosts, self.problem.cells
        where = [slice(g + o, g + o + n) for g, o, n in zip(ghosts, offset, cells)]
        return array[tuple(where[::-1])]

    def leaf(self, name, offset):
        problem = self.problem
        if name in self.fields:
            return self.part(self.fields[name], offset)
        if name in self.coefficients:
            return self.part(self.coefficients[name], offset)
        if name == "t":
            return problem.rounded(self.time())
        if name == "noise":
            raise Wrong("noise is for initial values only")
        indices = [np.arange(n) for n in problem.cells]
        return problem.rounded(problem.at_points(indices).leaf(name, offset))

    def sweep(self):
        problem = self.problem
        for name in self.fields:
            self.fill_ghosts(name)
        meaning = Meaning(problem.axes, problem.numbers, problem.locals, problem.dtype, self.leaf)
        new = {name: np.full(self.shape, np.nan, problem.dtype) for name in problem.updates}
        for name, node in problem.updates.items():
            new[name][self.inside] = meaning.of(node)
        for name, followed in problem.follows.items():
            new[name] = self.fields[followed].copy()
        self.old, self.fields = self.fields, {name: new[name] for name in problem.fields}
        self.sweeps += 1

    def norm(self):
        problem = self.problem
        with np.errstate(all="ignore"):
            change = np.stack([(self.fields[name] - self.old[name])[self.inside] for name in problem.norm_of])
            if problem.norm_kind == "max":
                return float(np.max(np.abs(change)))
            wide = change.astype(np.float64).ravel()
            return math.sqrt(plain_sum(wide * wide))

    def cells_of(self, name):
        return self.fields[name][self.inside].ravel()


def solve(problem, sweeps=None, tolerance=None):
    """Returns the state at the end and the norms by sweep."""
    state, norms = State(problem), []
    tolerance = problem.tolerance if tolerance is None else tolerance
    for sweep in range(problem.sweeps if sweeps is None else sweeps):
        state.sweep()
        if problem.norm_kind != "none":
            norms.append([sweep, state.norm()])
            may_end = norms[-1][1] > 0 or not problem.depends_on_time
            if tolerance is not None and norms[-1][1] <= tolerance and may_end:
                break
    return state, norms


def report(state, norms):
    fields = {}
    for name in state.problem.fields:
        cells = state.cells_of(name)
        fields[name] = {"checksum": checksum(cells), "sum": plain_sum(cells), "min": float(cells.min()),
                        "max": float(cells.max())}
    return {"fields": fields, "sweeps": state.sweeps, "norm_history": norms}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("file")
    parser.add_argument("--cells", type=lambda text: [int(n) for n in text.split("x")])
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--sweeps", type=int)
    parser.add_argument("--tolerance", type=float)
    parser.add_argument("--norm", choices=["max", "l2", "none"])
    parser.add_argument("--precision", choices=["f32", "f64"])
    parser.add_argument("--seed", type=int)
    return parser


def solved(path, given):
    """Solves a file with these arguments."""
    chosen = {name: float(value) for name, value in (pair.split("=", 1) for pair in given.set)}
    problem = Problem(path.read_text(), given.cells, chosen, given.precision, given.seed, path.parent)
    problem.norm_kind = given.norm or problem.norm_kind
    return solve(problem, given.sweeps, given.tolerance)


def main():
    given = arguments().parse_args()
    try:
        state, norms = solved(pathlib.Path(given.file), given)
    except Wrong as wrong:
        sys.exit(f"{given.file}: {wrong}")
    print(json.dumps(report(state, norms)))
    finite = all(np.isfinite(state.cells_of(name)).all() for name in state.problem.fields)
    return 0 if finite else 1


if __name__ == "__main__":
    sys.exit(main())
