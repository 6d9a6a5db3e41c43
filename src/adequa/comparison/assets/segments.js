// The segment browser: search, sort, filter, and the words that differ.

const PAGE = 20; // segments shown at once
const browsing = { page: 0, rows: [], opened: new Set(), haystacks: null };

const textsOf = (row) => {
  const [first, ...rest] = details.texts[row];
  const [source, references, said] = details.hasSource
    ? [first, rest[0], rest.slice(1)]
    : [null, first, rest];
  return { source, references, said };
};

function haystack(row) {
  browsing.haystacks ||= new Array(details.texts.length);
  browsing.haystacks[row] ||= details.texts[row].flat().join("\n").toLowerCase();
  return browsing.haystacks[row];
}

const deviation = (gains) => Math.sqrt(mean(gains.map((gain) => gain * gain))) || 1;

// For each segment, how strongly two metrics disagree on the chosen systems; zero where they agree.
const disagreement = () => once(`apart ${chosen.a} ${chosen.b}`, disagreementNow);

function disagreementNow() {
  const all = data.metrics
    .map((_, place) => gainsOf(place, chosen.a, chosen.b))
    .filter((gains) => gains !== null);
  const spread = all.map(deviation);
  return details.texts.map((_, row) => {
    const each = all.map((gains, place) => gains[row] / spread[place]);
    return Math.max(0, Math.min(Math.max(...each), -Math.min(...each)));
  });
}

const FILTERS = {
  all: ["all segments", () => true],
  b: [
    () => `where ${data.systems[chosen.b]} is better`,
    (row, of) => of.gains && of.gains[row] > 0,
  ],
  a: [
    () => `where ${data.systems[chosen.a]} is better`,
    (row, of) => of.gains && of.gains[row] < 0,
  ],
  tie: ["with equal scores", (row, of) => of.gains && of.gains[row] === 0],
  apart: ["where metrics disagree", (row, of) => of.apart[row] > 0],
  differ: [
    "with different outputs",
    (row) => textsOf(row).said[chosen.a] !== textsOf(row).said[chosen.b],
  ],
  empty: ["with an empty output", (row) => textsOf(row).said.some((text) => !text.trim())],
};

const SORTS = {
  size: ["by size of the difference", (of) => of.gains && of.gains.map((gain) => -Math.abs(gain))],
  b: [
    () => `best for ${data.systems[chosen.b]} first`,
    (of) => of.gains && of.gains.map((gain) => -gain),
  ],
  a: [() => `best for ${data.systems[chosen.a]} first`, (of) => of.gains],
  apart: ["metrics disagree most", (of) => of.apart.map((size) => -size)],
  low: [
    () => `worst of ${data.systems[chosen.b]} first`,
    (of) => of.scores && of.scores[chosen.b].map((score) => signOf(metricNow()) * score),
  ],
  order: ["as in the test set", () => null],
};

const MARKS = {
  reference: "not in the reference",
  other: "not in the other output",
  none: "nothing",
};
const wording = (words) => (typeof words === "function" ? words() : words);

function fill(id, table) {
  const select = byId(id);
  const now = select.value;
  replace(
    select,
    Object.entries(table).map(([name, entry]) =>
      option(name, wording(Array.isArray(entry) ? entry[0] : entry), name === now),
    ),
  );
}

function fillBuckets() {
  const groups = details.dimensions.map((dimension, number) =>
    element(
      "optgroup",
      { label: dimension.title },
      dimension.buckets.map((bucket, place) =>
        option(`${number}-${place}`, `${bucket.label} (${whole(bucket.count)})`),
      ),
    ),
  );
  replace(byId("bucket"), option("", "all"), groups);
}

function prepareBrowser() {
  for (const id of ["sort", "filter", "bucket", "marks"])
    byId(id).addEventListener("change", () => browse(true));
  let waiting = 0;
  byId("query").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => browse(true), 120);
  });
  byId("browser").addEventListener("submit", (event) => {
    event.preventDefault();
    browse(true);
  });
}

function matching() {
  const of = {
    gains: gainsOf(chosen.metric, chosen.a, chosen.b),
    scores: details.scores[chosen.metric],
    apart: disagreement(),
  };
  const query = byId("query").value.trim().toLowerCase();
  const [, keep] = FILTERS[byId("filter").value];
  const [number, place] = byId("bucket").value.split("-").map(Number);
  const inPart = byId("bucket").value
    ? (row) => details.buckets[number][row] === place
    : () => true;
  const rows = details.texts
    .map((_, row) => row)
    .filter((row) => keep(row, of) && inPart(row) && (!query || haystack(row).includes(query)));
  const keys = SORTS[byId("sort").value][1](of);
  if (keys) rows.sort((x, y) => keys[x] - keys[y] || x - y);
  return rows;
}

function browse(fromStart) {
  if (!details) return;
  fill("sort", SORTS);
  fill("filter", FILTERS);
  fill("marks", MARKS);
  browsing.rows = matching();
  if (fromStart) browsing.page = 0;
  showPage();
}

function showPage() {
  const { rows } = browsing;
  const pages = Math.max(1, Math.ceil(rows.length / PAGE));
  browsing.page = Math.min(browsing.page, pages - 1);
  const start = browsing.page * PAGE;
  const shown = rows.slice(start, start + PAGE);
  const range = shown.length ? `${whole(start + 1)} to ${whole(start + shown.length)} of ` : "";
  const all = rows.length < data.segments ? `, out of ${whole(data.segments)}` : "";
  byId("count").textContent = `${range}${whole(rows.length)} segments${all}`;
  replace(
    byId("list"),
    shown.map((row) => element("li", {}, segmentCard(row))),
  );
  const turn = (page) => () => {
    browsing.page = page;
    showPage();
    byId("segments").scrollIntoView();
    byId("segments").focus({ preventScroll: true });
  };
  const button = (text, page) =>
    element(
      "button",
      {
        type: "button",
        onclick: turn(page),
        disabled: page < 0 || page >= pages || page === browsing.page,
      },
      text,
    );
  replace(
    byId("pages"),
    pages < 2
      ? []
      : [
          button("First", 0),
          button("Previous", browsing.page - 1),
          element("span", {}, `Page ${whole(browsing.page + 1)} of ${whole(pages)}`),
          button("Next", browsing.page + 1),
          button("Last", pages - 1),
        ],
  );
}

function scoreOf(system, row) {
  const scores = details.scores[chosen.metric];
  return scores ? fixed(scores[system][row], metricNow().decimals) : "";
}

// What a text is held against, by the choice of marks; null for nothing.
function counterpart(texts, system) {
  const mode = byId("marks").value;
  if (mode === "none") return null;
  if (mode === "reference") return nearestReference(texts, texts.said[system]);
  return texts.said[system === chosen.b ? chosen.a : chosen.b];
}

function nearestReference(texts, text) {
  if (texts.references.length === 1) return texts.references[0];
  const common = (reference) => alike(piecesOf(text), piecesOf(reference)).filter(Boolean).length;
  return texts.references.reduce((best, each) => (common(each) > common(best) ? each : best));
}

function outputLine(texts, system, row, query) {
  const kind = system === chosen.b ? "b-ink" : system === chosen.a ? "a-ink" : null;
  return [
    element(
      "dt",
      { class: kind },
      data.systems[system],
      element("small", {}, scoreOf(system, row)),
    ),
    textCell(texts.said[system], counterpart(texts, system), query),
  ];
}

function referenceLines(texts, query) {
  return texts.references
    .map((reference, place) => [
      element("dt", {}, texts.references.length > 1 ? `Reference ${place + 1}` : "Reference"),
      textCell(reference, null, query),
    ])
    .flat();
}

function segmentCard(row) {
  const texts = textsOf(row);
  const query = byId("query").value.trim().toLowerCase();
  const gains = gainsOf(chosen.metric, chosen.a, chosen.b);
  const gain = gains && gains[row];
  const kind = gain > 0 ? "gain up" : gain < 0 ? "gain down" : "gain";
  const difference = gains && signOf(metricNow()) * gain;
  const chip = gains
    ? element(
        "span",
        {
          class: kind,
          title: `${metricNow().name}: ${data.systems[chosen.b]} less ${data.systems[chosen.a]}`,
        },
        signed(difference, metricNow().decimals),
      )
    : null;
  const tags = details.dimensions.map((dimension, number) =>
    ["document"].includes(dimension.name)
      ? element("span", { class: "tag" }, dimension.buckets[details.buckets[number][row]].label)
      : null,
  );
  const body = element("div", { class: "detail", id: `detail-${row}`, hidden: true });
  const more = element(
    "button",
    {
      type: "button",
      class: "more",
      "aria-expanded": "false",
      "aria-controls": `detail-${row}`,
      onclick: () => toggle(row, card),
    },
    "All systems and scores",
  );
  const card = element(
    "article",
    { class: "segment", id: `segment-${row + 1}`, "aria-labelledby": `heading-${row}` },
    element(
      "header",
      {},
      element(
        "h3",
        { id: `heading-${row}` },
        element("a", { href: `#segment-${row + 1}` }, `Segment ${whole(row + 1)}`),
      ),
      chip,
      tags,
    ),
    element(
      "dl",
      { class: "texts" },
      referenceLines(texts, query),
      outputLine(texts, chosen.a, row, query),
      outputLine(texts, chosen.b, row, query),
    ),
    more,
    body,
  );
  if (browsing.opened.has(row)) unfold(row, card);
  return card;
}

function toggle(row, card) {
  if (browsing.opened.delete(row)) {
    card.querySelector(".detail").hidden = true;
    card.querySelector(".more").setAttribute("aria-expanded", "false");
    card.classList.remove("opened");
  } else unfold(row, card);
}

function unfold(row, card) {
  browsing.opened.add(row);
  const body = card.querySelector(".detail");
  replace(body, detail(row));
  body.hidden = false;
  card.querySelector(".more").setAttribute("aria-expanded", "true");
  card.classList.add("opened");
}

// Everything there is on a segment: its source, the other systems, all metrics, its parts.
function detail(row) {
  const texts = textsOf(row);
  const query = byId("query").value.trim().toLowerCase();
  const others = data.systems
    .map((_, system) => system)
    .filter((system) => system !== chosen.a && system !== chosen.b);
  const lines = [
    texts.source === null ? [] : [element("dt", {}, "Source"), textCell(texts.source, null, query)],
    others.map((system) => outputLine(texts, system, row, query)).flat(),
  ].flat();
  const known = data.metrics.map((_, place) => place).filter((place) => details.scores[place]);
  const rows = data.systems.map((name, system) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, name),
      known.map((place) =>
        element(
          "td",
          { class: "number" },
          fixed(details.scores[place][system][row], data.metrics[place].decimals),
        ),
      ),
    ),
  );
  const table = element(
    "table",
    {},
    element("caption", {}, `Scores of segment ${row + 1}`),
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        element("td", {}),
        known.map((place) =>
          element("th", { scope: "col", class: "number" }, data.metrics[place].name),
        ),
      ),
    ),
    element("tbody", {}, rows),
  );
  const parts = details.dimensions.map(
    (dimension, number) =>
      `${dimension.title.toLowerCase()}: ${dimension.buckets[details.buckets[number][row]].label}`,
  );
  return [
    lines.length ? element("dl", { class: "texts" }, lines) : null,
    element(
      "div",
      { class: "sheet", tabindex: "0", role: "region", "aria-label": "Scores" },
      table,
    ),
    element("p", { class: "quiet" }, parts.join("; ")),
  ];
}

// Go to a segment wherever it is, letting go of filters that hide it.
function openSegment(row) {
  if (!details || !(row >= 0 && row < details.texts.length)) return;
  if (!browsing.rows.includes(row)) {
    byId("query").value = "";
    byId("filter").value = "all";
    byId("bucket").value = "";
    browse(true);
  }
  browsing.page = Math.floor(browsing.rows.indexOf(row) / PAGE);
  browsing.opened.add(row);
  showPage();
  const card = byId(`segment-${row + 1}`);
  card.scrollIntoView({ block: "center" });
  card.querySelector(".more").focus({ preventScroll: true });
}
