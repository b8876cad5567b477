"""The report as a table: medians, and ours as a multiple of each floor."""

from statistics import median, quantiles

from tests.benchmarks.measures import Measure
from tests.benchmarks.run import Report, measures_of
from tests.benchmarks.servers import OURS


def table(report: Report) -> str:
    kinds = list(report.samples)
    floors = [kind for kind in kinds if kind is not OURS]
    ours = report.samples.get(OURS)
    head = ["", *(kind.name for kind in kinds), *(f"ours / {kind.name}" for kind in floors)]
    rows = [head if ours else head[: 1 + len(kinds)]]
    for measure in measures_of(report):
        for clock in ("wall", "cpu"):
            values = {kind: getattr(report.samples[kind], clock).get(measure) for kind in kinds}
            if not any(values.values()):
                continue
            row = [_title(measure, clock)]
            row += [_shown(measure, values[kind]) for kind in kinds]
            if ours:
                row += [_ratio(values[OURS], values[kind]) for kind in floors]
            rows.append(row)
            if measure.and_worst:
                worst = {kind: [_p99(each)] if each else None for kind, each in values.items()}
                row = [f"{_title(measure, clock)}, p99"]
                row += [_shown(measure, worst[kind]) for kind in kinds]
                if ours:
                    row += [_ratio(worst[OURS], worst[kind]) for kind in floors]
                rows.append(row)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    lines.insert(1, "-" * len(lines[0]))
    notes = {measure.title: measure.note for measure in measures_of(report)}
    return "\n".join([*lines, "", *(f"{title}: {note}." for title, note in notes.items())])


def _title(measure: Measure, clock: str) -> str:
    return ", ".join(filter(None, [measure.title, measure.size, "CPU" if clock == "cpu" else ""]))


def _p99(values: list[float]) -> float:
    return quantiles(values, n=100)[98] if len(values) > 1 else values[0]


def _shown(measure: Measure, values: list[float] | None) -> str:
    if not values:
        return "-"
    value = median(values)
    if measure.in_bytes:
        return f"{value / 1e6:.0f} MB"
    if value >= 1:
        return f"{value:.2f} s"
    return f"{value * 1e3:.2f} ms" if value >= 1e-3 else f"{value * 1e6:.1f} µs"


def _ratio(ours: list[float] | None, floor: list[float] | None) -> str:
    if not ours or not floor or not median(floor):
        return "-"
    ratio = median(ours) / median(floor)
    return f"{ratio:.2f}" if ratio >= 0.01 else f"1/{1 / ratio:,.0f}"
