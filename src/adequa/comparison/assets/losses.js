// Where the score is lost: the explained sample, by group of kinds and by severity.

function lossSentence(system) {
  const { groups, fractions, main_groups } = data.explanation;
  const name = data.systems[system];
  const parts = main_groups[system].map(
    (group) => `${formatPercent(fractions[system][group])} by ${groups[group]}`,
  );
  if (!parts.length) return `${name} loses nothing in the explained segments.`;
  return `${name} loses ${parts.join(", ")}.`;
}

function lossRow(system) {
  const { losses, fractions, severities } = data.explanation;
  const decimals = explainedDecimals(data.explanation.metric);
  const total = losses[system].reduce((sum, loss) => sum + loss, 0);
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, systemName(system)),
    element("td", { class: "number" }, formatNumber(total, decimals)),
    fractions[system].map((fraction, group) =>
      element(
        "td",
        {
          class: "number fraction",
          "--fraction": fraction.toFixed(3),
          title: `${formatNumber(losses[system][group], decimals)} per segment`,
        },
        formatPercent(fraction),
      ),
    ),
    severities[system]
      .slice(0, -1)
      .map((count) => element("td", { class: "number" }, formatNumber(count, 2))),
  );
}

function showLossTable() {
  const heading = (words, attributes) =>
    element("th", { scope: "col", class: "number", ...attributes }, words);
  const { groups, metric } = data.explanation;
  replace(
    byId("loss-table"),
    element("caption", {}, `Where each system loses ${metric}, by kind of difference and severity`),
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        element("td", { rowspan: "2" }),
        heading("Loss per segment", { rowspan: "2" }),
        element("th", { scope: "colgroup", colspan: groups.length }, "Fraction of the loss"),
        element("th", { scope: "colgroup", colspan: "3" }, "Differences per segment"),
      ),
      element(
        "tr",
        {},
        groups.map((group) => heading(group)),
        SEVERITIES.slice(0, -1).map((severity) => heading(severity)),
      ),
    ),
    element("tbody", {}, orderBy(selectedMetric()).map(lossRow)),
  );
}

// How the two selected systems differ, group by group: `difference` is loss of b less that of a.
function lossDifferences() {
  const { a, b } = selection;
  return data.explanation.differences
    .filter(([first, second]) => (first === a && second === b) || (first === b && second === a))
    .map(([first, , group, difference, p, significant]) => ({
      group,
      difference: first === a ? difference : -difference,
      p,
      significant,
    }))
    .sort((one, other) => one.p - other.p || Math.abs(other.difference) - Math.abs(one.difference));
}

// By which groups a system loses significantly more than the other of the two; empty for none.
function significantLosses(rows, system) {
  const [sign, other] = system === selection.b ? [1, selection.a] : [-1, selection.b];
  const names = rows
    .filter(({ significant, difference }) => significant && sign * difference > 0)
    .map(({ group }) => data.explanation.groups[group]);
  if (!names.length) return "";
  const systems = `${data.systems[system]} loses significantly more than ${data.systems[other]}`;
  return `${systems} by ${joinNames(names)}. `;
}

function lossDifferenceSentence(rows) {
  const sentence = significantLosses(rows, selection.b) + significantLosses(rows, selection.a);
  if (sentence) return sentence;
  const { too_few } = data.explanation;
  if (too_few.length) return too_few.join(" ");
  return "In no kind of difference do these two systems lose significantly differently.";
}

function lossDifferenceHead() {
  const heading = (content) => element("th", { scope: "col", class: "number" }, content);
  return element(
    "thead",
    {},
    element(
      "tr",
      {},
      element("td", {}),
      [selection.b, selection.a].map((system) => heading(systemShape(system))),
      heading("Difference"),
      heading("p"),
    ),
  );
}

function lossDifferenceRow({ group, difference, p, significant }) {
  const { losses, groups, metric } = data.explanation;
  const decimals = explainedDecimals(metric);
  const cell = (text, sure) => element("td", { class: sure ? "number sure" : "number" }, text);
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, groups[group]),
    cell(formatNumber(losses[selection.b][group], decimals)),
    cell(formatNumber(losses[selection.a][group], decimals)),
    cell(formatSigned(difference, decimals) + (significant ? " *" : ""), significant),
    cell(formatProbability(p)),
  );
}

function showLossDifferences() {
  const rows = lossDifferences();
  byId("loss-pair").hidden = !rows.length;
  if (!rows.length) return;
  const table = element(
    "table",
    {},
    element("caption", {}, "Loss per segment of the two selected systems"),
    lossDifferenceHead(),
    element("tbody", {}, rows.map(lossDifferenceRow)),
  );
  replace(
    byId("loss-pair"),
    element("h3", {}, "How the two systems differ"),
    element("p", {}, lossDifferenceSentence(rows)),
    element(
      "div",
      { class: "sheet", tabindex: "0", role: "region", "aria-label": "Losses of two systems" },
      table,
    ),
  );
}

function showLosses() {
  const { explanation } = data;
  byId("losses").hidden = !explanation;
  if (!explanation) return;
  const [a, b] = [selection.a, selection.b];
  const count = formatCount(explanation.segments);
  const sample =
    explanation.segments < data.segment_count
      ? `a random sample of ${count} of ${formatCount(data.segment_count)} segments`
      : `all ${count} segments`;
  byId("loss-sentence").textContent = `${lossSentence(b)} ${lossSentence(a)}`;
  replace(
    byId("loss-note"),
    `What each difference from the reference costs in ${explanation.metric}, in ${sample}, the ` +
      "same for every system. The loss is the sum of costs above zero; * significant " +
      `(p ≤ ${data.settings.alpha}, approximate randomisation, ${formatCount(explanation.swaps)} swaps, ` +
      "Holm’s correction over all pairs of systems and kinds of difference). The Methods say how costs are computed. ",
    forScreens("The segments below show every difference in its place."),
  );
  showLossTable();
  showLossDifferences();
}

// How costs are computed, for the methods.
function costMethods() {
  const { metric, notes } = data.explanation;
  return [
    "Words of an output are aligned with those of the reference by their form: equal words, words " +
      "in other case, similar words, and words that moved. What remains is cut into differences " +
      "that can be repaired one by one: the words of the reference are put in their place.",
    `The cost of a difference is the weighted mean of what ${metric} gains where it alone is ` +
      "repaired, and of what is lost where all others are and it is not. Costs of a segment add up " +
      "to what the repair of all differences gains. The severity follows from the cost and the " +
      "length of the segment. Case and punctuation are minor at most.",
    "It is what the metric sees, not what a person has annotated: a good translation in other " +
      "words has differences as well, and the repair of one may leave a text that reads badly.",
    ...notes,
  ];
}
