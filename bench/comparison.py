# SPDX-License-Identifier: Apache-2.0
"""What the scripts share that compare ways of a halo: starting ranks, and the picture of a table."""

import math
import os

AWARE = ["--mca", "pml", "ucx", "--mca", "opal_common_ucx_tls", "any",
         "--mca", "opal_common_ucx_devices", "any"]


def mpirun(ranks, aware):
    return ["mpirun", "--oversubscribe", "--bind-to", "none", *(AWARE if aware else []),
            "-n", str(ranks)]


def environment(ucx, settings):
    """With a UCX that knows GPUs in front, and with these settings of it and no others."""
    variables = dict(os.environ)
    if ucx:
        for name in ("UCX_MEMTYPE_CACHE", "UCX_TLS"):
            variables.pop(name, None)
        variables |= {"LD_LIBRARY_PATH": f"{ucx}:{variables.get('LD_LIBRARY_PATH', '')}",
                      "UCX_MODULE_DIR": f"{ucx}/ucx", **settings}
    return variables


def group_of(name, ranks):
    """What of the machine a row uses."""
    if name.startswith("CPU"):
        return f"CPU, {ranks} ranks"
    return "one GPU" if ranks == 1 else f"{ranks} GPUs"


COLOURS = ["#8ecae6", "#219ebc", "#fb8500", "#9b2226", "#6a4c93", "#2a9d8f"]


def picture(table, sizes):
    """An SVG: a row for each way, a dot for each size on a logarithmic scale, the values beside it.
    A dashed line in the rows of N GPUs is N times the best of one GPU."""
    left, plot, column, row_height = 300, 440, 62, 20
    values = [value for _, _, row in table for value in row if value]
    first, last = min(values) / 1.3, max(values) * 1.2
    one_gpu = [value for name, ranks, row in table for value in row
               if value and ranks == 1 and not name.startswith("CPU")]

    def at(value):
        return left + plot * math.log(value / first) / math.log(last / first)

    def text(x, y, words, anchor="start", more=""):
        return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{words}</text>'

    def line(x1, y1, x2, y2, more):
        return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {more}/>'

    marks, y, group, ideal = [], 62, None, None
    for name, ranks, row in table:
        if group != group_of(name, ranks):
            group = group_of(name, ranks)
            y += 8
            marks.append(text(12, y + 14, group, more='font-weight="bold"'))
            y += row_height
            ideal = at(ranks * max(one_gpu)) if one_gpu and ranks > 1 and "GPU" in group else None
        middle = y + row_height / 2
        marks.append(text(left - 12, middle + 4, name.removeprefix("one GPU, "), "end"))
        if ideal:
            marks.append(line(ideal, y, ideal, y + row_height,
                              'stroke="#555" stroke-dasharray="4 3"'))
        dots = [at(value) for value in row if value]
        if dots:
            marks.append(line(min(dots), middle, max(dots), middle, 'stroke="#bbb" stroke-width="2"'))
        for which, value in enumerate(row):
            colour, x = COLOURS[which % len(COLOURS)], left + plot + column * (which + 1)
            marks.append(text(x, middle + 4, f"{value:.1f}" if value else "-", "end"))
            if value:
                marks.append(f'<circle cx="{at(value):.1f}" cy="{middle:.1f}" r="5" fill="{colour}"/>')
        y += row_height
    width, height = left + plot + column * len(sizes) + 16, y + 16

    back = [f'<rect width="{width}" height="{height}" fill="white"/>',
            text(12, 22, "laplace fp64, max norm each sweep, loop only: GLUP/s on one node",
                 more='font-size="15"')]
    if any("GPUs" in group_of(name, ranks) for name, ranks, _ in table):
        back.append(text(12, 42, "dashed: N times the best of one GPU", more='fill="#555"'))
    for step in (power * digit for power in (1, 10, 100, 1000, 10000) for digit in (1, 2, 5)):
        if first <= step <= last:
            back.append(line(at(step), 62, at(step), y, 'stroke="#ddd"'))
            back.append(text(at(step), 54, f"{step}", "middle", 'fill="#555"'))
    for which, size in enumerate(sizes):
        x = left + plot + column * (which + 1)
        back.append(text(x, 54, f"{size}²", "end", 'font-weight="bold"'))
        back.append(f'<circle cx="{x - 18:.1f}" cy="34" r="5" fill="{COLOURS[which % len(COLOURS)]}"/>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'font-family="sans-serif" font-size="12" fill="#222">\n' + "\n".join(back + marks) +
            "\n</svg>\n")
