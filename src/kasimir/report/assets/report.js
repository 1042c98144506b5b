// The page is complete without this: it sorts tables, copies texts and shows a marker's title at once.
(() => {
  "use strict";

  const keyOf = (row, column) => {
    const cell = row.cells[column];
    if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
    return cell.classList.contains("number") ? null : cell.textContent.trim();
  };

  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));

  const sortBy = (table, column) => {
    const heads = [...table.tHead.rows[0].cells];
    const descending = heads[column].getAttribute("aria-sort") === "ascending";
    heads.forEach((head) => head.removeAttribute("aria-sort"));
    heads[column].setAttribute("aria-sort", descending ? "descending" : "ascending");
    const rows = [...table.tBodies[0].rows].map((row) => [keyOf(row, column), row]);
    const missing = ([key]) => key === null || key === "";
    // What is not known stays at the end in both directions.
    rows.sort((a, b) => missing(a) - missing(b) || (missing(a) ? 0 : compare(a[0], b[0]) * (descending ? -1 : 1)));
    rows.forEach(([, row]) => table.tBodies[0].append(row));
  };

  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.textContent = head.textContent;
      button.addEventListener("click", () => sortBy(table, column));
      head.replaceChildren(button);
    });
  }

  for (const text of document.querySelectorAll("pre.copy")) {
    const content = text.textContent;
    const button = document.createElement("button");
    button.textContent = "copy";
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(content);
        button.textContent = "copied";
      } catch {
        button.textContent = "select and copy by hand";
      }
    });
    text.append(button);
  }

  for (const figure of document.querySelectorAll("figure")) {
    const tip = document.createElement("p");
    tip.className = "tip";
    tip.hidden = true;
    tip.setAttribute("aria-live", "polite");
    figure.append(tip);
    const show = (event) => {
      const point = event.target.closest("[data-detail]") || event.target.querySelector("[data-detail]");
      tip.hidden = !point;
      if (!point) return;
      tip.textContent = point.dataset.detail;
      const around = figure.getBoundingClientRect();
      const at = point.getBoundingClientRect();
      tip.style.left = `${Math.max(0, Math.min(at.left - around.left, around.width - tip.offsetWidth))}px`;
      tip.style.top = `${at.bottom - around.top + 8}px`;
    };
    figure.querySelectorAll("[data-detail] > title").forEach((title) => title.remove());
    figure.addEventListener("pointerover", show);
    figure.addEventListener("pointerleave", () => { tip.hidden = true; });
    figure.addEventListener("focusin", show);
  }
})();
