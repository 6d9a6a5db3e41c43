// Words and phrases: n-grams that one of the two systems matches more often, and word accuracy.

const frequency = { measure: "f1" };
const MEASURES = { f1: "F1", precision: "Precision", recall: "Recall" };

function ngramTable(better, worse) {
  const { texts, reference, matches, pairs } = details.ngrams;
  const rows = pairs[`${worse}-${better}`].map((index) => {
    const [mine, other] = [matches[better][index], matches[worse][index]];
    const ratio = (mine + 1) / (mine + other + 2);
    return element(
      "tr",
      {},
      element("th", { scope: "row", dir: "auto", class: "ngram" }, texts[index]),
      [reference[index], mine, other].map((count) =>
        element("td", { class: "number" }, formatCount(count)),
      ),
      element("td", { class: "number" }, formatNumber(ratio, 2)),
    );
  });
  const heading = (content) => element("th", { scope: "col", class: "number short" }, content);
  const title = element("h4", {}, "Matched more often by ", systemName(better));
  if (!rows.length) return element("div", {}, title, element("p", { class: "quiet" }, "None."));
  return element(
    "div",
    {
      class: "sheet",
      tabindex: "0",
      role: "region",
      "aria-label": `N-grams of ${data.systems[better]}`,
    },
    title,
    element(
      "table",
      {},
      element("caption", {}, `N-grams that ${data.systems[better]} matches more often`),
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          element("th", { scope: "col" }, "N-gram"),
          heading("In references"),
          heading(systemName(better)),
          heading(systemName(worse)),
          heading("Ratio"),
        ),
      ),
      element("tbody", {}, rows),
    ),
  );
}

function showNgrams() {
  if (!details) return;
  replace(
    byId("ngrams"),
    element("h3", {}, "N-grams that one system gets right more often"),
    element(
      "p",
      { class: "quiet" },
      "N-grams of one to four words of the first reference. Counts are matches: how often an " +
        "output has the n-gram where its reference has it too. The ratio is (matches + 1) / " +
        "(matches of both systems + 2): 0.5 where both match equally often. At most " +
        `${details.ngrams.limit} for each system.`,
    ),
    element(
      "div",
      { class: "two" },
      ngramTable(selection.b, selection.a),
      ngramTable(selection.a, selection.b),
    ),
  );
}

const ACCURACY = { width: 240, from: 16, to: 224 };

// The range of all values that are shown, with some space on either side.
function accuracyRange(parts) {
  const values = parts
    .flatMap((part) => [selection.a, selection.b].map((system) => part.systems[system]))
    .map((system) => system[frequency.measure])
    .filter((value) => value !== null);
  const [low, high] = extent(values);
  const margin = (high - low) * 0.08 || 0.05;
  return [Math.max(0, low - margin), Math.min(1, high + margin)];
}

function accuracyLine(a, b, range) {
  const x = scale(...range, ACCURACY.from, ACCURACY.to);
  return svgImage(
    ACCURACY.width,
    16,
    "",
    ticks(...range, 4).map((tick) =>
      svgElement("line", { class: "grid-line", x1: x(tick), x2: x(tick), y1: 0, y2: 16 }),
    ),
    svgElement("line", { class: "axis", x1: 0, x2: ACCURACY.width, y1: 8, y2: 8 }),
    a === null || b === null
      ? null
      : svgElement("line", { class: "whisker", x1: x(a), x2: x(b), y1: 8, y2: 8 }),
    a === null ? null : marker(selection.a, x(a), 8),
    b === null ? null : marker(selection.b, x(b), 8),
  );
}

function frequencyRow(part, range) {
  const [a, b] = [selection.a, selection.b].map((system) => part.systems[system][frequency.measure]);
  const difference = a === null || b === null ? null : b - a;
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, part.frequency),
    element("td", { class: "number" }, formatCount(part.reference_words)),
    [a, b].map((value) => element("td", { class: "number" }, formatNumber(value, 3))),
    element("td", { class: "number" }, formatSigned(difference, 3)),
    element("td", {}, accuracyLine(a, b, range)),
  );
}

function measureChooser() {
  const change = (event) => {
    frequency.measure = event.target.value;
    showFrequencies();
    byId("measure").focus();
  };
  return element(
    "label",
    { class: "control" },
    "Measure",
    element(
      "select",
      { id: "measure", onchange: change },
      Object.entries(MEASURES).map(([name, words]) =>
        option(name, words, name === frequency.measure),
      ),
    ),
  );
}

function showFrequencies() {
  const measure = MEASURES[frequency.measure];
  const heading = (content) => element("th", { scope: "col", class: "number short" }, content);
  const parts = data.words.filter((part) => part.reference_words);
  const range = accuracyRange(parts);
  const x = scale(...range, ACCURACY.from, ACCURACY.to);
  const axis = svgImage(ACCURACY.width, 16, "", axisNumbers(...range, x, 13, 4));
  replace(
    byId("frequencies"),
    element("h3", {}, "Accuracy of words by how frequent they are"),
    element(
      "p",
      { class: "quiet" },
      `${measure} of words by how often they occur in ${data.words_from}. ` +
        "A word of an output is right where the reference of its segment has it too.",
    ),
    measureChooser(),
    element(
      "div",
      { class: "sheet", tabindex: "0", role: "region", "aria-label": "Accuracy of words" },
      element(
        "table",
        {},
        element("caption", {}, `${measure} of words by frequency`),
        element(
          "thead",
          {},
          element(
            "tr",
            {},
            element("th", { scope: "col" }, "Occurrences"),
            heading("Words in references"),
            heading(systemName(selection.a)),
            heading(systemName(selection.b)),
            heading("Difference"),
            element("td", {}, axis),
          ),
        ),
        element(
          "tbody",
          {},
          parts.map((part) => frequencyRow(part, range)),
        ),
      ),
    ),
  );
}

function showWords() {
  byId("words").hidden = !data.has_references;
  if (!data.has_references) return;
  showNgrams();
  showFrequencies();
}
