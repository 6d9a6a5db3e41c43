// In short, and the leaderboard: every system under every metric, with intervals.

const sorting = { metric: 0, best: true };

// One sentence a metric: who leads, and whom the leader is told apart from.
function sentence(metric) {
  const order = orderBy(metric);
  const best = order[0];
  const others = order.slice(1);
  const pairs = others.map((other) => [other, pairOf(metric, other, best)]);
  if (pairs.every(([, pair]) => pair.gain === 0))
    return ["All systems have the same score.", false];
  const name = data.systems[best];
  if (!metric.hasSegments) {
    return [
      `${name} has the best score; without scores of segments nothing is known of how sure that is.`,
      false,
    ];
  }
  const unsure = pairs
    .filter(([, pair]) => !pair.significant)
    .map(([other]) => data.systems[other]);
  const [, runner] = pairs[0];
  const lead = `${name} leads ${data.systems[others[0]]} by ${fixed(Math.abs(runner.difference), metric.decimals)}`;
  if (!unsure.length) {
    const than = others.length > 1 ? "all others" : data.systems[others[0]];
    return [`${lead}, and is significantly better than ${than}.`, true];
  }
  if (unsure.length === others.length)
    return [`${lead}, which may be chance: no system is significantly worse.`, false];
  return [`${lead}. It is not told apart from ${listed(unsure)}.`, false];
}

function orderBy(metric) {
  const sign = signOf(metric);
  return data.systems
    .map((_, place) => place)
    .sort((x, y) => sign * (metric.scores[y] - metric.scores[x]) || x - y);
}

function showShort() {
  const counts = `${whole(data.systems.length)} systems, ${whole(data.segments)} segments`;
  const names = listed(data.metrics.map((metric) => metric.name));
  byId("about").textContent = `${counts}, ${names}. The baseline is ${data.systems[0]}.`;
  replace(
    byId("sentences"),
    data.metrics.map((metric) => {
      const [text, sure] = sentence(metric);
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
    `Lines are ${level(data.confidence)} intervals from ${whole(data.resamples)} bootstrap `,
    `resamples. Of ranks: ${data.ranks} (approximate randomisation, Holm’s correction, `,
    `p ≤ ${data.alpha}).`,
  );
}

function whiskers(metric, place, line) {
  const low = metric.low[place];
  if (low === null) return null;
  const x = scale(...line, 6, 134);
  const [from, to] = [low, metric.high[place]].map((bound) => fixed(bound, metric.decimals));
  const words = `${level(data.confidence)} interval ${from} to ${to}`;
  return picture(
    140,
    16,
    words,
    drawn("line", { class: "axis", x1: 0, x2: 140, y1: 8, y2: 8 }),
    drawn("line", { class: "whisker", x1: x(low), x2: x(metric.high[place]), y1: 8, y2: 8 }),
    drawn("circle", { class: "dot", cx: x(metric.scores[place]), cy: 8, r: 5 }),
    drawn("title", {}, words),
  );
}

function scoreCell(metric, place, line) {
  const rank = metric.ranks[place];
  const score = element(
    "strong",
    { class: rank === 1 ? "top-rank" : null },
    fixed(metric.scores[place], metric.decimals),
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
      element("span", {}, chip, " ", score),
      whiskers(metric, place, line),
    ),
  );
}

function heading(metric, place) {
  const mine = sorting.metric === place;
  const falling = metric.higher === sorting.best;
  const sort = mine ? (falling ? "descending" : "ascending") : "none";
  const press = () => {
    sorting.best = mine ? !sorting.best : true;
    sorting.metric = place;
    showLeaderboard();
    byId("scores").querySelectorAll("thead button")[place].focus();
  };
  const better = metric.higher ? "higher is better" : "lower is better";
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
  const order = orderBy(data.metrics[sorting.metric]);
  if (!sorting.best) order.reverse();
  const lines = data.metrics.map((metric) =>
    extent([...metric.low, ...metric.high, ...metric.scores].filter((value) => value !== null)),
  );
  const rows = order.map((place) =>
    element(
      "tr",
      {},
      element(
        "th",
        { scope: "row" },
        data.systems[place],
        place ? null : [" ", element("span", { class: "tag" }, "baseline")],
      ),
      data.metrics.map((metric, number) => scoreCell(metric, place, lines[number])),
    ),
  );
  replace(
    byId("scores"),
    element("caption", {}, "Scores of systems with rank and interval"),
    element(
      "thead",
      {},
      element("tr", {}, element("th", { scope: "col" }, "System"), data.metrics.map(heading)),
    ),
    element("tbody", {}, rows),
  );
}
