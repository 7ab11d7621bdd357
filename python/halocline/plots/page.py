# SPDX-License-Identifier: Apache-2.0
"""Pictures and numbers of reports as one HTML page, which needs no other file and no network."""

from __future__ import annotations

import html
import io
import json
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from halocline.errors import ResourceError
from halocline.plots.panels import Panel, figure_of, matplotlib
from halocline.plots.reports import kind_of
from halocline.plots.sources import Source

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #222; background: #fff; margin: 2rem auto; max-width: 84rem;
  padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.2rem; margin-top: 2.5rem; border-bottom: 1px solid #ddd }
h3 { font-size: 1rem }
.panels { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(30rem, 100%), 1fr)); gap: 1rem }
figure { margin: 0 }
svg { width: 100%; height: auto }
table { border-collapse: collapse; font-size: 14px; margin: .5rem 0 } .wide { overflow-x: auto }
td, th { padding: .15rem .7rem .15rem 0; text-align: left; vertical-align: top } th { font-weight: 600 }
td.number { text-align: right; font-variant-numeric: tabular-nums }
.broken, .slow { color: #a11 } pre { font-size: 13px; overflow-x: auto }
"""


def svg_of(panels: Sequence[Panel]) -> str:
    """Returns a picture as an element of HTML, alike for alike panels."""
    with matplotlib().rc_context({"svg.fonttype": "none", "svg.hashsalt": "halocline"}):
        text = io.StringIO()
        figure_of(panels).savefig(text, format="svg", metadata={"Date": None})
    picture = text.getvalue()
    return picture[picture.index("<svg") :]


def _text_of(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_text_of(one)}" for key, one in value.items())
    if isinstance(value, list):
        return ", ".join(_text_of(one) for one in value)
    return str(value)


def _cell(value: Any) -> str:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return f"<td{' class=number' if is_number else ''}>{html.escape(_text_of(value))}</td>"


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns records as a table."""
    head = "".join(f"<th>{html.escape(key.replace('_', ' '))}</th>" for key in rows[0])
    body = "".join("<tr>" + "".join(_cell(value) for value in row.values()) + "</tr>\n" for row in rows)
    return f'<div class="wide"><table><tr>{head}</tr>\n{body}</table></div>'


#: Values that are drawn, or too long for a line.
_LONG = ("norm_history", "traceEvents", "facts", "profile")


def _facts(report: Mapping[str, Any]) -> Iterator[str]:
    """Yields the numbers of a report: what is short in one table, then each list of records in one of its own."""
    short = {key: value for key, value in report.items() if key not in _LONG and not _is_records(value)}
    short = {key: value for key, value in short.items() if len(_text_of(value)) <= 300 and value not in (None, [], {})}
    rows = "".join(
        f"<tr><th>{html.escape(key.replace('_', ' '))}</th><td>{html.escape(_text_of(value))}</td></tr>\n"
        for key, value in short.items()
    )
    yield f"<details open><summary>Values</summary><table>{rows}</table></details>"
    for key, value in report.items():
        if key not in (*_LONG, "findings") and _is_records(value):
            summary = html.escape(key.replace("_", " ").capitalize())
            yield f"<details><summary>{summary}</summary>{_table(value)}</details>"


def _is_records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def _findings(report: Mapping[str, Any]) -> Iterator[str]:
    for finding in report.get("findings", []):
        severity, what, seen, do = (html.escape(finding[key]) for key in ("severity", "what", "seen", "do"))
        yield f'<h3 class="{severity}">{severity}: {what}</h3><p>{seen}</p>' + (f"<p>{do}</p>" if do else "")


def _section(source: Source) -> str:
    parts = [f"<h2>{html.escape(source.name)}</h2>"]
    report = source.report
    if report is not None:
        parts += _findings(report)
    parts.append('<div class="panels">')
    parts += [f"<figure>{svg_of([panel])}</figure>" for panel in source.panels]
    parts.append("</div>")
    if report is not None and kind_of(report) != "timeline":
        parts += _facts(report)
        raw = html.escape(json.dumps(report, indent=1))
        parts.append(f"<details><summary>All of it, as JSON</summary><pre>{raw}</pre></details>")
    return "\n".join(parts)


def save(sources: Sequence[Source], path: pathlib.Path) -> None:
    """Writes a page of all sources, a section for each."""
    title = html.escape("Halocline: " + ", ".join(source.name for source in sources))
    text = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        + "\n".join(_section(source) for source in sources)
        + "\n</body>\n</html>\n"
    )
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ResourceError(f"'{path}' cannot be written: {error}") from error
