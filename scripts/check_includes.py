#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks who includes whom: the layers under src/, the public headers, and the few places that may
see MPI, CUDA, NCCL and the environment. --self-test checks the checker."""

import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Library: its layers, and of each the layers that it stands on. A layer may include those, and what
# those may include; `base` is for all. That a library sees no later one, its include folders make sure
# (src/CMakeLists.txt).
LIBRARIES = {
    "core": {
        "base": [],
        "grid": [],
        "device": [],
        "comm": [],
        "report": [],
        "field": ["grid", "device"],
        "machine": ["comm", "device"],
        "pack": ["field"],
        "link": ["device", "comm"],
        "transport": ["link"],
        "proof": ["comm", "transport"],
        "exchange": ["pack", "transport", "proof", "machine"],
        "program": ["exchange", "report"],
    },
    "solve": {
        "text": [],
        "problem": ["program", "text"],
        "compiler": ["device"],
        "stencil": ["field", "problem", "compiler"],
        "files": ["program", "text"],
        "links": ["exchange"],
        "solver": ["exchange", "stencil", "files", "links", "report"],
    },
    "tools": {
        "launch": [],
        "mpi": ["comm"],
        "gpu": ["device"],
        "timing": ["machine"],
        "probe": ["launch", "exchange", "mpi", "gpu", "timing", "text"],
        "plan": ["solver"],
        "bench": ["solver", "mpi", "gpu", "timing"],
        "doctor": ["probe", "files", "compiler"],
        "cli": ["plan", "bench", "doctor"],
    },
}
LAYERS = {layer: lower for layers in LIBRARIES.values() for layer, lower in layers.items()}

# The layer that each public header belongs to; halocline.hpp is the umbrella over all.
PUBLIC = {
    "error.hpp": "base",
    "box.hpp": "base",
    "version.hpp": "base",
    "grid.hpp": "grid",
    "precision.hpp": "base",
    "norm.hpp": "base",
    "memory.hpp": "device",
    "stream.hpp": "device",
    "communicator.hpp": "comm",
    "mpi.hpp": "comm",
    "mpi_fortran.hpp": "comm",
    "field.hpp": "field",
    "brick_view.hpp": "field",
    "field_view.hpp": "field",
    "array.hpp": "field",
    "gpu.hpp": "machine",
    "exchange.hpp": "exchange",
    "npy.hpp": "files",
    "checkpoint.hpp": "files",
    "formula.hpp": "problem",
    "problem.hpp": "problem",
    "solver.hpp": "solver",
    "run_result.hpp": "exchange",
    "measure.hpp": "program",
    "program_report.hpp": "program",
    "halocline.h": "bindings",
    "solver.h": "bindings",
}
UMBRELLA = "halocline.hpp"

# Headers of others: (pattern of the name, where it may be included, that place in words).
RESTRICTED = [
    (r"mpi\.h",
     r"src/core/(comm|transport)/|src/tools/mpi/|include/halocline/mpi\.hpp|(tests|bench|examples|lab)/",
     "core/comm, core/transport, tools/mpi, include/halocline/mpi.hpp, tests, bench, examples and lab"),
    # These include mpi.h, and libhalocline_solver serves every MPI.
    (r"comm/(gate|state|swap|tool_interface)\.hpp", r"src/(core|tools)/|(tests|bench|lab)/",
     "core, tools, tests, bench and lab"),
    (r"(cuda_runtime|cuda_runtime_api|cuda)\.h", r"src/core/device/cuda/|tests/cuda_on_cpu/|.*\.cuh?$",
     "core/device/cuda, tests/cuda_on_cpu and .cu, .cuh files"),
    (r"nccl\.h", r"examples/nccl/", "examples/nccl"),
    (r"nvshmem(_host|x)?\.h", r"examples/nvshmem/|tests/cuda_on_cpu/",
     "examples/nvshmem and tests/cuda_on_cpu"),
    (r"xla/ffi/.*", r"bindings/jax/", "bindings/jax"),
]
ENVIRONMENT = "src/core/base/process/environment.cpp"

# What code says in a few files only: a pattern, the files, the rule.
ONLY_IN = [
    (r"\b(secure_)?getenv\b", {ENVIRONMENT}, f"the environment is read only in {ENVIRONMENT}"),
    # The latter writes what has been read, members by their names.
    (r"\.dump\(", {"src/core/base/text/json_text.cpp", "src/tools/doctor/changes.cpp"},
     "write_json() writes JSON: the library's own way throws for bytes that are not UTF-8"),
]

SUFFIXES = {".c", ".cpp", ".hpp", ".h", ".cu", ".cuh", ".inl"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.DOTALL)


def reachable(layer):
    """Returns the layers that `layer` may include."""
    found = {"base", layer}
    todo = list(LAYERS[layer])
    while todo:
        lower = todo.pop()
        if lower not in found:
            found.add(lower)
            todo += LAYERS[lower]
    return found


def layer_of(path):
    """Returns the layer of a path relative to the root; None for what is in no layer."""
    parts = path.split("/")
    if parts[0] == "src" and len(parts) > 3:
        return parts[2]
    if parts[:2] == ["include", "halocline"]:
        return PUBLIC.get(parts[2])
    return None


def resolve(root, path, quote, name):
    """Returns the path, relative to the root, of an included file of ours; None for others'."""
    if name.startswith("halocline/"):
        return "include/" + name
    if quote == "<":
        return None
    for folder in [pathlib.PurePosixPath(path).parent, pathlib.PurePosixPath(),
                   *(pathlib.PurePosixPath("src", library) for library in LIBRARIES)]:
        target = (root / folder / name).resolve()
        if target.is_file() and target.is_relative_to(root):
            return target.relative_to(root).as_posix()
    return None


def check_file(root, path, text):
    """Yields (line, message) for each violation in a file, and ("edge", from, to) for layers."""
    layer = layer_of(path)
    public = path.startswith("include/")
    in_src = path.startswith("src/")
    library = path.split("/")[1] if in_src and path.count("/") > 1 else None
    if library is not None and layer not in LIBRARIES.get(library, {}):
        yield 1, f"the folder src/{library}/{layer} is no layer known to scripts/check_includes.py"
        return
    if public and layer is None and path != f"include/halocline/{UMBRELLA}":
        yield 1, "a public header that belongs to no layer: add it to scripts/check_includes.py"
        return

    for match in INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start(2)) + 1
        quote, name = match.groups()
        for pattern, allowed, where in RESTRICTED:
            if re.fullmatch(pattern, name) and not re.match(allowed, path):
                yield line, f"{name} may be included only in {where}"
        target = resolve(root, path, quote, name)
        if target is None:
            continue
        if public and not target.startswith("include/"):
            yield line, f"a public header includes {target}, which is not installed"
            continue
        if path.startswith("bindings/") and not target.startswith(("include/", "bindings/")):
            yield line, f"bindings use public headers only, not {target}"
            continue
        if path.startswith("examples/") and not target.startswith(("include/", "examples/")):
            yield line, f"examples use public headers only, as their readers must, not {target}"
            continue
        if target.startswith("lab/") and not path.startswith(("lab/", "tests/lab/")):
            yield line, f"{target} is of the laboratory, which nothing else needs"
            continue
        if layer is None:
            continue
        if target == f"include/halocline/{UMBRELLA}":
            if layer != "cli":
                yield line, f"the umbrella {UMBRELLA} is for users; include what is needed"
            continue
        lower = layer_of(target)
        if lower is None or lower == layer:
            continue
        yield "edge", layer, lower
        if lower not in reachable(layer):
            may = ", ".join(sorted(reachable(layer) - {layer}))
            yield line, f"{layer} may not include {target} of {lower} (it may include: {may})"

    if not (in_src or public):
        return
    code = NOT_CODE.sub(lambda found: "\n" * found.group().count("\n"), text)
    for word, places, rule in ONLY_IN:
        for match in re.finditer(word, code) if path not in places else ():
            yield code.count("\n", 0, match.start()) + 1, rule


def cycle_in(edges):
    """Returns layers that include each other in a circle, or an empty list."""
    def search(node, path):
        if node in path:
            return path[path.index(node):] + [node]
        if node in done:
            return []
        for lower in sorted(edges.get(node, ())):
            found = search(lower, path + [node])
            if found:
                return found
        done.add(node)
        return []

    done = set()
    for node in sorted(edges):
        found = search(node, [])
        if found:
            return found
    return []


def check(root):
    """Returns one line of text per violation."""
    violations, edges = [], {}
    for folder in ["include", "src", "bindings", "examples", "tests", "bench", "lab"]:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in SUFFIXES or not file.is_file():
                continue
            path = file.relative_to(root).as_posix()
            for line, *rest in check_file(root, path, file.read_text(encoding="utf-8")):
                if line == "edge":
                    edges.setdefault(rest[0], set()).add(rest[1])
                else:
                    violations.append(f"{path}:{line}: {rest[0]}")
    cycle = cycle_in(edges)
    if cycle:
        violations.append("layers include each other in a circle: " + " -> ".join(cycle))
    return violations


def self_test():
    """Checks one small tree per rule: (files, a part of the one message expected, or None)."""
    cases = [
        ({"src/core/field/a.cpp": '#include "grid/g.hpp"\n#include <halocline/box.hpp>\n',
          "src/core/grid/g.hpp": ""}, None),
        ({"src/core/exchange/a.cpp": '#include "comm/c.hpp"\n', "src/core/comm/c.hpp": ""}, None),
        ({"src/core/grid/a.cpp": '#include "field/f.hpp"\n', "src/core/field/f.hpp": ""},
         "src/core/grid/a.cpp:1: grid may not include src/core/field/f.hpp"),
        ({"src/core/pack/a.cpp": '\n#include "../transport/t.hpp"\n', "src/core/transport/t.hpp": ""},
         "src/core/pack/a.cpp:2: pack may not include src/core/transport/t.hpp"),
        ({"src/core/transport/a.cpp": '#include "pack/p.hpp"\n', "src/core/pack/p.hpp": ""},
         "transport may not include src/core/pack/p.hpp"),
        ({"src/core/grid/a.cpp": "#include <halocline/field.hpp>\n"}, "grid may not include"),
        ({"src/tools/probe/a.cpp": '#include "bench/b.hpp"\n', "src/tools/bench/b.hpp": ""},
         "probe may not include src/tools/bench/b.hpp"),
        ({"include/halocline/grid.hpp": "#include <halocline/field.hpp>\n"},
         "grid may not include include/halocline/field.hpp"),
        ({"include/halocline/grid.hpp": '#include "base/b.hpp"\n', "src/core/base/b.hpp": ""},
         "which is not installed"),
        ({"include/halocline/new.hpp": ""}, "belongs to no layer"),
        ({"src/solve/solver/a.cpp": "#include <halocline/halocline.hpp>\n"}, "umbrella"),
        ({"src/core/oddity/a.cpp": ""}, "no layer known"),
        ({"bindings/c/a.cpp": '#include "comm/c.hpp"\n', "src/core/comm/c.hpp": ""}, "public headers only"),
        ({"examples/a/a.cpp": '#include "comm/c.hpp"\n', "src/core/comm/c.hpp": ""},
         "examples use public headers only"),
        ({"examples/a/a.cpp": '#include <mpi.h>\n#include "../b.hpp"\n', "examples/b.hpp": ""},
         None),
        ({"src/core/field/a.cpp": "#include <mpi.h>\n"}, "mpi.h may be included only in"),
        ({"lab/a.cpp": '#include <mpi.h>\n#include "lab/b.hpp"\n#include "pack/p.hpp"\n', "lab/b.hpp": "",
          "src/core/pack/p.hpp": ""}, None),
        ({"src/tools/bench/a.cpp": '#include "lab/b.hpp"\n', "lab/b.hpp": ""}, "of the laboratory"),
        ({"src/core/comm/a.cpp": "#include <mpi.h>\n", "tests/unit/a.cpp": "#include <mpi.h>\n",
          "include/halocline/mpi.hpp": "#include <mpi.h>\n"}, None),
        ({"src/core/pack/a.cpp": "#include <cuda_runtime.h>\n"}, "cuda_runtime.h may be included only"),
        ({"src/core/pack/cuda/a.cu": "#include <cuda_runtime.h>\n"}, None),
        ({"src/core/transport/mpi/a.cpp": "#include <nccl.h>\n"}, "nccl.h may be included only in"),
        ({"src/core/comm/a.cpp": "int x;\n/* a\n */ auto v = std::getenv(name);\n"},
         "src/core/comm/a.cpp:3: the environment is read only in"),
        ({"src/core/comm/a.cpp": '// getenv\nauto text = "getenv";\n',
          "src/core/base/process/environment.cpp": "auto v = std::getenv(name);\n"}, None),
        ({"src/core/comm/a.cpp": "auto text = json.dump();\n"}, "write_json() writes JSON"),
        ({"src/core/base/text/json_text.cpp": "auto text = json.dump();\n"}, None),
    ]
    wrong = 0
    for files, expected in cases:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            found = check(root)
        if (found == []) if expected is None else (len(found) == 1 and expected in found[0]):
            continue
        wrong += 1
        print(f"expected {expected!r}, found {found} for {files}")

    edges = {"pack": {"field"}, "field": {"grid"}, "grid": {"pack"}}
    if cycle_in(edges) != ["field", "grid", "pack", "field"] or cycle_in({"a": {"b"}}):
        wrong += 1
        print("circles are not found")
    # The table itself: no circle, and the two that must never meet do not.
    if cycle_in({layer: set(lower) for layer, lower in LAYERS.items()}):
        wrong += 1
        print("the table of layers has a circle")
    if "transport" in reachable("pack") or "pack" in reachable("transport"):
        wrong += 1
        print("pack and transport see each other")
    return wrong


def main(arguments):
    if arguments == ["--self-test"]:
        return 1 if self_test() else 0
    if arguments:
        print("usage: scripts/check_includes.py [--self-test]", file=sys.stderr)
        return 2
    violations = check(ROOT)
    for violation in violations:
        print(violation)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
