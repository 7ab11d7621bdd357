# SPDX-License-Identifier: Apache-2.0
"""Panels of reports, by their kinds."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from halocline.errors import UsageError
from halocline.plots.panels import Panel, colour_bar

#: Of phases, in every picture the same.
COLOURS = {
    "compute": "#4c72b0",
    "calc": "#4c72b0",
    "pack": "#dd8452",
    "unpack": "#e5ae38",
    "move": "#55a868",
    "call": "#8172b3",
    "wait": "#c44e52",
    "reduce": "#937860",
    "other": "#bbbbbb",
}
#: Of what became of a path, as doctor says it.
OUTCOMES = {
    "works": "#55a868",
    "untried": "#cccccc",
    "unavailable": "#cccccc",
    "out of order": "#dd8452",
    "wrong": "#c44e52",
    "failed": "#c44e52",
}


def _plain(what: Iterable[Any]) -> str:
    return "x".join(str(one) for one in what)


def _bars(title: str, labels: Sequence[str], stacks: Mapping[str, Sequence[float]], unit: str) -> Panel:
    """Returns a panel with a bar for each label, from the top, of parts that follow each other."""

    def draw(axes: Any) -> None:
        before = [0.0] * len(labels)
        for name, lengths in _seen(stacks).items():
            bars = axes.barh(range(len(labels)), lengths, 0.7, before, label=name, color=COLOURS.get(name))
            before = [done + length for done, length in zip(before, lengths)]
            if len(stacks) == 1:
                axes.bar_label(bars, fmt="%.4g", padding=3, fontsize="small")
        axes.margins(x=0.12)
        axes.set_yticks(range(len(labels)), labels)
        axes.set_ylim(max(len(labels), FEWEST_BARS) - 0.5, -0.5)
        axes.set_xlabel(unit)
        if len(stacks) > 1:
            _legend_below(axes)

    return Panel(title, draw, _height_of_bars(len(labels)))


#: A panel has room for so many bars, so that a single one is no block.
FEWEST_BARS = 4


def _height_of_bars(count: int) -> float:
    return 1.5 + 0.35 * max(count, FEWEST_BARS)


def _seen(stacks: Mapping[str, Sequence[float]]) -> dict[str, Sequence[float]]:
    """Leaves out parts that nobody would see: below a two hundredth of all."""
    all_of_it = sum(sum(lengths) for lengths in stacks.values())
    return {name: lengths for name, lengths in stacks.items() if sum(lengths) > all_of_it / 200}


def _legend_below(axes: Any) -> None:
    from matplotlib.transforms import ScaledTranslation

    below_the_label = axes.transAxes + ScaledTranslation(0, -0.5, axes.figure.dpi_scale_trans)  # inches
    axes.legend(
        fontsize="small", loc="upper center", bbox_to_anchor=(0.5, 0), bbox_transform=below_the_label, ncols=7,
        frameon=False,
    )  # fmt: skip


def _solve(report: Mapping[str, Any]) -> Iterator[Panel]:
    norms = [(sweep, norm) for sweep, norm in report["norm_history"] if norm is not None]
    if len(norms) > 1:
        yield Panel(f"{report['norm']} norm", lambda axes: _draw_norms(axes, norms))
    series = report["series"]
    columns = dict(zip(["sweep", *series["names"]], zip(*series["rows"]))) if series else {}
    over = "t" if "t" in columns else "sweep"  # problems with a time step record t, too
    for name in [one for one in columns if one not in ("sweep", "t")]:
        yield Panel(name, lambda axes, name=name: _draw_series(axes, over, columns[over], columns[name]))  # type: ignore[misc]
    phases = {
        name: [1e3 * seconds for seconds in phase["ranks"]]
        for name, phase in report["phases"].items()
        if phase["max"] > 0
    }
    if phases:
        title = "time of each rank, without the first sweep"
        if report["ranks"] <= 16:
            yield _bars(title, [f"rank {rank}" for rank in range(report["ranks"])], phases, "ms")
        else:
            yield Panel(title, lambda axes: _draw_phases(axes, phases))
    ways = report["choice"]["ways"]
    if len(ways) > 1:
        yield Panel("ways that were tried", lambda axes: _draw_ways(axes, ways), _height_of_bars(len(ways)))


def _draw_norms(axes: Any, norms: Sequence[tuple[int, float]]) -> None:
    # A norm of 0 has no place on a logarithmic axis.
    axes.plot(*zip(*norms), marker="." if len(norms) < 50 else None)
    if any(norm > 0 for _, norm in norms):
        axes.set_yscale("log")
    axes.set_xlabel("sweep")
    axes.grid(alpha=0.3, which="both")


def _draw_series(axes: Any, over: str, places: Sequence[float], values: Sequence[float | None]) -> None:
    shown = [float("nan") if value is None else value for value in values]
    axes.plot(places, shown, marker="." if len(shown) < 50 else None)
    axes.set_xlabel(over)
    axes.grid(alpha=0.3)


def _draw_phases(axes: Any, phases: Mapping[str, Sequence[float]]) -> None:
    seen = _seen(phases)
    ranks = len(next(iter(seen.values())))
    axes.stackplot(range(ranks), *seen.values(), labels=seen, colors=[COLOURS[name] for name in seen], step="mid")
    axes.set_xlim(0, ranks - 1)
    axes.set_xlabel("rank")
    axes.set_ylabel("ms")
    _legend_below(axes)


def _draw_ways(axes: Any, ways: Sequence[Mapping[str, Any]]) -> None:
    ordered = sorted(ways, key=lambda way: float(way["us_per_sweep"]))
    labels = []
    for way in ordered:
        parts = [_plain(way["process_grid"]), way["schedule"], *([way["transport"]] if way["transport"] else [])]
        if way["sweeps_per_pass"] > 1:
            parts.append(f"{way['sweeps_per_pass']} a pass")
        labels.append(" ".join(parts) + (" in graphs" if way["in_graphs"] else ""))
    colours = ["#4c72b0" if way["taken"] else "#b8c4dc" for way in ordered]
    axes.barh(range(len(ordered)), [way["us_per_sweep"] for way in ordered], color=colours)
    axes.set_yticks(range(len(ordered)), labels, fontsize="small")
    axes.set_ylim(len(ordered) - 0.5, -0.5)
    axes.set_xlabel("us per sweep; dark: taken")


def _curves(axes: Any, cases: Sequence[Mapping[str, Any]], x: str, y: str, band: tuple[str, str] | None = None) -> None:
    """Draws y over x, a line for each "line" of cases: of several at one x the mean, in the band of all."""
    for name in dict.fromkeys(case["line"] for case in cases):
        mine = [case for case in cases if case["line"] == name]
        places = sorted({case[x] for case in mine})
        at = [[case for case in mine if case[x] == place] for place in places]
        (drawn,) = axes.plot(
            places, [sum(case[y] for case in group) / len(group) for group in at], marker=".", label=name
        )
        if band is not None:
            lows = [min(case[band[0]] for case in group) for group in at]
            highs = [max(case[band[1]] for case in group) for group in at]
            axes.fill_between(places, lows, highs, alpha=0.2, color=drawn.get_color(), linewidth=0)
    axes.legend(fontsize="small")
    axes.grid(alpha=0.3, which="both")


def _size_text(size: float) -> str:
    for unit, symbol in ((1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki")):
        if size >= unit:
            return f"{size / unit:g} {symbol}B"
    return f"{size:g} B"


def _over_bytes(axes: Any, unit: str) -> None:
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda size, _: _size_text(size))
    axes.tick_params(axis="x", labelrotation=30)
    axes.set_xlabel("message")
    axes.set_ylabel(unit)


def _p2p(report: Mapping[str, Any]) -> Iterator[Panel]:
    cases = [
        {
            **{key.replace("_mb_", "_gb_"): value / 1e3 for key, value in case.items() if "_mb_" in key},
            **case,
            "line": f"{case['transport']}, {case['memory']}, {case['pair']}",
        }
        for case in report["cases"]
    ]
    yield Panel("latency", lambda axes: _draw_latency(axes, cases))
    yield Panel("bandwidth, one way", lambda axes: _draw_bandwidth(axes, cases, "one_way"))
    yield Panel("bandwidth, both ways", lambda axes: _draw_bandwidth(axes, cases, "both_ways"))
    if report["ranks"] <= 2:
        return
    sizes = [case["bytes"] for case in cases]
    for way in dict.fromkeys((case["transport"], case["memory"]) for case in cases):
        mine = [case for case in cases if (case["transport"], case["memory"]) == way]
        for size, key, unit in ((min(sizes), "latency_us", "us"), (max(sizes), "one_way_gb_per_s", "GB/s")):
            pairs = {tuple(case["ranks"]): case[key] for case in mine if case["bytes"] == size}
            title = f"{', '.join(way)}: {unit} of {_size_text(size)}"
            yield Panel(title, lambda axes, pairs=pairs: _draw_pairs(axes, pairs, report["ranks"]))  # type: ignore[misc]


def _draw_latency(axes: Any, cases: Sequence[Mapping[str, Any]]) -> None:
    _curves(axes, cases, "bytes", "latency_us", ("latency_min_us", "latency_p99_us"))
    _over_bytes(axes, "us")
    axes.set_yscale("log")


def _draw_bandwidth(axes: Any, cases: Sequence[Mapping[str, Any]], way: str) -> None:
    _curves(axes, cases, "bytes", f"{way}_gb_per_s", (f"{way}_p99_gb_per_s", f"{way}_best_gb_per_s"))
    _over_bytes(axes, "GB/s")
    axes.set_ylim(bottom=0)


def _draw_pairs(axes: Any, pairs: Mapping[tuple[int, int], float], ranks: int) -> None:
    import numpy

    matrix = numpy.full((ranks, ranks), numpy.nan)
    for (first, second), value in pairs.items():
        matrix[first, second] = matrix[second, first] = value
    colour_bar(axes, axes.imshow(matrix, "viridis"))
    if ranks <= 16:
        axes.set_xticks(range(ranks))
        axes.set_yticks(range(ranks))
    if ranks <= 8:
        middle = (numpy.nanmin(matrix) + numpy.nanmax(matrix)) / 2
        for row, column in zip(*numpy.nonzero(numpy.isfinite(matrix))):
            colour = "black" if matrix[row, column] > middle else "white"
            axes.text(
                column, row, f"{matrix[row, column]:.3g}", ha="center", va="center", color=colour, fontsize="small"
            )
    axes.set_xlabel("rank")
    axes.set_ylabel("rank")


def _differing(cases: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> list[str]:
    """Returns a label for each case: what differs among them."""
    text = {
        key: [_plain(case[key]) if isinstance(case[key], list) else str(case[key]) for case in cases] for key in keys
    }
    told = [key for key in keys if len(set(text[key])) > 1] or [keys[0]]
    return [", ".join(text[key][number] for key in told) for number in range(len(cases))]


HALO_PHASES = ("pack", "move", "call", "wait", "unpack")


def _halo(report: Mapping[str, Any]) -> Iterator[Panel]:
    cases = report["cases"]
    labels = _differing(cases, ("transport", "memory", "cells_per_rank", "process_grid", "width", "fields", "graph"))
    yield _bars("time of an exchange", labels, {"": [case["median_us"] for case in cases]}, "us, median")
    phases = {name: [case[f"{name}_us"] or 0.0 for case in cases] for name in HALO_PHASES}
    if any(any(lengths) for lengths in phases.values()):
        yield _bars("phases of an exchange", labels, phases, "us")
    rates = [case["gb_per_s"] or 0.0 for case in cases]
    if any(rates):
        bars = _bars("rate of an exchange", labels, {"": rates}, "GB/s of a rank; line: of its link, or of a copy")
        yield dataclasses.replace(bars, draw=lambda axes: _draw_rates(axes, bars, cases))


def _draw_rates(axes: Any, bars: Panel, cases: Sequence[Mapping[str, Any]]) -> None:
    bars.draw(axes)
    for place, case in enumerate(cases):
        ceiling = case["link_gb_per_s"] or case["memcpy_gb_per_s"]
        if ceiling:
            axes.vlines(ceiling, place - 0.4, place + 0.4, color="black")


def _step(report: Mapping[str, Any]) -> Iterator[Panel]:
    labels = _differing(report["cases"], ("scaling", "precision", "norm", "norm_every", "halo_depth"))
    cases = [{**case, "line": label} for case, label in zip(report["cases"], labels)]
    yield Panel(f"rate of {report['problem']}", lambda axes: _draw_scaling(axes, cases))
    efficient = [{**case, "percent": 100 * case["efficiency"]} for case in cases if case["efficiency"] is not None]
    if efficient:
        yield Panel("efficiency", lambda axes: _draw_efficiency(axes, efficient))


def _draw_scaling(axes: Any, cases: Sequence[Mapping[str, Any]]) -> None:
    _curves(axes, cases, "ranks", "glups")
    ranks = sorted({case["ranks"] for case in cases})
    for name in dict.fromkeys(case["line"] for case in cases):
        first = min((case for case in cases if case["line"] == name), key=lambda case: int(case["ranks"]))
        ideal = [first["glups"] * count / first["ranks"] for count in ranks]
        axes.plot(ranks, ideal, color="grey", linestyle=":", linewidth=1)
    rates = [case["glups"] for case in cases]
    if max(rates) > 4 * min(rates):  # otherwise a logarithmic axis has hardly a tick
        axes.set_yscale("log", base=2)
        axes.yaxis.set_major_formatter("{x:.4g}")
    _over_ranks(axes, "GLUP/s; dotted: ideal")


def _draw_efficiency(axes: Any, cases: Sequence[Mapping[str, Any]]) -> None:
    _curves(axes, cases, "ranks", "percent")
    axes.axhline(100, color="grey", linestyle=":", linewidth=1)
    axes.set_ylim(bottom=0)
    _over_ranks(axes, "%")


def _over_ranks(axes: Any, unit: str) -> None:
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("ranks")
    axes.set_ylabel(unit)


def _layout(report: Mapping[str, Any]) -> Iterator[Panel]:
    cases = sorted(report["cases"], key=lambda case: float(case["median_us"]))
    labels = _differing(cases, ("way", "layout", "steps", "memory"))
    phases = {name: [case[f"{name}_us"]["mean"] for case in cases] for name in ("calc", *HALO_PHASES[:-1])}
    yield _bars(f"time of a sweep of {report['problem']}", labels, phases, "us, mean of the ranks")


def _doctor(report: Mapping[str, Any]) -> Iterator[Panel]:
    speeds = report["speeds"]
    if speeds:
        labels = [one["host"] + ("" if one["gpu"] is None else f" GPU {one['gpu']}") for one in speeds]
        copies = [one["copy_gb_per_s"] for one in speeds]
        yield _bars("copies in memory", labels, {"": copies}, "GB/s")
    paths = [path for path in report["paths"] if path["us"]]
    if paths:
        yield Panel("messages between ranks", lambda axes: _draw_paths(axes, paths))
    if report["paths"]:
        rows = len({path["path"] for path in report["paths"]})
        yield Panel("what works", lambda axes: _draw_outcomes(axes, report["paths"]), 1.2 + 0.3 * rows)


def _draw_paths(axes: Any, paths: Sequence[Mapping[str, Any]]) -> None:
    for number, (path, label) in enumerate(zip(paths, _differing(paths, ("path", "memory", "pair", "with")))):
        axes.plot(*zip(*path["us"]), label=label, marker=".", linestyle=("-", "--", "-.", ":")[number // 10 % 4])
    _over_bytes(axes, "us")
    axes.set_yscale("log")
    axes.legend(fontsize="x-small")
    axes.grid(alpha=0.3, which="both")


def _draw_outcomes(axes: Any, paths: Sequence[Mapping[str, Any]]) -> None:
    from matplotlib.patches import Rectangle

    rows = list(dict.fromkeys(path["path"] for path in paths))
    columns = list(dict.fromkeys((path["memory"], path["pair"]) for path in paths))
    for path in paths:
        row, column = rows.index(path["path"]), columns.index((path["memory"], path["pair"]))
        axes.add_patch(Rectangle((column - 0.48, row - 0.45), 0.96, 0.9, color=OUTCOMES[path["outcome"]]))
        axes.text(column, row, path["outcome"], ha="center", va="center", fontsize="small", color="black")
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xticks(range(len(columns)), [f"{memory}\n{pair}" for memory, pair in columns], fontsize="small")
    axes.set_yticks(range(len(rows)), rows)


def _plan(report: Mapping[str, Any]) -> Iterator[Panel]:
    grids = report["process_grids"][:16]
    labels = [_plain(one["process_grid"]) for one in grids]
    for title, key in (("sent by a rank in an exchange", "bytes"), ("memory of a rank", "memory_bytes")):
        sizes = [one[key] for one in grids]
        _, unit = _size_text(max(sizes)).split()
        scaled = [size / {"GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10, "B": 1}[unit] for size in sizes]
        yield _bars(title, labels, {"": scaled}, unit)


def _timeline(report: Mapping[str, Any]) -> Iterator[Panel]:
    spans = [span for span in report["traceEvents"] if span["ph"] == "X"]
    if spans:
        ranks = len({span["pid"] for span in spans})
        yield Panel("timeline", lambda axes: _draw_timeline(axes, spans), _height_of_bars(ranks))


def _draw_timeline(axes: Any, spans: Sequence[Mapping[str, Any]]) -> None:
    ranks = sorted({span["pid"] for span in spans})
    kinds = list(dict.fromkeys(span.get("cat") or span["name"] for span in spans))
    for kind in kinds:
        label = kind
        for rank in ranks:
            times = [
                (span["ts"] / 1e3, span["dur"] / 1e3)
                for span in spans
                if span["pid"] == rank and (span.get("cat") or span["name"]) == kind
            ]
            colour = COLOURS.get(kind, f"C{kinds.index(kind) % 10}")
            axes.broken_barh(times, (ranks.index(rank) - 0.4, 0.8), color=colour, label=label, linewidth=0)
            label = "_"  # once in the legend
    axes.set_yticks(range(len(ranks)), [f"rank {rank}" for rank in ranks])
    axes.set_ylim(len(ranks) - 0.5, -0.5)
    axes.set_xlabel("ms")
    _legend_below(axes)


#: What is drawn of a report of each kind.
PANELS: dict[str, Callable[[Mapping[str, Any]], Iterator[Panel]]] = {
    "solve": _solve,
    "bench p2p": _p2p,
    "bench halo": _halo,
    "bench step": _step,
    "bench layout": _layout,
    "doctor": _doctor,
    "plan": _plan,
    "timeline": _timeline,
}


def kind_of(report: Mapping[str, Any]) -> str:
    """Says what a report is of: as its key "report" does, or "timeline". UsageError for others."""
    kind = "timeline" if "traceEvents" in report else str(report.get("report", "something else"))
    if kind not in PANELS:
        raise UsageError(
            f"a report of '{kind}' has no picture; reports of these have one: {', '.join(PANELS)} (--json, --trace)"
        )
    return kind


def panels_of(report: Mapping[str, Any]) -> list[Panel]:
    """Returns the panels of a report; none where it has nothing to draw."""
    return list(PANELS[kind_of(report)](report))


def roofline(reports: Iterable[Mapping[str, Any]]) -> list[Panel]:
    """Returns a panel of the solves among reports, under the copy's speed that a doctor among them measured."""
    several = list(reports)
    solves = [
        one for one in several if kind_of(one) == "solve" and one["glups"] > 0 and one["operations_per_update"] > 0
    ]
    speeds = [speed for one in several if kind_of(one) == "doctor" for speed in one["speeds"]]
    if not solves or not speeds:
        return []
    return [Panel("roofline", lambda axes: _draw_roofline(axes, solves, speeds))]


def _draw_roofline(axes: Any, solves: Sequence[Mapping[str, Any]], speeds: Sequence[Mapping[str, Any]]) -> None:
    on_gpus = solves[0]["backend"] == "cuda"
    rates = [speed["copy_gb_per_s"] for speed in speeds if (speed["gpu"] is not None) == on_gpus]
    intensities = []
    for number, solve in enumerate(solves):
        # A pass over memory has several sweeps.
        moved = solve["bytes_per_update"] / solve["sweeps_per_pass"]
        intensities.append(solve["operations_per_update"] / moved)
        label = f"{solve['problem']} {_plain(solve['cells'])} {solve['precision']}, {solve['ranks']} ranks"
        axes.plot(
            intensities[-1], solve["operations_per_update"] * solve["glups"], "o", color=f"C{number % 10}", label=label
        )
    ends = min(intensities) / 4, max(intensities) * 4
    count = {len(solve["devices"]) for solve in solves} if on_gpus else {1}
    for devices in sorted(count):
        roof = devices * sum(rates) / max(len(rates), 1)
        if roof > 0:
            axes.plot(ends, [roof * end for end in ends], color="black", linewidth=1)
            axes.annotate(f"copy: {roof:.4g} GB/s", (ends[1], roof * ends[1] / 2), ha="right", fontsize="small")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.xaxis.set_major_formatter("{x:.3g}")
    axes.yaxis.set_major_formatter("{x:.6g}")
    axes.set_xlabel("operations per byte of memory")
    axes.set_ylabel("10^9 operations a second")
    axes.legend(fontsize="small")
    axes.grid(alpha=0.3, which="both")
