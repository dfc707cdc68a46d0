"""Charts of a released table as SVG with classes, drawn for three widths."""

from discreet.page.charts.choose import Chart, Data, charts, data, drawn, standalone

__all__ = ["Chart", "Data", "charts", "data", "drawn", "standalone"]
