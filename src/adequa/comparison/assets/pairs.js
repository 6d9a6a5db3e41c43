// Two systems in words and numbers, and the matrix of all pairs.

function verdict(metric, pair) {
  const a = element("span", { class: "a-ink" }, data.systems[pair.a]);
  const b = element("span", { class: "b-ink" }, data.systems[pair.b]);
  if (pair.gain === 0) return [b, " and ", a, ` have the same ${metric.name}.`];
  const size = fixed(Math.abs(pair.difference), metric.decimals);
  const [better, worse] = pair.gain > 0 ? [b, a] : [a, b];
  const sure =
    pair.p === null
      ? "; how sure that is cannot be told without scores of segments"
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
  const interval = `${signed(pair.low, metric.decimals)} to ${signed(pair.high, metric.decimals)}`;
  const found = [
    fact(
      "Difference",
      signed(pair.difference, metric.decimals),
      metric.higher ? null : "below zero is better",
    ),
  ];
  if (pair.p !== null) {
    found.push(
      fact(`${level(data.confidence)} interval`, interval, "of the difference, by bootstrap"),
      fact(
        "p, by randomisation",
        probability(pair.adjusted),
        `${probability(pair.p)} before Holm’s correction`,
      ),
      fact("p, by paired bootstrap", probability(pair.bootstrap), "Holm’s correction"),
      fact(
        "Effect size",
        pair.effect === null ? "–" : signed(pair.effect, 2),
        "mean gain of a segment over its spread",
      ),
    );
  }
  if (pair.people) {
    const { share, low, high, pairs, from, to, data: judged } = pair.people;
    const range =
      to === null ? `${tickText(from)} or more` : `${tickText(from)} to ${tickText(to)}`;
    found.push(
      fact(
        "People agree",
        percent(share),
        `in ${whole(pairs)} pairs of ${judged} that differ by ${range} (${percent(low)} to ${percent(high)})`,
      ),
    );
  }
  return element("dl", { class: "facts" }, found);
}

function splitBar(pair) {
  const total = pair.wins + pair.ties + pair.losses;
  if (!total) return null;
  const part = (name, count) => element("span", { class: name, "--share": String(count) });
  const share = (count) => `${whole(count)} (${percent(count / total)})`;
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
  const metric = metricNow();
  const pair = pairOf(metric, chosen.a, chosen.b);
  if (!pair) return;
  replace(
    byId("pair"),
    element("p", { class: "verdict" }, verdict(metric, pair)),
    facts(metric, pair),
    splitBar(pair),
  );
}

function matrixCell(metric, row, column) {
  if (row === column) return element("td", { "aria-label": "the same system" }, "·");
  const pair = pairOf(metric, column, row);
  const kind = pair.significant && pair.gain ? (pair.gain > 0 ? "better" : "worse") : "unsure";
  const sign = { better: "▲ ", worse: "▼ ", unsure: "" }[kind];
  const words = {
    better: "significantly better",
    worse: "significantly worse",
    unsure: "not significantly different",
  }[kind];
  const press = () => choose({ a: column, b: row }, "matrix");
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
        "aria-pressed": String(chosen.a === column && chosen.b === row),
      },
      unseen(`${data.systems[row]} against ${data.systems[column]}: `),
      element("span", { "aria-hidden": "true" }, sign),
      signed(pair.difference, metric.decimals),
      unseen(`, ${words}, `),
      element("small", {}, pair.p === null ? "" : `p ${probability(pair.adjusted)}`),
    ),
  );
}

function showMatrix() {
  byId("matrix-part").hidden = data.systems.length < 3;
  const metric = metricNow();
  const order = orderBy(metric);
  byId("matrix-note").textContent =
    `${metric.name}: the system of the row less that of the column. ▲ and ▼ are significant ` +
    `(p ≤ ${data.alpha} after Holm’s correction). Choose a cell to look at its two systems.`;
  const head = order.map((place) => element("th", { scope: "col" }, data.systems[place]));
  const rows = order.map((row) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, data.systems[row]),
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
