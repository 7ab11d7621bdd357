# SPDX-License-Identifier: Apache-2.0
"""Expressions of problem files: their syntax, and their values as arrays.

A second implementation, by NumPy, of what src/solve/problem computes. It shares no code with that one
and is slow on purpose: every operation is one NumPy operation in the order of the text.
"""

import ctypes
import ctypes.util
import re
from fractions import Fraction

import numpy as np

FUNCTIONS = {"sqrt": 1, "abs": 1, "exp": 1, "log": 1, "sin": 1, "cos": 1, "tanh": 1, "pow": 2, "min": 2,
             "max": 2, "select": 3, "fma": 3}
FIRST = [{2: "1/2"}, {4: "2/3 -1/12"}, {6: "3/4 -3/20 1/60"}, {8: "4/5 -1/5 4/105 -1/280"}]
SECOND = [{2: "-2 1"}, {4: "-5/2 4/3 -1/12"}, {6: "-49/18 3/2 -3/20 1/90"},
          {8: "-205/72 8/5 -1/5 8/315 -1/560"}]


def weights(table):
    """Maps an order to the weights of a difference for spacing 1."""
    return {order: [float(Fraction(weight)) for weight in text.split()]
            for row in table for order, text in row.items()}


WEIGHTS = {1: weights(FIRST), 2: weights(SECOND)}
MACROS = {"ddx": (1, 0), "ddy": (1, 1), "ddz": (1, 2), "d2dx2": (2, 0), "d2dy2": (2, 1), "d2dz2": (2, 2)}
COMPARISONS = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
               "==": np.equal, "!=": np.not_equal}
ARITHMETIC = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}
TOKEN = re.compile(r"\s*(?:((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|(<=|>=|==|!=|[-+*/^()\[\],<>]))")


class Wrong(Exception):
    """A mistake in a problem file."""


# A node is a tuple whose first item says what it is:
# ("number", value), ("name", name, offset or None), ("call", name, arguments),
# ("negate", a), ("not", a), (operator, a, b).

class Parser:
    def __init__(self, text):
        self.tokens, at, text = [], 0, text.rstrip()
        while at < len(text):
            found = TOKEN.match(text, at)
            if not found:
                raise Wrong(f"'{text}': nothing begins with '{text[at:].lstrip()[:1]}'")
            self.tokens.append((found.lastindex, found[found.lastindex]))
            at = found.end()
        self.at, self.text = 0, text

    def take(self, *wanted):
        """Returns the next token if it is one of those, and goes past it."""
        if self.at < len(self.tokens) and self.tokens[self.at][1] in wanted:
            self.at += 1
            return self.tokens[self.at - 1][1]
        return None

    def expect(self, wanted):
        if not self.take(wanted):
            raise Wrong(f"'{self.text}': '{wanted}' is expected")

    def whole(self):
        node = self.either()
        if self.at < len(self.tokens):
            raise Wrong(f"'{self.text}': an operator or the end is expected")
        return node

    def left_to_right(self, part, *operators):
        node = part()
        while operator := self.take(*operators):
            node = (operator, node, part())
        return node

    def either(self):
        return self.left_to_right(self.both, "or")

    def both(self):
        return self.left_to_right(self.negation, "and")

    def negation(self):
        return ("not", self.negation()) if self.take("not") else self.comparison()

    def comparison(self):
        node = self.sum()
        if operator := self.take(*COMPARISONS):
            node = (operator, node, self.sum())
        return node

    def sum(self):
        return self.left_to_right(self.product, "+", "-")

    def product(self):
        return self.left_to_right(self.signed, "*", "/")

    def signed(self):
        return ("negate", self.signed()) if self.take("-") else self.power()

    def power(self):
        node = self.value()
        return ("^", node, self.signed()) if self.take("^") else node

    def value(self):
        if self.take("("):
            node = self.either()
            self.expect(")")
            return node
        if self.at == len(self.tokens):
            raise Wrong(f"'{self.text}' ends where a value is expected")
        kind, word = self.tokens[self.at]
        self.at += 1
        if kind == 1:
            if float(word) == float("inf"):
                raise Wrong(f"{word} does not fit a double")
            return ("number", float(word))
        if kind == 3:
            raise Wrong(f"'{self.text}': a value is expected, not '{word}'")
        if self.take("("):
            arguments = []
            if not self.take(")"):
                arguments.append(self.either())
                while self.take(","):
                    arguments.append(self.either())
                self.expect(")")
            return ("call", word, tuple(arguments))
        if self.take("["):
            offset = [self.offset()]
            while self.take(","):
                offset.append(self.offset())
            self.expect("]")
            return ("name", word, tuple(offset))
        return ("name", word, None)

    def offset(self):
        sign = self.take("-", "+")
        kind, word = self.tokens[self.at] if self.at < len(self.tokens) else (3, "the end")
        if kind != 1 or not word.isdigit():
            raise Wrong(f"'{self.text}': an offset is a whole number, not '{word}'")
        self.at += 1
        return -int(word) if sign == "-" else int(word)


def whole_literal(node):
    """The value of a whole literal, such as 2 or 2.0, with or without a minus; None for anything else."""
    if node[0] == "negate":
        inner = whole_literal(node[1])
        return None if inner is None else -inner
    return int(node[1]) if node[0] == "number" and node[1].is_integer() else None


def parse(value):
    """The tree of a text, or of a number as TOML gives it."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return ("number", float(value))
    if not isinstance(value, str):
        raise Wrong(f"{value!r} is no expression")
    return Parser(value).whole()


LIBM = ctypes.CDLL(ctypes.util.find_library("m") or "libm.so.6")
for name in ["exp", "log", "sin", "cos", "tanh", "pow"]:
    getattr(LIBM, name).restype = ctypes.c_double
    getattr(LIBM, name).argtypes = [ctypes.c_double] * FUNCTIONS[name]


def by_c_library(name, *arrays):
    """NumPy has functions of its own, with other last bits."""
    function = getattr(LIBM, name)
    arrays = np.broadcast_arrays(*(np.asarray(array, np.float64) for array in arrays))
    values = [function(*cell) for cell in zip(*(array.ravel().tolist() for array in arrays))]
    return np.array(values, np.float64).reshape(arrays[0].shape)


def rounded(value, digits, lowest_exponent):
    """Rounds a fraction, not 0, to `digits` bits, ties to even, none below 2^lowest_exponent."""
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** max(exponent - digits + 1, lowest_exponent)
    return round(value / unit) * unit  # of a Fraction: ties to even


def fma_of_cells(a, b, c, dtype):
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c if a == 0 or b == 0 else 0.0  # the zeros' signs as usual
    narrow = dtype == np.float32
    result = rounded(exact, 24 if narrow else 53, -149 if narrow else -1074)
    sign = -1.0 if exact < 0 else 1.0
    if abs(result) >= Fraction(2) ** (128 if narrow else 1024):
        return sign * np.inf
    return sign * float(abs(result))


def fma(a, b, c, dtype):
    arrays = np.broadcast_arrays(a, b, c)
    result = np.multiply(a, b) + c  # right where one of them is not finite
    result = np.array(np.broadcast_to(result, arrays[0].shape), dtype)
    cells = zip(*(array.ravel().tolist() for array in arrays))
    flat = result.reshape(-1)
    for at, cell in enumerate(cells):
        if np.isfinite(cell).all():
            flat[at] = fma_of_cells(*cell, dtype)
    return result


class Meaning:
    """Evaluates trees in one floating-point type.

    `numbers` maps names to fp64 numbers; `locals_` maps names to trees; `leaf(name, offset)` returns
    the values of everything else, in the type."""

    def __init__(self, axes, numbers, locals_, dtype, leaf):
        self.axes, self.numbers, self.locals, self.dtype, self.leaf = axes, numbers, locals_, dtype, leaf
        self.known, self.are_numbers = {}, {}

    def truth_or_number(self, node):
        with np.errstate(all="ignore"):
            return self.value(node, (0,) * self.axes)

    def of(self, node):
        """The value of a tree, in the type."""
        value = self.truth_or_number(node)
        self.need_numbers(value)
        return value

    def is_number(self, node):
        if id(node) not in self.are_numbers:
            self.are_numbers[id(node)] = (node, self.tell_number(node))
        return self.are_numbers[id(node)][1]

    def tell_number(self, node):
        kind = node[0]
        if kind == "number":
            return True
        if kind == "name":
            if node[1] in self.locals:
                return self.is_number(self.locals[node[1]])
            return node[2] is None and node[1] in self.numbers
        if kind == "call":
            if node[1] == "noise":
                return False
            operands = node[2][:1] if node[1] in MACROS or node[1] == "laplace" else node[2]
            return all(self.is_number(operand) for operand in operands)
        if kind == "^" and whole_literal(node[2]) == 0:
            return True  # the literal 1, whatever the base
        return all(self.is_number(operand) for operand in node[1:])

    def value(self, node, offset):
        key = (id(node), offset)
        if key not in self.known:
            if self.is_number(node) and self.dtype != np.float64:
                exact = Meaning(self.axes, self.numbers, self.locals, np.float64, self.leaf)
                exact = exact.truth_or_number(node)
                result = exact if exact.dtype == bool else exact.astype(self.dtype)
            else:
                result = np.asarray(self.compute(node, offset))
                assert result.dtype in (self.dtype, bool), (node, result.dtype)
            self.known[key] = (node, result)  # the node too: its id must not be used again
        return self.known[key][1]

    def constant(self, number):
        return np.float64(number).astype(self.dtype)

    def compute(self, node, offset):
        kind = node[0]
        if kind == "number":
            return self.constant(node[1])
        if kind == "name":
            return self.named(node[1], node[2], offset)
        if kind == "call":
            return self.called(node[1], node[2], offset)
        if kind == "^":
            return self.power(node[1], node[2], offset)
        operands = [self.value(operand, offset) for operand in node[1:]]
        if kind in ("not", "and", "or"):
            self.need_truth(*operands)
            return {"not": np.logical_not, "and": np.logical_and, "or": np.logical_or}[kind](*operands)
        self.need_numbers(*operands)
        if kind == "negate":
            return np.negative(operands[0])
        return (COMPARISONS.get(kind) or ARITHMETIC[kind])(*operands)

    @staticmethod
    def need_numbers(*values):
        if any(value.dtype == bool for value in values):
            raise Wrong("a number is expected, not a truth value")

    @staticmethod
    def need_truth(*values):
        if any(value.dtype != bool for value in values):
            raise Wrong("a truth value is expected")

    def named(self, name, own, offset):
        if own is not None and len(own) != self.axes:
            raise Wrong(f"{name}: {len(own)} offsets; the problem has {self.axes} axes")
        there = tuple(a + b for a, b in zip(own, offset)) if own else offset
        if name in self.locals:
            return self.value(self.locals[name], there)
        if name in self.numbers and own is None:
            return self.constant(self.numbers[name])
        if own is not None and name in ("x", "y", "z", "i", "j", "k", "t"):
            raise Wrong(f"{name} has no neighbours")
        return self.leaf(name, there)

    def called(self, name, arguments, offset):
        if name in MACROS or name == "laplace":
            order = whole_literal(arguments[1]) if len(arguments) > 1 else 2
            if name != "laplace":
                return self.difference(*MACROS[name], order, arguments[0], offset)
            total = self.difference(2, 0, order, arguments[0], offset)
            for axis in range(1, self.axes):
                total = total + self.difference(2, axis, order, arguments[0], offset)
            return total
        if name == "noise":
            return self.leaf("noise", whole_literal(arguments[0]) if arguments else 0)
        if FUNCTIONS.get(name) != len(arguments):
            raise Wrong(f"there is no function {name} of {len(arguments)} arguments")
        values = [self.value(argument, offset) for argument in arguments]
        if name == "select":
            self.need_truth(values[0])
            self.need_numbers(*values[1:])
            return np.where(*values)
        self.need_numbers(*values)
        if name == "min":
            return np.where(np.less(values[1], values[0]), values[1], values[0])
        if name == "max":
            return np.where(np.less(values[0], values[1]), values[1], values[0])
        if name == "fma":
            return fma(*values, self.dtype)
        if name in ("abs", "sqrt"):
            return getattr(np, name)(values[0])
        return by_c_library(name, *values).astype(self.dtype)

    def difference(self, degree, axis, order, node, offset):
        if order not in WEIGHTS[degree]:
            raise Wrong(f"orders are 2, 4, 6 and 8, not {order}")
        if axis >= self.axes:
            raise Wrong(f"the problem has {self.axes} axes")
        spacing = self.numbers["dx dy dz".split()[axis]]

        def at(m):
            moved = list(offset)
            moved[axis] += m
            value = self.value(node, tuple(moved))
            self.need_numbers(value)
            return value

        with np.errstate(all="ignore"):
            if degree == 1:
                factors = [self.constant(weight / spacing) for weight in WEIGHTS[1][order]]
                terms = [factor * (at(m) - at(-m)) for m, factor in enumerate(factors, 1)]
            else:
                factors = [self.constant(weight / (spacing * spacing)) for weight in WEIGHTS[2][order]]
                terms = [factors[0] * at(0)]
                terms += [factor * (at(-m) + at(m)) for m, factor in enumerate(factors[1:], 1)]
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total

    def power(self, base, exponent, offset):
        count = whole_literal(exponent)
        if count == 0:
            return self.constant(1)
        value = self.value(base, offset)
        self.need_numbers(value)
        if count is None or abs(count) > 16:
            return by_c_library("pow", value, self.value(exponent, offset)).astype(self.dtype)
        product = value
        for _ in range(abs(count) - 1):
            product = product * value
        return self.constant(1) / product if count < 0 else product
