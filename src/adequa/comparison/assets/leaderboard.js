// The leaderboard: every system under every metric, with intervals on one axis for each metric.

const leaderboardSort = { metric: 0, best: true };
const LINE = { width: 168, edge: 9, beyond: 26 }; // of the drawings, the same in every row

// The range of an axis, and the systems outside it. Weak systems are left outside where the gap to
// them is more than half of what the others need: they stand at the edge, beyond a break.
function scoreAxis(metric) {
  const bounds = (index) => {
    const { score, low, high } = metric.systems[index];
    return [score, low ?? score, high ?? score];
  };
  const order = orderBy(metric);
  const fewest = Math.max(2, Math.ceil(order.length / 2));
  let inside = order;
  for (let count = fewest; count < order.length; count += 1) {
    const [low, high] = extent(order.slice(0, count).flatMap(bounds));
    const [nextLow, nextHigh] = extent(bounds(order[count]));
    const gap = metric.higher_is_better ? low - nextHigh : nextLow - high;
    if (gap > (high - low) / 2 && high > low) {
      inside = order.slice(0, count);
      break;
    }
  }
  const [low, high] = extent(inside.flatMap(bounds));
  const margin = (high - low) * 0.04 || 0.5;
  const outside = new Set(order.filter((index) => !inside.includes(index)));
  const [left, right] = [LINE.edge, LINE.width - LINE.edge];
  const room = outside.size ? LINE.beyond - LINE.edge : 0; // for the break and what is beyond it
  const [from, to] = metric.higher_is_better ? [left + room, right] : [left, right - room];
  return { low: low - margin, high: high + margin, outside, from, to };
}

const axisScale = ({ low, high, from, to }) => scale(low, high, from, to);

// Where systems outside the axis stand: at the worse edge.
const edgeOf = (metric) => (metric.higher_is_better ? 6 : LINE.width - 6);

function axisBreak(metric) {
  const x = metric.higher_is_better ? 17 : LINE.width - 18;
  return svgElement("path", { class: "break", d: `M${x - 3} 13l3 -10M${x + 1} 13l3 -10` });
}

function whiskers(metric, index, axis) {
  const { score, low, high } = metric.systems[index];
  const x = axisScale(axis);
  const format = (value) => formatNumber(value, metric.decimals);
  const outside = axis.outside.has(index);
  const words =
    (low === null
      ? format(score)
      : `${formatLevel(data.settings.confidence)} interval ${format(low)} to ${format(high)}`) +
    (outside ? ", outside the axis" : "");
  const lines = ticks(axis.low, axis.high, 4).map((tick) =>
    svgElement("line", { class: "grid-line", x1: x(tick), x2: x(tick), y1: 0, y2: 16 }),
  );
  const interval =
    outside || low === null
      ? null
      : svgElement("line", {
          class: "whisker",
          x1: x(low),
          x2: x(high),
          y1: 8,
          y2: 8,
          "--colour": systemColour(index),
        });
  return svgImage(
    LINE.width,
    16,
    words,
    lines,
    svgElement("line", { class: "axis", x1: 0, x2: LINE.width, y1: 8, y2: 8 }),
    outside ? axisBreak(metric) : null,
    interval,
    marker(index, outside ? edgeOf(metric) : x(score), 8),
    svgElement("title", {}, words),
  );
}

function scoreCell(metric, index, axis) {
  const { rank, score } = metric.systems[index];
  const first = rank === 1 && !metric.warning;
  const chip = element(
    "span",
    { class: first ? "rank first" : "rank", title: `Rank ${rank}` },
    element("span", { class: "unseen" }, "rank "),
    String(rank),
  );
  const number = element("strong", {}, formatNumber(score, metric.decimals));
  return element(
    "td",
    {},
    element(
      "div",
      { class: "score" },
      element("span", { class: "value" }, chip, number, warningMark(metric)),
      whiskers(metric, index, axis),
    ),
  );
}

function columnHeading(metric, index, axis) {
  const mine = leaderboardSort.metric === index;
  const falling = metric.higher_is_better === leaderboardSort.best;
  const sort = mine ? (falling ? "descending" : "ascending") : "none";
  const press = () => {
    leaderboardSort.best = mine ? !leaderboardSort.best : true;
    leaderboardSort.metric = index;
    showLeaderboard();
    byId("scores").querySelectorAll("thead button")[index].focus();
  };
  const x = axisScale(axis);
  return element(
    "th",
    { scope: "col", "aria-sort": sort },
    element(
      "div",
      { class: "score" },
      element(
        "span",
        {},
        element(
          "button",
          { type: "button", onclick: press, title: `Sort by ${metric.name}` },
          metric.name,
        ),
        warningMark(metric),
        element("small", {}, direction(metric)),
        mine
          ? element(
              "small",
              { class: "sorted" },
              `sorted, ${leaderboardSort.best ? "best" : "worst"} first`,
            )
          : null,
      ),
      svgImage(LINE.width, 16, "", axisNumbers(axis.low, axis.high, x, 13, 4)),
    ),
  );
}

function leaderboardNote(axes) {
  const metricsOf = new Map(); // by the systems that are outside the axis
  data.metrics.forEach((metric, number) => {
    const names = joinNames([...axes[number].outside].map((index) => data.systems[index]));
    if (names) metricsOf.set(names, [...(metricsOf.get(names) ?? []), metric.name]);
  });
  const outside = [...metricsOf].map(([names, metrics]) => `${names} (${joinNames(metrics)})`);
  return [
    `The number before a score is its rank: ${data.meaning_of_ranks} (approximate randomisation, ` +
      `Holm’s correction, p ≤ ${data.settings.alpha}). Lines are ` +
      `${formatLevel(data.settings.confidence)} intervals of each system by itself ` +
      `(${formatCount(data.settings.resamples)} bootstrap resamples); they do not decide ranks, ` +
      "because tests compare systems on the same segments.",
    outside.length
      ? ` Too weak for the axis, and shown beyond a break at its edge: ${outside.join("; ")}.`
      : "",
  ];
}

function showLeaderboard() {
  const order = orderBy(data.metrics[leaderboardSort.metric]);
  if (!leaderboardSort.best) order.reverse();
  const axes = data.metrics.map(scoreAxis);
  const rows = order.map((index) =>
    element(
      "tr",
      {},
      element(
        "th",
        { scope: "row" },
        systemName(index),
        index ? null : [" ", element("span", { class: "tag" }, "baseline")],
      ),
      data.metrics.map((metric, number) => scoreCell(metric, index, axes[number])),
    ),
  );
  replace(
    byId("scores"),
    element("caption", {}, "Scores of systems with rank and interval"),
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        element("th", { scope: "col" }, "System"),
        data.metrics.map((metric, number) => columnHeading(metric, number, axes[number])),
      ),
    ),
    element("tbody", {}, rows),
  );
  replace(byId("leaderboard-note"), leaderboardNote(axes));
}
