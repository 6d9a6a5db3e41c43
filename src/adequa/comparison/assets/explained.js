// What differences from the reference cost: marked outputs, tables of pieces, and their legend.
// A piece is {hypothesis, reference, kind, cost, severity, hypothesis_span, reference_span}, as in
// the JSON of an explanation. Spans count code points, strings here count UTF-16 units.

const SEVERITIES = ["critical", "major", "minor", "none"];
const PENALTIES = { critical: 10, major: 5, minor: 1, none: 0 };
const LISTED_PIECES = 6; // in a table, besides critical and major ones
const LONGEST_MISSING = 60; // characters of missing words in the text; the table has all

// A page that can explain a segment gives `load` a function. It takes the row of a segment and
// returns a promise of an explanation as the API returns it: {metric, segments}, with one of the
// segments for each system, in the order of the systems. Segments without pieces then have a button.
const explainOnDemand = { load: null };
const explained = { loaded: new Map(), unpacked: new Map(), places: null }; // by row

// Explanations on demand are by the metric that was selected.
const loadedKey = (row) => `${selection.metric} ${row}`;

function forgetExplanations() {
  Object.assign(explained, { loaded: new Map(), unpacked: new Map(), places: null });
}

const canExplain = () => typeof explainOnDemand.load === "function";

// Where each code point of a text begins, in UTF-16 units.
function unitOffsets(text) {
  if (!/[\ud800-\udbff][\udc00-\udfff]/.test(text)) return (position) => position;
  const starts = [];
  let unit = 0;
  for (const character of text) {
    starts.push(unit);
    unit += character.length;
  }
  return (position) => starts[position] ?? unit;
}

function sliceCodePoints(text, [start, end]) {
  const offset = unitOffsets(text);
  return text.slice(offset(start), offset(end));
}

// How a piece differs from the reference, in words; `change_in_words` of Python has the same cases.
function changeOfPiece(piece) {
  if (piece.kind === "move") return `moved: “${piece.hypothesis}”`;
  if (piece.hypothesis === piece.reference) return `space before “${piece.hypothesis}”`;
  if (!piece.hypothesis) return `missing: “${piece.reference}”`;
  if (!piece.reference) return `“${piece.hypothesis}” is not in the reference`;
  return `the reference has “${piece.reference}”`;
}

function pieceTitle(piece, decimals) {
  const cost = formatNumber(piece.cost, decimals);
  return `${piece.severity} ${piece.kind}, cost ${cost}: ${changeOfPiece(piece)}`;
}

function shortenMissing(words) {
  const points = Array.from(words);
  return points.length > LONGEST_MISSING ? `${points.slice(0, LONGEST_MISSING).join("")}…` : words;
}

function missingMark(piece, decimals) {
  return element(
    "ins",
    { class: `missing ${piece.severity}`, title: pieceTitle(piece, decimals) },
    `+${shortenMissing(piece.reference)}`,
  );
}

// An output as the cell of a list, its pieces marked by severity, missing words at their place.
function markedOutput(text, pieces, decimals, query = "") {
  if (!text.trim()) return element("dd", { class: "empty" }, "(empty)");
  const offset = unitOffsets(text);
  const inOrder = [...pieces].sort(
    (one, other) =>
      one.hypothesis_span[0] - other.hypothesis_span[0] ||
      one.hypothesis_span[1] - other.hypothesis_span[1],
  );
  const nodes = [];
  let done = 0;
  for (const piece of inOrder) {
    // The place of missing words may lie inside words that are moved: it is after them.
    const [start, end] = piece.hypothesis_span.map((at) => Math.max(done, offset(at)));
    nodes.push(...highlightQuery(text.slice(done, start), query));
    done = end;
    if (end > start) {
      const attributes = { class: `piece ${piece.severity}`, title: pieceTitle(piece, decimals) };
      nodes.push(element("mark", attributes, highlightQuery(text.slice(start, end), query)));
    } else if (piece.severity !== "none") {
      const [before, after] = [text[start - 1] ?? "", text[start] ?? ""];
      nodes.push(before.trim() ? " " : "", missingMark(piece, decimals));
      nodes.push(!before && after.trim() ? " " : "");
    }
  }
  nodes.push(...highlightQuery(text.slice(done), query));
  return element("dd", { dir: "auto", class: "explained" }, nodes);
}

const severityLabel = (severity) =>
  element("span", { class: `severity ${severity}` }, severity);

function pieceRow(piece, decimals) {
  return element(
    "tr",
    {},
    element("td", {}, severityLabel(piece.severity)),
    element("td", {}, piece.kind),
    element("td", { class: "number" }, formatNumber(piece.cost, decimals)),
    element("td", { class: "words", dir: "auto" }, piece.hypothesis || "–"),
    element("td", { class: "words", dir: "auto" }, piece.reference || "–"),
  );
}

// A table of the pieces of an output, the costliest first, and the cost of the rest together.
function pieceTable(pieces, decimals, caption) {
  const sorted = [...pieces].sort((one, other) => other.cost - one.cost);
  const isListed = (piece, index) => index < LISTED_PIECES || PENALTIES[piece.severity] > 1;
  const rest = sorted.filter((piece, index) => !isListed(piece, index));
  const cost = rest.reduce((sum, piece) => sum + piece.cost, 0);
  const count = rest.length === 1 ? "1 more piece" : `${formatCount(rest.length)} more pieces`;
  const names = ["Severity", "Kind", "Cost", "Translation", "Reference"];
  return element(
    "table",
    { class: "pieces" },
    element("caption", {}, caption),
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        names.map((name) =>
          element("th", { scope: "col", class: name === "Cost" ? "number" : null }, name),
        ),
      ),
    ),
    element(
      "tbody",
      {},
      sorted.filter(isListed).map((piece) => pieceRow(piece, decimals)),
      rest.length
        ? element(
            "tr",
            { class: "rest" },
            element("td", { colspan: "2" }, count),
            element("td", { class: "number" }, formatNumber(cost, decimals)),
            element("td", { colspan: "2" }),
          )
        : null,
    ),
  );
}

// What the marks mean.
function severityLegend() {
  return [
    element("li", {}, "By what each difference costs:"),
    ...SEVERITIES.map((severity) =>
      element("li", {}, element("mark", { class: `piece ${severity}` }, severity)),
    ),
    element("li", {}, element("ins", { class: "missing major" }, "+missing words")),
  ];
}

// The explained segments of a comparison

// The place of each explained row in the columns of pieces.
function explainedPlaces() {
  const rows = details?.explained?.rows ?? [];
  explained.places ||= new Map(rows.map((row, place) => [row, place]));
  return explained.places;
}

// The explanation of a segment: {metric, segments}, one of the segments for each system; null where
// there is none. A segment has `pieces`, and where there is more than one reference the number of
// the one that it was aligned with as `reference`.
function explanationOf(row) {
  const loaded = explained.loaded.get(loadedKey(row));
  if (loaded) return loaded;
  if (!explainedPlaces().has(row)) return null;
  if (!explained.unpacked.has(row)) explained.unpacked.set(row, unpackExplanation(row));
  return explained.unpacked.get(row);
}

function unpackExplanation(row) {
  const place = explainedPlaces().get(row);
  const { references, hypotheses } = segmentTexts(row);
  const segments = hypotheses.map((text, system) => {
    const number = details.explained.references?.[system][place];
    const pieces = details.explained.pieces[system][place];
    return {
      reference: number,
      pieces: unpackPieces(pieces, text, references[(number ?? 1) - 1]),
    };
  });
  return { metric: data.explanation.metric, segments };
}

function unpackPieces(packed, hypothesis, reference) {
  return packed.map(([start, end, referenceStart, referenceEnd, kind, severity, cost]) => ({
    hypothesis: sliceCodePoints(hypothesis, [start, end]),
    reference: sliceCodePoints(reference, [referenceStart, referenceEnd]),
    kind: details.explained.kinds[kind],
    cost,
    severity: SEVERITIES[severity],
    hypothesis_span: [start, end],
    reference_span: [referenceStart, referenceEnd],
  }));
}

const explainedDecimals = (name) =>
  data.metrics.find((metric) => metric.name === name)?.decimals ?? 4;

const penaltyOf = (pieces) => pieces.reduce((sum, piece) => sum + PENALTIES[piece.severity], 0);

const largestCost = (pieces) => Math.max(0, ...pieces.map((piece) => piece.cost));

// The table of one output, under the name of its system.
function outputPieces(row, system, { metric, segments }) {
  const { pieces, reference } = segments[system];
  const label = `Differences of ${data.systems[system]} from the reference`;
  const table = pieceTable(pieces, explainedDecimals(metric), `${label}, in segment ${row + 1}`);
  return element(
    "div",
    {},
    element("h4", {}, systemName(system), reference ? ` against reference ${reference}` : null),
    pieces.length
      ? element(
          "div",
          { class: "sheet", tabindex: "0", role: "region", "aria-label": label },
          table,
        )
      : element("p", { class: "quiet" }, "No differences from the reference."),
  );
}

// The tables of all outputs of a segment, those of the selected systems first.
function pieceTables(row) {
  const explanation = explanationOf(row);
  if (!explanation) return [];
  const chosen = [selection.a, selection.b];
  const others = data.systems
    .map((_, system) => system)
    .filter((system) => !chosen.includes(system));
  const tables = (systems) =>
    element(
      "div",
      { class: "outputs" },
      systems.map((system) => outputPieces(row, system, explanation)),
    );
  return [
    element(
      "p",
      { class: "quiet" },
      `What each difference from the reference costs, in ${explanation.metric}:`,
    ),
    tables(chosen),
    others.length
      ? element("details", {}, element("summary", {}, "Other systems"), tables(others))
      : null,
  ];
}

// A button that explains a segment, where the page can do that and has not done it.
function explainButton(row, redraw) {
  if (!data.has_references || !canExplain() || explanationOf(row)) return null;
  const explain = async () => {
    const [shown, key] = [data, loadedKey(row)];
    const explanation = await explainOnDemand.load(row);
    if (shown !== data) return; // another comparison is shown by now
    explained.loaded.set(key, explanation);
    redraw();
  };
  return explainControls(explain, { "aria-describedby": `heading-${row}` });
}

// A button that does the work once, and where to read that it is done, or why it failed.
function explainControls(work, attributes) {
  const status = element("span", { class: "explain-status", role: "status" });
  const run = async () => {
    button.disabled = true;
    status.textContent = "Explaining …";
    try {
      await work();
    } catch (error) {
      status.textContent = error.message;
      button.disabled = false;
    }
  };
  const button = element(
    "button",
    { type: "button", class: "explain", onclick: run, ...attributes },
    "Explain",
  );
  return [button, status];
}
