// The top of the page: what was compared, language warnings, the verdict, and the leaders.

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

function showAbout() {
  const facts = [
    data.test_set ? `Test set ${data.test_set}` : null,
    data.language_pair || null,
    `${formatCount(data.segment_count)} segments`,
    `${formatCount(data.systems.length)} systems`,
    joinNames(data.metrics.map((metric) => metric.name)),
    `baseline ${data.systems[0]}`,
    data.date,
  ].filter(Boolean);
  replace(
    byId("about"),
    facts.map((fact) => element("span", { class: "fact" }, fact)),
  );
}

function showWarnings() {
  const warned = data.metrics.filter((metric) => metric.warning);
  byId("warnings").hidden = !warned.length;
  replace(
    byId("warnings"),
    warned.map((metric) =>
      element(
        "p",
        {},
        element("strong", {}, `⚠ Do not trust ${metric.name} here. `),
        metric.warning,
      ),
    ),
  );
}

function showSummary() {
  showAbout();
  showWarnings();
  byId("verdict").textContent = data.verdict;
  const sentences = data.metrics.map((metric) => {
    const [text, sure] = leaderSentence(metric);
    return element(
      "li",
      { class: sure && !metric.warning ? null : "unsure" },
      element("span", { class: "name" }, metric.name, " ", warningMark(metric)),
      text,
    );
  });
  // Of two systems, the verdict says it all.
  replace(byId("sentences"), data.systems.length > 2 ? sentences : []);
}
