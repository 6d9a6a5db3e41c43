// The segment browser: search, sort, filter, and the words that differ.

const PAGE = 20; // segments shown at once
const browserState = { page: 0, rows: [], opened: new Set(), searchTexts: null };

const segmentTexts = (row) => {
  const [first, ...rest] = details.texts[row];
  const [source, references, hypotheses] = details.has_source
    ? [first, rest[0], rest.slice(1)]
    : [null, first, rest];
  return { source, references, hypotheses };
};

function searchText(row) {
  browserState.searchTexts ||= new Array(details.texts.length);
  browserState.searchTexts[row] ||= details.texts[row].flat().join("\n").toLowerCase();
  return browserState.searchTexts[row];
}

const deviation = (gains) => Math.sqrt(mean(gains.map((gain) => gain * gain))) || 1;

// For each segment, how strongly two metrics disagree on the chosen systems; zero where they agree.
const disagreement = () =>
  memoize(`disagreement ${selection.a} ${selection.b}`, computeDisagreement);

function computeDisagreement() {
  const all = data.metrics
    .map((_, index) => segmentGains(index, selection.a, selection.b))
    .filter((gains) => gains !== null);
  const scales = all.map(deviation);
  return details.texts.map((_, row) => {
    const each = all.map((gains, index) => gains[row] / scales[index]);
    return Math.max(0, Math.min(Math.max(...each), -Math.min(...each)));
  });
}

const FILTERS = {
  all: ["all segments", () => true],
  b: [
    () => `where ${data.systems[selection.b]} is better`,
    (row, of) => of.gains && of.gains[row] > 0,
  ],
  a: [
    () => `where ${data.systems[selection.a]} is better`,
    (row, of) => of.gains && of.gains[row] < 0,
  ],
  tie: ["with equal scores", (row, of) => of.gains && of.gains[row] === 0],
  apart: ["where metrics disagree", (row, of) => of.disagreement[row] > 0],
  differ: [
    "with different outputs",
    (row) => {
      const { hypotheses } = segmentTexts(row);
      return hypotheses[selection.a] !== hypotheses[selection.b];
    },
  ],
  empty: [
    "with an empty output",
    (row) => segmentTexts(row).hypotheses.some((text) => !text.trim()),
  ],
};

// Filters of explained segments, by the severity that a piece of a selected system has at least.
const SEVERITY_FILTERS = {
  critical: ["with a critical piece", "critical"],
  major: ["with a major piece or worse", "major"],
};

const SORTS = {
  size: ["by size of the difference", (of) => of.gains && of.gains.map((gain) => -Math.abs(gain))],
  b: [
    () => `best for ${data.systems[selection.b]} first`,
    (of) => of.gains && of.gains.map((gain) => -gain),
  ],
  a: [() => `best for ${data.systems[selection.a]} first`, (of) => of.gains],
  apart: ["metrics disagree most", (of) => of.disagreement.map((size) => -size)],
  low: [
    () => `worst of ${data.systems[selection.b]} first`,
    (of) => of.scores && of.scores[selection.b].map((score) => signOf(selectedMetric()) * score),
  ],
  order: ["as in the test set", () => null],
};

// Orders of explained segments: what the larger comes first by.
const EXPLAINED_SORTS = {
  costliest: [
    "by the costliest piece",
    (row) => Math.max(...selectedPieces(row).map(largestCost)),
  ],
  penalty: [
    () => `largest penalty of ${data.systems[selection.b]}`,
    (row) => penaltyOf(explanationOf(row).segments[selection.b].pieces),
  ],
};

// The pieces of the two selected systems in an explained segment.
const selectedPieces = (row) =>
  [selection.a, selection.b].map((system) => explanationOf(row).segments[system].pieces);

const MARKS = {
  reference: "that the reference does not have",
  other: "that the other output does not have",
  none: "none",
};
const resolveText = (words) => (typeof words === "function" ? words() : words);

function fillSelect(id, table) {
  const select = byId(id);
  const now = select.value;
  replace(
    select,
    Object.entries(table).map(([name, entry]) =>
      option(name, resolveText(Array.isArray(entry) ? entry[0] : entry), name === now),
    ),
  );
}

function fillBuckets() {
  const groups = details.dimensions.map((dimension, number) =>
    element(
      "optgroup",
      { label: dimension.title },
      dimension.buckets.map((bucket, index) =>
        option(`${number}-${index}`, `${bucket.name} (${formatCount(bucket.segments)})`),
      ),
    ),
  );
  replace(byId("bucket"), option("", "all"), groups);
  byId("bucket").parentElement.hidden = !groups.length;
}

// The choices of the browser, which are more where segments are explained.
function fillBrowser() {
  const isExplained = Boolean(details.explained);
  fillSelect("sort", isExplained ? { ...SORTS, ...EXPLAINED_SORTS } : SORTS);
  fillSelect("filter", isExplained ? { ...FILTERS, ...SEVERITY_FILTERS } : FILTERS);
  const marks = { explained: "by what each difference costs", ...MARKS };
  const { reference, ...withoutReference } = MARKS;
  const hasCosts = isExplained || canExplain();
  fillSelect("marks", data.has_references ? (hasCosts ? marks : MARKS) : withoutReference);
  const kinds = isExplained ? details.explained.kinds : [];
  fillSelect("kind", { "": "any", ...Object.fromEntries(kinds.map((kind) => [kind, kind])) });
  byId("kind-choice").hidden = !isExplained;
}

// What the choices ask of pieces; null where they ask nothing.
function pieceFilter() {
  const severity = SEVERITY_FILTERS[byId("filter").value]?.[1];
  const kind = byId("kind").value;
  if (!severity && !kind) return null;
  const least = SEVERITIES.indexOf(severity ?? "minor");
  return (piece) =>
    SEVERITIES.indexOf(piece.severity) <= least && (!kind || piece.kind === kind);
}

// Whether the choices are of explained segments alone.
const needsExplanations = () =>
  byId("sort").value in EXPLAINED_SORTS || pieceFilter() !== null;

function prepareBrowser() {
  for (const id of ["sort", "filter", "kind", "bucket", "marks"])
    byId(id).addEventListener("change", () => updateBrowser(true));
  let waiting = 0;
  byId("query").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => updateBrowser(true), 120);
  });
  byId("browser").addEventListener("submit", (event) => {
    event.preventDefault();
    updateBrowser(true);
  });
}

function matchingRows() {
  const of = {
    gains: segmentGains(selection.metric, selection.a, selection.b),
    scores: details.scores[selection.metric],
    disagreement: disagreement(),
  };
  const query = byId("query").value.trim().toLowerCase();
  const [, keep] = FILTERS[byId("filter").value] ?? FILTERS.all;
  const fits = pieceFilter();
  const matchesExplanation = needsExplanations()
    ? (row) =>
        explainedPlaces().has(row) && (!fits || selectedPieces(row).some((each) => each.some(fits)))
    : () => true;
  const [number, index] = byId("bucket").value.split("-").map(Number);
  const inPart = byId("bucket").value
    ? (row) => details.bucket_of[number][row] === index
    : () => true;
  const rows = details.texts
    .map((_, row) => row)
    .filter(matchesExplanation)
    .filter((row) => keep(row, of) && inPart(row) && (!query || searchText(row).includes(query)));
  const sort = byId("sort").value;
  if (sort in EXPLAINED_SORTS) {
    const sizes = new Map(rows.map((row) => [row, EXPLAINED_SORTS[sort][1](row)]));
    return rows.sort((x, y) => sizes.get(y) - sizes.get(x) || x - y);
  }
  const keys = SORTS[sort][1](of);
  if (keys) rows.sort((x, y) => keys[x] - keys[y] || x - y);
  return rows;
}

function updateBrowser(fromStart) {
  if (!details) return;
  fillBrowser();
  browserState.rows = matchingRows();
  if (fromStart) browserState.page = 0;
  showPage();
}

function showPage() {
  const { rows } = browserState;
  const pages = Math.max(1, Math.ceil(rows.length / PAGE));
  browserState.page = Math.min(browserState.page, pages - 1);
  const start = browserState.page * PAGE;
  const visible = rows.slice(start, start + PAGE);
  const end = formatCount(start + visible.length);
  const range = visible.length ? `${formatCount(start + 1)} to ${end} of ` : "";
  const all = rows.length < data.segment_count ? `, out of ${formatCount(data.segment_count)}` : "";
  const { size } = explainedPlaces();
  const sample =
    needsExplanations() && size < data.segment_count
      ? `; only the ${formatCount(size)} explained ones are searched`
      : "";
  byId("count").textContent = `${range}${formatCount(rows.length)} segments${all}${sample}`;
  byId("legend").hidden = byId("marks").value !== "explained";
  replace(byId("legend"), severityLegend());
  showExport();
  replace(
    byId("list"),
    visible.map((row) => element("li", {}, segmentCard(row))),
  );
  const turn = (page) => () => {
    browserState.page = page;
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
        disabled: page < 0 || page >= pages || page === browserState.page,
      },
      text,
    );
  replace(
    byId("pages"),
    pages < 2
      ? []
      : [
          button("First", 0),
          button("Previous", browserState.page - 1),
          element(
            "span",
            {},
            `Page ${formatCount(browserState.page + 1)} of ${formatCount(pages)}`,
          ),
          button("Next", browserState.page + 1),
          button("Last", pages - 1),
        ],
  );
}

function scoreOf(system, row) {
  const scores = details.scores[selection.metric];
  return scores ? formatNumber(scores[system][row], selectedMetric().decimals) : "";
}

// The text that an output is compared with, by the choice of marks; null for none. Segments that
// are not explained are compared with the reference.
function textToCompare(texts, system) {
  const mode = byId("marks").value;
  if (mode === "none") return null;
  if (mode === "reference" || mode === "explained") return nearestReference(texts, texts.hypotheses[system]);
  return texts.hypotheses[system === selection.b ? selection.a : selection.b];
}

function nearestReference(texts, text) {
  if (texts.references.length === 1) return texts.references[0];
  const pieces = splitPieces(text);
  const common = (reference) =>
    commonPieces(pieces, splitPieces(reference)).filter(Boolean).length;
  return texts.references.reduce((best, each) => (common(each) > common(best) ? each : best));
}

function sourceLine(texts, query) {
  if (texts.source === null) return [];
  return [element("dt", {}, "Source"), textCell(texts.source, null, query)];
}

function outputCell(texts, system, row, query) {
  const explanation = byId("marks").value === "explained" ? explanationOf(row) : null;
  if (!explanation)
    return textCell(texts.hypotheses[system], textToCompare(texts, system), query);
  const { pieces } = explanation.segments[system];
  const decimals = explainedDecimals(explanation.metric);
  return markedOutput(texts.hypotheses[system], pieces, decimals, query);
}

function outputLine(texts, system, row, query) {
  return [
    element("dt", {}, systemName(system), element("small", {}, scoreOf(system, row))),
    outputCell(texts, system, row, query),
  ];
}

function referenceLines(texts, query) {
  return texts.references
    .map((reference, index) => [
      element("dt", {}, texts.references.length > 1 ? `Reference ${index + 1}` : "Reference"),
      textCell(reference, null, query),
    ])
    .flat();
}

function segmentCard(row) {
  const texts = segmentTexts(row);
  const query = byId("query").value.trim().toLowerCase();
  const gains = segmentGains(selection.metric, selection.a, selection.b);
  const gain = gains && gains[row];
  const kind = gain > 0 ? "gain up" : gain < 0 ? "gain down" : "gain";
  const difference = gains && signOf(selectedMetric()) * gain;
  const chip = gains
    ? element(
        "span",
        {
          class: kind,
          title:
            `${selectedMetric().name}: ` +
            `${data.systems[selection.b]} minus ${data.systems[selection.a]}`,
        },
        formatSigned(difference, selectedMetric().decimals),
      )
    : null;
  const tags = details.dimensions.map((dimension, number) =>
    dimension.by === "document"
      ? element("span", { class: "tag" }, dimension.buckets[details.bucket_of[number][row]].name)
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
        element("a", { href: `#segment-${row + 1}` }, `Segment ${formatCount(row + 1)}`),
      ),
      chip,
      tags,
    ),
    element(
      "dl",
      { class: "texts" },
      sourceLine(texts, query),
      referenceLines(texts, query),
      outputLine(texts, selection.a, row, query),
      outputLine(texts, selection.b, row, query),
    ),
    more,
    explainButton(row, () => redrawOpened(row, card)),
    body,
  );
  if (browserState.opened.has(row)) expand(row, card);
  return card;
}

// Draw a segment again, opened, after its explanation has come.
function redrawOpened(row, card) {
  browserState.opened.add(row);
  const shown = card.isConnected ? card : byId(card.id); // the list may have been drawn meanwhile
  if (!shown) return;
  const focused = document.activeElement;
  const drawn = segmentCard(row);
  shown.replaceWith(drawn);
  if (focused === document.body || !focused?.isConnected)
    drawn.querySelector(".more").focus({ preventScroll: true });
}

function toggle(row, card) {
  if (browserState.opened.delete(row)) {
    card.querySelector(".detail").hidden = true;
    card.querySelector(".more").setAttribute("aria-expanded", "false");
    card.classList.remove("opened");
  } else expand(row, card);
}

function expand(row, card) {
  browserState.opened.add(row);
  const body = card.querySelector(".detail");
  replace(body, detail(row));
  body.hidden = false;
  card.querySelector(".more").setAttribute("aria-expanded", "true");
  card.classList.add("opened");
}

// More of a segment: the other systems, all metrics, its subsets.
function detail(row) {
  const texts = segmentTexts(row);
  const query = byId("query").value.trim().toLowerCase();
  const others = data.systems
    .map((_, system) => system)
    .filter((system) => system !== selection.a && system !== selection.b);
  const lines = others.map((system) => outputLine(texts, system, row, query)).flat();
  const scored = data.metrics.map((_, index) => index).filter((index) => details.scores[index]);
  const rows = data.systems.map((_, system) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, systemName(system)),
      scored.map((index) =>
        element(
          "td",
          { class: "number" },
          formatNumber(details.scores[index][system][row], data.metrics[index].decimals),
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
        scored.map((index) =>
          element("th", { scope: "col", class: "number" }, metricLabel(data.metrics[index])),
        ),
      ),
    ),
    element("tbody", {}, rows),
  );
  const parts = details.dimensions.map(
    (dimension, number) =>
      `${dimension.title.toLowerCase()}: ${dimension.buckets[details.bucket_of[number][row]].name}`,
  );
  return [
    lines.length ? element("dl", { class: "texts" }, lines) : null,
    ...pieceTables(row),
    element(
      "div",
      { class: "sheet", tabindex: "0", role: "region", "aria-label": "Scores" },
      table,
    ),
    element("p", { class: "quiet" }, parts.join("; ")),
  ];
}

// Go to a segment, and clear the filters that hide it.
function openSegment(row) {
  if (!details || !(row >= 0 && row < details.texts.length)) return;
  if (!browserState.rows.includes(row)) {
    byId("query").value = "";
    byId("filter").value = "all";
    byId("kind").value = "";
    byId("bucket").value = "";
    if (needsExplanations()) byId("sort").value = "order";
    updateBrowser(true);
  }
  browserState.page = Math.floor(browserState.rows.indexOf(row) / PAGE);
  browserState.opened.add(row);
  showPage();
  const card = byId(`segment-${row + 1}`);
  card.scrollIntoView({ block: "center" });
  card.querySelector(".more").focus({ preventScroll: true });
}
