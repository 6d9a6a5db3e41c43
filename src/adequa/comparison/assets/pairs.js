// Two systems in words and numbers, and the matrix of all pairs.

function pairSentence(metric, pair) {
  const a = element("span", { class: "a-ink" }, data.systems[pair.a]);
  const b = element("span", { class: "b-ink" }, data.systems[pair.b]);
  if (pair.gain === 0) return [b, " and ", a, ` have the same ${metric.name}.`];
  const size = formatNumber(Math.abs(pair.difference), metric.decimals);
  const [better, worse] = pair.gain > 0 ? [b, a] : [a, b];
  const sure =
    pair.p === null
      ? "; its significance is unknown without segment scores"
      : pair.significant
        ? ", which is significant"
        : ", which may be chance";
  return [better, " is better than ", worse, ` by ${size} ${metric.name}${sure}.`];
}

function fact(term, value, more) {
  return element(
    "div",
    {},
    element("dt", {}, term),
    element("dd", {}, value, more ? element("small", {}, more) : null),
  );
}

function facts(metric, pair) {
  const bounds = [pair.low, pair.high].map((bound) => formatSigned(bound, metric.decimals));
  const items = [
    fact(
      `Difference of ${metricLabel(metric)}`,
      formatSigned(pair.difference, metric.decimals),
      `${direction(metric)}`,
    ),
  ];
  if (pair.p !== null) {
    items.push(
      fact(
        `${formatLevel(data.settings.confidence)} interval`,
        bounds.join(" to "),
        "of the difference, by bootstrap",
      ),
      fact(
        "p, by randomisation",
        formatProbability(pair.p_adjusted),
        `${formatProbability(pair.p)} before Holm’s correction`,
      ),
      fact(
        "p, by paired bootstrap",
        formatProbability(pair.p_bootstrap_adjusted),
        "Holm’s correction",
      ),
      fact(
        "Effect size",
        pair.effect === null ? "–" : formatSigned(pair.effect, 2),
        "mean gain per segment, in standard deviations",
      ),
    );
  }
  if (pair.people && pair.significant) {
    const { share, share_low: low, share_high: high, pairs, low: from, high: to } = pair.people;
    const range =
      to === null ? `${formatTick(from)} or more` : `${formatTick(from)} to ${formatTick(to)}`;
    items.push(
      fact(
        "People agree",
        formatPercent(share),
        `in ${formatCount(pairs)} pairs of ${pair.people.data} that differ by ${range} ` +
          `(${formatPercent(low)} to ${formatPercent(high)})`,
      ),
    );
  }
  return element("dl", { class: "facts" }, items);
}

function splitBar(pair) {
  const total = pair.wins + pair.ties + pair.losses;
  if (!total) return null;
  const part = (name, count) => element("span", { class: name, "--share": String(count) });
  const share = (count) => `${formatCount(count)} (${formatPercent(count / total)})`;
  return element(
    "div",
    {},
    element(
      "div",
      { class: "split", "aria-hidden": "true" },
      part("wins", pair.wins),
      part("ties", pair.ties),
      part("losses", pair.losses),
    ),
    element(
      "ul",
      { class: "legend" },
      element(
        "li",
        {},
        element("span", { class: "swatch b" }),
        ` ${data.systems[pair.b]} better: ${share(pair.wins)}`,
      ),
      element("li", {}, element("span", { class: "swatch tie" }), ` equal: ${share(pair.ties)}`),
      element(
        "li",
        {},
        element("span", { class: "swatch a" }),
        ` ${data.systems[pair.a]} better: ${share(pair.losses)}`,
      ),
    ),
  );
}

function showPair() {
  const metric = selectedMetric();
  const pair = findPair(metric, selection.a, selection.b);
  if (!pair) return;
  replace(
    byId("pair"),
    element("p", { class: "pair-verdict" }, pairSentence(metric, pair), " ", warningMark(metric)),
    facts(metric, pair),
    splitBar(pair),
  );
}

function matrixCell(metric, row, column) {
  if (row === column) return element("td", { "aria-label": "the same system" }, "·");
  const pair = findPair(metric, column, row);
  const kind = pair.significant && pair.gain ? (pair.gain > 0 ? "better" : "worse") : "unsure";
  const words = {
    better: "significantly better",
    worse: "significantly worse",
    unsure: "not significantly different",
  }[kind];
  const press = () => select({ a: column, b: row }, "matrix");
  const unseen = (text) => element("span", { class: "unseen" }, text);
  return element(
    "td",
    {},
    element(
      "button",
      {
        type: "button",
        class: kind,
        onclick: press,
        "data-pair": `${row}-${column}`,
        "aria-pressed": String(selection.a === column && selection.b === row),
      },
      unseen(`${data.systems[row]} against ${data.systems[column]}: `),
      formatSigned(pair.difference, metric.decimals),
      element("span", { "aria-hidden": "true" }, kind === "unsure" ? "" : "*"),
      metric.warning ? element("span", { "aria-hidden": "true" }, " ⚠") : null,
      unseen(`, ${words}, `),
      element("small", {}, pair.p === null ? "" : `p ${formatProbability(pair.p_adjusted)}`),
    ),
  );
}

function showMatrix() {
  byId("matrix-part").hidden = data.systems.length < 3;
  byId("matrix-part").classList.toggle("many", data.systems.length > 8); // for paper
  const metric = selectedMetric();
  const order = orderBy(metric);
  replace(
    byId("matrix-note"),
    `Difference of ${metricLabel(metric)} (${direction(metric)}): the system of the row minus the ` +
      `system of the column. * and colour: significant (p ≤ ${data.settings.alpha} after Holm’s ` +
      "correction). ",
    forScreens("Choose a cell to compare its two systems in the rest of the page."),
  );
  const head = order.map((index) => element("th", { scope: "col" }, systemName(index)));
  const rows = order.map((row) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, systemName(row)),
      order.map((column) => matrixCell(metric, row, column)),
    ),
  );
  const focused =
    document.activeElement && document.activeElement.dataset && document.activeElement.dataset.pair;
  replace(
    byId("matrix"),
    element("caption", {}, `Differences of ${metric.name} between all pairs of systems`),
    element("thead", {}, element("tr", {}, element("td", {}), head)),
    element("tbody", {}, rows),
  );
  if (focused)
    byId("matrix")
      .querySelector(`[data-pair="${CSS.escape(focused)}"]`)
      ?.focus();
}
