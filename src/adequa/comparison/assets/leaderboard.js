// The summary, and the leaderboard: every system under every metric, with intervals.

const leaderboardSort = { metric: 0, best: true };

// One sentence for each metric: who leads, and from whom the leader differs significantly.
function leaderSentence(metric) {
  const order = orderBy(metric);
  const best = order[0];
  const others = order.slice(1);
  const pairs = others.map((other) => [other, findPair(metric, other, best)]);
  if (pairs.every(([, pair]) => pair.gain === 0))
    return ["All systems have the same score.", false];
  const name = data.systems[best];
  if (!metric.has_segments) {
    return [
      `${name} has the best score; its significance is unknown without segment scores.`,
      false,
    ];
  }
  const unsure = pairs
    .filter(([, pair]) => !pair.significant)
    .map(([other]) => data.systems[other]);
  const [, runner] = pairs[0];
  const size = formatNumber(Math.abs(runner.difference), metric.decimals);
  const lead = `${name} leads ${data.systems[others[0]]} by ${size}`;
  if (!unsure.length) {
    const than = others.length > 1 ? "all others" : data.systems[others[0]];
    return [`${lead}, and is significantly better than ${than}.`, true];
  }
  if (unsure.length === others.length)
    return [`${lead}, which may be chance: no system is significantly worse.`, false];
  return [`${lead}. It does not differ significantly from ${joinNames(unsure)}.`, false];
}

function orderBy(metric) {
  const sign = signOf(metric);
  return data.systems
    .map((_, index) => index)
    .sort((x, y) => sign * (metric.systems[y].score - metric.systems[x].score) || x - y);
}

function showSummary() {
  const systems = `${formatCount(data.systems.length)} systems`;
  const segments = `${formatCount(data.segment_count)} segments`;
  const names = joinNames(data.metrics.map((metric) => metric.name));
  byId("about").textContent = `${systems}, ${segments}, ${names}. The baseline is ${data.systems[0]}.`;
  replace(
    byId("sentences"),
    data.metrics.map((metric) => {
      const [text, sure] = leaderSentence(metric);
      return element(
        "li",
        { class: sure ? "sure-enough" : "unsure" },
        element("span", { class: "name" }, metric.name),
        text,
      );
    }),
  );
  replace(
    byId("leaderboard-note"),
    `Lines are ${formatLevel(data.settings.confidence)} intervals from `,
    `${formatCount(data.settings.resamples)} bootstrap resamples. Ranks: ${data.meaning_of_ranks} (approximate randomisation, Holm’s correction, `,
    `p ≤ ${data.settings.alpha}). Intervals do not decide ranks: tests compare systems on the same segments.`,
  );
}

function whiskers(metric, index, line) {
  const { score, low, high } = metric.systems[index];
  if (low === null) return null;
  const x = scale(...line, 6, 134);
  const [from, to] = [low, high].map((bound) => formatNumber(bound, metric.decimals));
  const words = `${formatLevel(data.settings.confidence)} interval ${from} to ${to}`;
  return svgImage(
    140,
    16,
    words,
    svgElement("line", { class: "axis", x1: 0, x2: 140, y1: 8, y2: 8 }),
    svgElement("line", { class: "whisker", x1: x(low), x2: x(high), y1: 8, y2: 8 }),
    svgElement("circle", { class: "dot", cx: x(score), cy: 8, r: 5 }),
    svgElement("title", {}, words),
  );
}

function scoreCell(metric, index, line) {
  const { rank, score } = metric.systems[index];
  const cell = element(
    "strong",
    { class: rank === 1 ? "top-rank" : null },
    formatNumber(score, metric.decimals),
  );
  const chip = element(
    "span",
    {
      class: rank === 1 ? "rank first" : "rank",
      title: `Rank ${rank}`,
      "aria-label": `rank ${rank}`,
    },
    String(rank),
  );
  return element(
    "td",
    {},
    element(
      "div",
      { class: "score" },
      element("span", {}, chip, " ", cell),
      whiskers(metric, index, line),
    ),
  );
}

function columnHeading(metric, index) {
  const mine = leaderboardSort.metric === index;
  const falling = metric.higher_is_better === leaderboardSort.best;
  const sort = mine ? (falling ? "descending" : "ascending") : "none";
  const press = () => {
    leaderboardSort.best = mine ? !leaderboardSort.best : true;
    leaderboardSort.metric = index;
    showLeaderboard();
    byId("scores").querySelectorAll("thead button")[index].focus();
  };
  const better = metric.higher_is_better ? "higher is better" : "lower is better";
  return element(
    "th",
    { scope: "col", "aria-sort": sort },
    element(
      "button",
      { type: "button", onclick: press, title: `Sort by ${metric.name}` },
      metric.name,
    ),
    element("small", {}, ` ${better}`),
  );
}

function showLeaderboard() {
  const order = orderBy(data.metrics[leaderboardSort.metric]);
  if (!leaderboardSort.best) order.reverse();
  const lines = data.metrics.map((metric) =>
    extent(
      metric.systems
        .flatMap(({ score, low, high }) => [score, low, high])
        .filter((value) => value !== null),
    ),
  );
  const rows = order.map((index) =>
    element(
      "tr",
      {},
      element(
        "th",
        { scope: "row" },
        data.systems[index],
        index ? null : [" ", element("span", { class: "tag" }, "baseline")],
      ),
      data.metrics.map((metric, number) => scoreCell(metric, index, lines[number])),
    ),
  );
  replace(
    byId("scores"),
    element("caption", {}, "Scores of systems with rank and interval"),
    element(
      "thead",
      {},
      element("tr", {}, element("th", { scope: "col" }, "System"), data.metrics.map(columnHeading)),
    ),
    element("tbody", {}, rows),
  );
}
