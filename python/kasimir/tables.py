# SPDX-License-Identifier: Apache-2.0
"""Tables for notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence


def html_table(head: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """One ``<table>`` element; numbers stand on the right."""

    def cell(value: object) -> str:
        whole = isinstance(value, float) and abs(value) >= 1000
        form = ",.0f" if whole else ".4g" if isinstance(value, float) else "," if isinstance(value, int) else ""
        text = "" if value is None else format(value, form)
        style = "right" if form else "left"
        return f'<td style="text-align:{style}">{html.escape(text)}</td>'

    titles = "".join(f'<th style="text-align:left">{html.escape(title)}</th>' for title in head)
    body = "".join("<tr>" + "".join(map(cell, row)) + "</tr>" for row in rows)
    told = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return f"<table>{told}<thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"
