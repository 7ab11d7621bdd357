#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a random problem file that is valid. The same seed gives the same file.

usage: random_files.py SEED

Values stay finite for 20 sweeps: every formula is at most about as large as the largest value it reads.
Functions whose last bits differ between libraries (exp, sin, ...) stand only where the C library
evaluates them: in start values, in coefficients, and in boundaries without t.
"""

import random
import sys

AXES = "xyz"
INDICES = "ijk"


class Writer:
    def __init__(self, seed):
        self.random = random.Random(f"problem file {seed}")
        self.seed = seed
        self.axes = self.pick([1, 2, 2, 3])
        self.reach = self.pick([1, 1, 1, 2, 2, 3, 3, 4, 4, 8])
        self.diagonal = self.chance(0.5)
        most = {1: 24, 2: 12, 3: 7}[self.axes]
        self.cells = [self.pick([1, 2, 3, self.random.randint(1, most), self.random.randint(4, most)])
                      for _ in range(self.axes)]
        self.periodic = [self.chance(0.35) for _ in range(self.axes)]
        self.fields = self.random.sample(["u", "v", "w", "phi"], self.random.randint(1, 4))
        self.followers = {}
        if self.chance(0.3):
            self.followers["before"] = self.pick(self.fields)
            if self.chance(0.3):
                self.followers["long_before"] = "before"
        elif self.chance(0.05):
            self.followers = {"before": "long_before", "long_before": "before"}  # they change places
        self.coefficients = self.random.sample(["D", "rough", "c2"], self.random.randint(0, 3))
        self.parameters, self.locals = {}, {}
        self.far = [0] * self.axes  # how far each axis is read

    def pick(self, choices):
        return self.random.choice(choices)

    def chance(self, part):
        return self.random.random() < part

    def some(self, least, most, digits=3):
        """A number as text, written in one way or another."""
        value = self.random.uniform(least, most)
        return self.pick([f"{value:.{digits}f}", f"{value:.{digits}e}", f"{value:.1f}"])

    def numbers(self):
        """An expression of numbers between about -1 and 1."""
        i = self.random.randint(1, 9)
        choices = [self.some(0.05, 0.95), f"{i}/{i + self.random.randint(1, 9)}", f"(1/{i + 1} - 0.{i})",
                   f"({i}/10)^{self.random.randint(0, 5)}", f"min(0.{i}, 1/3)", f"{i + 1}^-2",
                   f"(nx - 1)/(nx + {i})", "1/6", "sqrt(2)/2", "-0.25", f"1 - 0.1 - 0.{i}", f"0.{i}^2^2"]
        return self.pick(choices + [name for name in self.parameters if name not in ("dx", "dy", "dz")] * 2)

    # Places: known by their centres and indices.

    def place(self, functions, with_time=False):
        """An expression of coordinates, of about 1, for start values, coefficients and boundaries."""
        axis = self.random.randrange(self.axes if "k" not in self.parameters else min(self.axes, 2))
        x, i, n = AXES[axis], INDICES[axis], "n" + AXES[axis]
        parts = [f"{x}/(1 + abs({x}))", f"({i} + 1)/({n} + 1)", self.numbers(), f"1/(1 + {x}^2)",
                 f"select({i} < {n}/2, {self.numbers()}, {self.numbers()})", f"0.1*{x}",
                 f"max({x}, 0.5)/(2 + {x}*{x})", f"fma({x}, 0.125, {self.numbers()})", f"-0.01*{i}",
                 f"select(not ({x} > 0.3) and {i} != 2 or {x} == 1, 0.7, {self.numbers()})"]
        if functions:
            parts += [f"sin({x})", f"cos(2*pi*{x})", f"exp(-{x}^2)", f"tanh({x} - 0.5)",
                      f"log(2 + {x}^2)/5", f"(1.5 + 0.1*{i}^2)^-0.7", f"sin(2*pi*({i} + 1)/({n} + 1))"]
        if with_time:
            parts += ["t", "0.5*t", "1 - t^2"] * 2
        text = self.pick(parts)
        for _ in range(self.pick([0, 0, 1, 2])):
            text = self.pick([f"{text} + {self.pick(parts)}", f"({text})*({self.pick(parts)})",
                              f"min({text}, {self.pick(parts)})", f"({text})/3 - {self.pick(parts)}",
                              f"-({text})", f"sqrt(abs({text}))"])
        return text

    def start(self):
        if self.chance(0.05):
            tiny = self.pick(["1e-39", "1e-44", "3e-310", "1e-322"])  # among them subnormal numbers of each type
            return f"{tiny}*{self.pick(['noise()', 'x', '(noise(1) - 0.5)'])}"
        if self.chance(0.5):
            return self.place(True)
        noise = self.pick(["noise()", "noise(0)", "noise(1)", "noise(7)"])
        return self.pick([noise, f"{noise} - 0.5", f"{noise}*({self.place(True)})",
                          f"{noise} - {self.pick(['noise(2)', 'noise()'])}",
                          f"select(noise(3) < 0.3, {self.place(True)}, {noise})"])

    # Updates: at most about as large as the largest value of a field, or 1.

    def access(self, left):
        """A field or coefficient, `left` cells away at most along each axis."""
        name = self.pick([*self.fields, *self.fields, *self.followers, *self.coefficients])
        if self.chance(0.3):
            return name
        offset = [0] * self.axes
        count = self.axes if self.diagonal else 1
        for axis in self.random.sample(range(self.axes), count):
            offset[axis] = self.random.randint(-left[axis], left[axis])
        return f"{name}[{self.pick([',', ', ']).join(map(str, offset))}]"

    def leaf(self, left):
        axis = self.random.randrange(self.axes)
        x, i = AXES[axis], INDICES[axis]
        if i in self.parameters:
            i = "t"
        names = [name for name, reach in self.locals.items() if all(a <= b for a, b in zip(reach, left))]
        if names and self.chance(0.3):
            name = self.pick(names)
            more = [have - need for have, need in zip(left, self.locals[name])]
            offset = [self.random.randint(-most, most) for most in more]
            return f"{name}[{','.join(map(str, offset))}]" if self.chance(0.5) else name
        if self.chance(0.8):
            return self.access(left)
        return self.pick([self.numbers(), f"{x}/(1 + abs({x}))", f"0.01*{i}", "t/(1 + t^2)", "-0.5"])

    def macro(self, depth, left):
        axis = self.random.randrange(self.axes)
        x = AXES[axis]
        order = 2 * self.random.randint(1, min(4, max(1, left[axis])))
        shown = f", {order}" if order > 2 or self.chance(0.3) else ""
        inner = list(left)
        kind = self.pick(["first", "second", "laplace"])
        if kind == "laplace":
            order = 2 * self.random.randint(1, min(4, max(1, min(left))))
            shown = f", {order}" if order > 2 or self.chance(0.3) else ""
            if min(left) < order // 2:
                return None
            part = self.update(depth - 1, [n - order // 2 for n in left])
            least = {1: "dx", 2: "min(dx, dy)", 3: "min(min(dx, dy), dz)"}[self.axes]
            return f"0.02*{least}^2*laplace({part}{shown})"
        inner[axis] -= order // 2
        if inner[axis] < 0:
            return None
        part = self.update(depth - 1, inner)
        if kind == "first":
            return f"0.2*d{x}*dd{x}({part}{shown})"
        return f"0.05*d{x}^2*d2d{x}2({part}{shown})"

    def update(self, depth, left):
        if depth <= 0:
            return self.leaf(left)

        def part():
            return self.update(depth - self.random.randint(1, 2), left)

        def condition():
            one = f"{part()} {self.pick(['<', '<=', '>', '>=', '==', '!='])} {self.leaf(left)}"
            return self.pick([one, one, f"not ({one})", f"{one} and {self.leaf(left)} > {self.numbers()}",
                              f"{one} or {AXES[0]} < 0.5", f"nx > 4 and {one}"])

        def weighted():
            weight = self.random.randint(1, 9)
            first, second = part(), part()
            return self.pick([f"0.{weight}*({first}) + {(10 - weight) / 10}*({second})",
                              f"0.5*(({first}) - ({second}))", f"(({first}) + ({second}))/2",
                              f"fma({first}, 0.{weight}, {(10 - weight) / 10}*({second}))",
                              f"1/3*({first}) - 2/3*({second})",
                              f"1/4*((({first}) + ({second})) + (({part()}) - ({part()})))"])

        def quotient():
            first, second = part(), part()
            return self.pick([f"({first})/(1 + ({second})^2)", f"({first})*(1 + ({first})*({first}))^-1",
                              f"({first})*({second})/(1 + abs({first}))",
                              f"({first})^3/(1 + abs({second}) + ({first})^2)",
                              f"({first})*(2 + ({second})^2)^-{self.random.randint(1, 4)}",
                              f"(({first})/(1 + abs({first})))^{self.random.randint(2, 16)}"])

        def simple():
            first, second = part(), part()
            return self.pick([f"min({first}, {second})", f"max({first}, {second})", f"abs({first})",
                              f"sqrt(abs({first}))", f"-({first})", f"({first})^1",
                              f"({first}) - ({first})^0*({second})*0.1"])

        def change():
            text = self.macro(depth, left)
            return weighted() if text is None else f"{part()} {self.pick('+-')} {text}"

        def choice():
            return f"select({condition()}, {part()}, {part()})"

        return self.pick([weighted, weighted, quotient, simple, change, change, choice])()

    # The file.

    def make_parameters(self):
        self.parameters["dt"] = self.pick(["0.01", "0.1", "1/3", "1e-3"])
        for name in self.random.sample(["kappa", "p", "q1", "weight", "k"], self.random.randint(0, 3)):
            self.parameters[name] = self.numbers()

    def side(self, axis, upper):
        place, timed = self.place, self.chance(0.35)
        value = place(not timed, timed) if self.chance(0.7) else self.numbers()
        value = value if self.chance(0.8) else self.pick(["0", "1", "-0.5"])
        shown = value if value in ("0", "1", "-0.5") else f'"{value}"'
        for name in (INDICES[axis],):  # a face has no index along its normal
            if any(word == name for word in words_of(value)):
                return '"reflect"' if self.chance(0.3) else f"{{ outside = {shown} }}"
        kind = self.pick(["outside", "value", "derivative", "reflect", "mixed"])
        if kind == "reflect":
            return '"reflect"'
        if kind == "derivative" and self.chance(0.4):
            return f'{{ derivative = "{self.numbers()}" }}'
        if kind == "mixed":
            a, b = self.pick([("1", "2"), ("0.5", "0.1"), ('"1/3"', '"dt"'), ("0", "1"), ("1", "0")])
            return f"{{ mixed = {{ a = {a}, b = {b}, c = {shown} }} }}"
        return f"{{ {kind} = {shown} }}"

    def boundary(self):
        if all(self.periodic) and self.chance(0.7):
            return '"periodic"'
        if not any(self.periodic) and self.chance(0.15):
            return self.pick(['"reflect"', "{ outside = 0 }", '{ value = "1/3" }', "{ derivative = 0.1 }"])
        parts = []
        rest = [axis for axis in range(self.axes) if not self.periodic[axis]]
        by_star = self.pick(rest) if rest and self.chance(0.2) else None
        for axis, x in enumerate(AXES[:self.axes]):
            if self.periodic[axis]:
                parts.append(f'{x} = "periodic"')
            elif axis == by_star:
                parts.append(f'"*" = {self.side(axis, 0)}')
            elif self.chance(0.2):
                parts.append(f"{x} = {self.side(axis, 0)}")
            else:
                parts += [f'"{x}-" = {self.side(axis, 0)}', f'"{x}+" = {self.side(axis, 1)}']
        self.random.shuffle(parts)
        return "{ " + ", ".join(parts) + " }"

    def corner(self, key, values):
        """A list, or one value for all axes."""
        return f"{key} = {values[0]}" if self.chance(0.2) else f"{key} = [{', '.join(values)}]"

    def domain(self):
        lower = [self.pick(["0", "-1", "0.25", '"-pi"']) for _ in range(self.axes)]
        upper = [self.pick(["1.5", '"2*pi"', "2", '"1 + 1/3"']) for _ in range(self.axes)]
        lines = []
        if self.chance(0.6):
            if self.chance(0.7):
                lines.append(self.corner("lower", lower))
            lines.append(self.corner("upper", upper))
        else:
            if self.chance(0.3):
                lines.append(self.corner("lower", lower))
            for x in AXES[:self.axes]:
                if self.chance(0.5):
                    self.parameters["d" + x] = self.pick(["0.1", "1/7", "0.7", "2"])
        return lines

    def by_axes(self, text, other):
        """A value for this number of axes, or a table with one for another, which is not used."""
        if not other or "\n" in text or self.chance(0.3):
            return text
        return f"{{ {self.axes} = {text}, {other} = 0.5 }}"

    def text(self):
        lines = [f'title = "random, seed {self.seed}"']
        other = self.pick([n for n in (1, 2, 3) if n != self.axes]) if self.chance(0.15) else 0
        lines.append(f"axes = [{self.axes}, {other}]" if other else f"axes = {self.axes}")
        self.make_parameters()
        domain = self.domain()
        # With mirrored ghosts an axis has at least as many cells as the reach.
        mirrors = [not periodic and self.chance(0.8) for periodic in self.periodic]
        left = [min(self.reach, n) if mirror else self.reach for n, mirror in zip(self.cells, mirrors)]
        boundaries = {}
        for name in [*self.fields, *self.followers]:
            text = self.boundary()
            for _ in range(100):
                if all(mirrors[a] or self.periodic[a] or n >= self.reach or self.only_outside(text)
                       for a, n in enumerate(self.cells)):
                    break
                text = self.boundary()
            else:
                text = self.plain_boundary()
            boundaries[name] = text
        cells = f"[{', '.join(map(str, self.cells))}]"
        other_cells = f"[{', '.join(['8'] * other)}]"
        lines.append(f"cells = {{ {self.axes} = {cells}, {other} = {other_cells} }}" if other else f"cells = {cells}")
        lines += domain
        if self.chance(0.7):
            lines.append(f'precision = "{self.pick(["f32", "f32", "f64"])}"')
        if self.chance(0.3):
            lines.append(f"seed = {self.random.randint(0, 2**40)}")
        lines.append("[parameters]")
        for name, value in sorted(self.parameters.items(), key=lambda one: one[0] not in ("dx", "dy", "dz")):
            shown = value if value.replace(".", "").replace("e-", "").isdigit() else f'"{value}"'
            lines.append(f"{name} = {shown}" if self.chance(0.6) else f'{name} = {{ value = {shown}, help = "" }}')
        for name in self.fields:
            lines += [f"[fields.{name}]", f"initial = {self.by_axes(self.quoted(self.start()), other)}",
                      f"boundary = {boundaries[name]}"]
        for name in self.followers:
            lines += [f"[fields.{name}]", f"initial = {self.quoted(self.start())}",
                      f"boundary = {boundaries[name]}"]
        for name in self.coefficients:
            lines += [f"[coefficients.{name}]", f"value = {self.quoted(self.place(True))}"]
        lines += self.formulas(left, other) + self.stop()
        return "\n".join(lines) + "\n"

    def quoted(self, text):
        if self.chance(0.1):  # on several lines
            return '"""' + text.replace(" + ", " +\n     ") + '"""'
        return f'"{text}"'

    @staticmethod
    def only_outside(text):
        return not any(word in text for word in ("reflect", "value", "derivative", "mixed"))

    def plain_boundary(self):
        parts = [f'{x} = "periodic"' if periodic else f"{x} = {{ outside = {self.quoted(self.place(True))} }}"
                 for x, periodic in zip(AXES, self.periodic)]
        return "{ " + ", ".join(parts) + " }"

    def formulas(self, left, other):
        lines = []
        for name in self.random.sample(["half", "mean", "flux"], self.pick([0, 0, 1, 2])):
            reach = [min(n, 1) for n in left] if self.chance(0.5) else [0] * self.axes
            lines.append(f"{name} = {self.quoted(self.update(2, reach))}")
            self.locals[name] = reach
        if lines:
            lines.insert(0, "[locals]")
        lines.append("[update]")
        for name in self.random.sample(self.fields, len(self.fields)):
            lines.append(f"{name} = {self.by_axes(self.quoted(self.update(self.pick([2, 3, 3, 4]), left)), other)}")
        return lines + [f'{name} = "{followed}"' for name, followed in self.followers.items()]

    def stop(self):
        lines = ["[stop]"]
        sweeps = self.random.randint(1, 20)
        lines.append(f'time = "{sweeps}*dt"' if self.chance(0.3) else f"sweeps = {sweeps}")
        norm = self.pick(["max", "l2", "none"])
        if self.chance(0.6):
            fields = [*self.fields, *self.followers]
            some = self.random.sample(fields, self.random.randint(1, len(fields)))
            of = some if len(some) > 1 else f"'{some[0]}'"
            lines.append(f'norm = {{ of = {of}, kind = "{norm}" }}' if self.chance(0.5) else f'norm = "{norm}"')
            if norm != "none" and self.chance(0.5):
                tolerance = self.pick(["0.01", "0.1", "0", "1e-3", '"dt/9"'])
                lines.append(f"tolerance = {tolerance}")
        return lines


def words_of(text):
    return "".join(c if c.isalnum() or c == "_" else " " for c in text).split()


def random_file(seed):
    return Writer(seed).text()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(random_file(int(sys.argv[1])), end="")
