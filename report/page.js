const number = text => { const value = Number.parseFloat(text); return Number.isNaN(value) ? null : value; };
for (const button of document.querySelectorAll("th button")) button.addEventListener("click", () => {
  const head = button.parentElement, row = head.parentElement, body = row.closest("table").tBodies[0];
  const at = [...row.children].indexOf(head), down = head.getAttribute("aria-sort") !== "descending";
  for (const other of row.children) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const keyOf = line => { const cell = line.children[at]; return cell.dataset.key ?? cell.textContent.trim(); };
  const lines = [...body.rows], numeric = lines.some(line => number(keyOf(line)) !== null);
  lines.sort((a, b) => {
    const [x, y] = [keyOf(a), keyOf(b)];
    if (!numeric) return down ? x.localeCompare(y) : y.localeCompare(x);
    const [u, v] = [number(x), number(y)];
    if (u === null || v === null) return (u === null) - (v === null);
    return down ? v - u : u - v;
  });
  body.append(...lines);
});
for (const button of document.querySelectorAll(".command button")) button.addEventListener("click", () => {
  const text = button.previousElementSibling, range = document.createRange();
  range.selectNodeContents(text);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
  button.textContent = document.execCommand("copy") ? "copied" : "selected";  // also from a page opened as a file
});

// A table of texts: filtered, sorted, paged; a row opens to what is known about its text.
const PAGE = 25;
const create = (name, content = "", className = "") => {
  const made = document.createElement(name);
  made.className = className;
  made.append(...[content].flat());
  return made;
};
const show = value => value === null || value === undefined ? "–" : value.toFixed(3);
const openText = (row, columns) => {
  const parts = [];
  const add = (title, ...content) => parts.push(create("h4", title), ...content);
  for (const name of ["context", "prefix", "label"]) if (row[name]) add(name, create("blockquote", row[name], "soft"));
  add("text", create("blockquote", row.text));
  if (row.references) add("references", ...row.references.map(text => create("blockquote", text, "soft")));
  for (const [metric, reason] of Object.entries(row.reasons)) add(`${metric} is missing`, create("p", reason));
  for (const [metric, lines] of Object.entries(row.explained)) add(`explanation of ${metric}`, ...lines.map(([label, pieces]) => {
    const line = create("div", label ? create("small", label) : "", "explained");
    for (const [text, shade, value] of pieces) {
      const piece = create(shade === null ? "span" : "mark", text, shade === null ? "" : shade > 0 ? "for" : "against");
      if (shade !== null) {
        piece.style.setProperty("--shade", Math.abs(shade).toFixed(2));
        piece.title = show(value);
      }
      line.append(piece, " ");
    }
    return line;
  }));
  const opened = create("tr", create("td", parts), "opened");
  opened.firstChild.colSpan = columns;
  return opened;
};
for (const section of document.querySelectorAll(".texts")) {
  const data = JSON.parse(section.querySelector("script").textContent);
  const columns = [
    ["id", row => row.id], ...(data.hasSystems ? [["system", row => row.system ?? ""]] : []), ["text", row => row.text],
    ...data.aspects.map((name, i) => [`rating: ${name}`, row => row.ratings[i]]),
    ...data.metrics.map((name, i) => [name, row => row.scores[i]]),
  ];
  let sorted = -1, falling = true, first = 0, rows = data.rows;
  const search = create("input"), before = create("button", "previous"), after = create("button", "next"), where = create("span", "", "soft");
  search.type = "search";
  search.placeholder = "filter by a word of the text, an id or a system";
  search.setAttribute("aria-label", search.placeholder);
  const missing = create("input");
  missing.type = "checkbox";
  const lacks = data.rows.some(row => row.scores.includes(null)) ? [create("label", [missing, " only missing scores"])] : [];
  const furthest = create("select", [create("option", "sort by a column"), ...data.metrics.map(name => create("option", `furthest from its rating: ${name}`))]);
  const body = create("tbody"), heads = columns.map(([name], i) => {
    const head = create("th", create("button", name), name === "text" || i === 0 ? "text" : "");
    head.scope = "col";
    head.firstChild.addEventListener("click", () => {
      furthest.selectedIndex = 0;
      gaps = new Map();
      falling = sorted === i ? !falling : true;
      sorted = i;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", falling ? "descending" : "ascending");
      draw(0);
    });
    return head;
  });
  const measureGaps = at => {  // by row, how far the rank of its score is from that of its rating, as shares
    const named = data.aspects.indexOf(data.metrics[at].split("/").at(-1)), aspect = Math.max(named, 0);
    const known = data.rows.filter(row => row.scores[at] !== null && row.ratings[aspect] !== null);
    const rank = (row, take) => {
      const below = known.filter(other => take(other) < take(row)).length, equal = known.filter(other => take(other) === take(row)).length;
      return (below + (equal - 1) / 2) / Math.max(known.length - 1, 1);
    };
    return new Map(known.map(row => [row, Math.abs(rank(row, each => each.scores[at]) - rank(row, each => each.ratings[aspect]))]));
  };
  let gaps = new Map();
  const draw = start => {
    const wanted = search.value.toLowerCase();
    rows = data.rows.filter(row => (!missing.checked || row.scores.includes(null))
      && `${row.id} ${row.system ?? ""} ${row.text}`.toLowerCase().includes(wanted));
    if (gaps.size) rows.sort((a, b) => (gaps.get(b) ?? -1) - (gaps.get(a) ?? -1));
    else if (sorted >= 0) rows.sort((a, b) => {
      const [x, y] = [columns[sorted][1](a), columns[sorted][1](b)];
      if (x === null || y === null) return (x === null) - (y === null);
      return (falling ? -1 : 1) * (typeof x === "string" ? -x.localeCompare(y) : x - y);
    });
    first = start;
    body.replaceChildren(...rows.slice(first, first + PAGE).map(row => {
      const line = create("tr", columns.map(([name, take]) => {
        const value = take(row);
        return name === "text" ? create("td", create("div", value), "body") : create("td", typeof value === "string" ? value : show(value), typeof value === "string" ? "text" : "");
      }));
      line.tabIndex = 0;
      const toggle = () => line.nextElementSibling?.className === "opened" ? line.nextElementSibling.remove() : line.after(openText(row, columns.length));
      line.addEventListener("click", toggle);
      line.addEventListener("keydown", event => { if (event.key === "Enter") toggle(); });
      return line;
    }));
    where.textContent = rows.length ? `${first + 1} to ${Math.min(first + PAGE, rows.length)} of ${rows.length}` : "no such text";
    before.disabled = first === 0;
    after.disabled = first + PAGE >= rows.length;
  };
  before.addEventListener("click", () => draw(first - PAGE));
  after.addEventListener("click", () => draw(first + PAGE));
  search.addEventListener("input", () => draw(0));
  missing.addEventListener("change", () => draw(0));
  furthest.addEventListener("change", () => {
    gaps = furthest.selectedIndex ? measureGaps(furthest.selectedIndex - 1) : new Map();
    draw(0);
  });
  const table = create("table", [create("thead", create("tr", heads)), body]);
  section.append(create("div", [search, ...lacks, ...(data.aspects.length ? [furthest] : []), before, after, where], "pager"), create("div", table, "scroll"));
  draw(0);
}
