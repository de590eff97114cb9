"""Small pictures as SVG, without a library for plots: bars and lines, for notebooks and documents."""

from __future__ import annotations

import math
from html import escape
from typing import List, Mapping, Sequence, Tuple

COLOURS = ["#2f6f9f", "#c7622b", "#3f8f5f", "#8a5aa8", "#a88a1f", "#5c6670"]
INK, PALE = "#24292f", "#d0d7de"
STYLE = "font-family:system-ui,sans-serif;font-size:12px"


class Picture(str):
    """An SVG document; a notebook shows it."""

    def _repr_svg_(self) -> str:
        return str(self)


def bars(values: Mapping[str, float], title: str, unit: str = "") -> Picture:
    """A bar for each name, from the top, with its value beside it."""
    width, left, row = 640, 150, 24
    most = max(list(values.values()) + [1e-12])
    parts = [_text(12, 20, title, weight="bold")]
    for at, (name, value) in enumerate(values.items()):
        y = 36 + at * row
        length = max(1.0, (width - left - 90) * value / most)
        parts.append(_text(left - 8, y + 14, name, anchor="end"))
        parts.append(f'<rect x="{left}" y="{y + 2}" width="{length:.1f}" height="{row - 8}" rx="2" fill="{COLOURS[0]}"/>')
        parts.append(_text(left + length + 6, y + 14, f"{_number(value)} {unit}".strip()))
    return _svg(width, 44 + len(values) * row, title, parts)


def lines(series: Mapping[str, Sequence[Tuple[float, float]]], title: str, x: str, y: str) -> Picture:
    """A line for each name, through its points; both axes begin at nothing."""
    width, height, left, right, top, bottom = 640, 340, 56, 150, 36, 44
    points = [point for row in series.values() for point in row]
    x_ticks, y_ticks = _ticks(max(point[0] for point in points)), _ticks(max(point[1] for point in points))

    def place(point: Tuple[float, float]) -> Tuple[float, float]:
        across, up = point[0] / x_ticks[-1], point[1] / y_ticks[-1]
        return left + across * (width - left - right), height - bottom - up * (height - top - bottom)

    parts = [_text(12, 20, title, weight="bold")]
    for tick in y_ticks:
        at = place((0, tick))[1]
        parts.append(f'<line x1="{left}" x2="{width - right}" y1="{at:.1f}" y2="{at:.1f}" stroke="{PALE}"/>')
        parts.append(_text(left - 6, at + 4, _number(tick), anchor="end"))
    for tick in x_ticks:
        parts.append(_text(place((tick, 0))[0], height - bottom + 18, _number(tick), anchor="middle"))
    parts.append(_text((left + width - right) / 2, height - 8, x, anchor="middle"))
    parts.append(f'<g transform="translate(14 {(top + height - bottom) / 2}) rotate(-90)">{_text(0, 0, y, anchor="middle")}</g>')
    # Names stand at the ends of their lines, and keep out of each other's way.
    ends = sorted((place(row[-1])[1], name) for name, row in series.items())
    heights: List[float] = []
    for end, _ in ends:
        heights.append(max(end, heights[-1] + 14) if heights else end)
    spots = {name: spot for (_, name), spot in zip(ends, heights)}
    for number, (name, row) in enumerate(series.items()):
        colour = COLOURS[number % len(COLOURS)]
        path = " ".join(f"{across:.1f},{up:.1f}" for across, up in map(place, row))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(_text(width - right + 8, spots[name] + 4, name, colour=colour))
    return _svg(width, height, title, parts)


def _ticks(most: float) -> List[float]:
    """Round numbers from 0 to beyond the largest value."""
    step = 10.0 ** math.floor(math.log10(max(most, 1e-12) / 4))
    step = next(step * factor for factor in (1, 2, 2.5, 5, 10, 20) if most / (step * factor) <= 5)
    return [step * at for at in range(math.ceil(most / step - 1e-9) + 1)]


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _text(x: float, y: float, text: str, anchor: str = "start", weight: str = "normal", colour: str = INK) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}" fill="{colour}">{escape(text)}</text>'


def _svg(width: int, height: int, title: str, parts: Sequence[str]) -> Picture:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" style="{STYLE}" role="img" aria-label="{escape(title)}">'
    return Picture("\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>"]) + "\n")
