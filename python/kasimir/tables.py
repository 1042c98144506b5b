# SPDX-License-Identifier: Apache-2.0
"""Tables for notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence


def html_table(head: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """One ``<table>`` element; numbers stand on the right."""

    def cell(value: object) -> str:
        number = isinstance(value, (int, float))
        text = (
            f"{value:.4g}"
            if isinstance(value, float)
            else f"{value:,}" if number else "" if value is None else str(value)
        )
        style = "right" if number else "left"
        return f'<td style="text-align:{style}">{html.escape(text)}</td>'

    titles = "".join(f'<th style="text-align:left">{html.escape(title)}</th>' for title in head)
    body = "".join("<tr>" + "".join(map(cell, row)) + "</tr>" for row in rows)
    told = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return f"<table>{told}<thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"
