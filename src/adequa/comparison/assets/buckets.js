// Where systems differ: the difference of the selected two systems on parts of the segments.

const bucketScores = (metric, bucket) =>
  bucket.metrics.find((each) => each.name === metric.name).systems;

// The difference of b from a on a bucket, with an interval where one of them is the baseline.
function bucketDifference(metric, bucket) {
  const scores = bucketScores(metric, bucket);
  const [a, b] = [scores[selection.a], scores[selection.b]];
  const difference = b.score - a.score;
  if (selection.a === 0) return { difference, low: b.difference_low, high: b.difference_high };
  if (selection.b === 0)
    return { difference, low: negate(a.difference_high), high: negate(a.difference_low) };
  return { difference, low: null, high: null };
}

const DIFFERENCE = { width: 120, from: 14, to: 106 };

const differenceScale = (range) => scale(-range, range, DIFFERENCE.from, DIFFERENCE.to);

// Zero and a round number on either side.
function differenceTicks(range) {
  const positive = ticks(0, range, 2.5).filter((tick) => tick > 0);
  const largest = positive[positive.length - 1] ?? range;
  return [-largest, 0, largest];
}

function differenceAxis(range) {
  const x = differenceScale(range);
  return svgImage(
    DIFFERENCE.width,
    14,
    "",
    differenceTicks(range).map((tick) =>
      svgElement("text", { x: x(tick), y: 12, "text-anchor": "middle" }, formatTick(tick)),
    ),
  );
}

function differenceLine(metric, part, range) {
  const x = differenceScale(range);
  const clipped = (value) => Math.min(DIFFERENCE.to + 4, Math.max(DIFFERENCE.from - 4, x(value)));
  const better = signOf(metric) * part.difference >= 0 ? selection.b : selection.a;
  const grid = differenceTicks(range).filter(Boolean);
  return svgImage(
    DIFFERENCE.width,
    16,
    "",
    grid.map((tick) =>
      svgElement("line", { class: "grid-line", x1: x(tick), x2: x(tick), y1: 0, y2: 16 }),
    ),
    svgElement("line", { class: "axis", x1: 0, x2: DIFFERENCE.width, y1: 8, y2: 8 }),
    svgElement("line", { class: "zero", x1: x(0), x2: x(0), y1: 0, y2: 16 }),
    part.low === null
      ? null
      : svgElement("line", {
          class: "whisker",
          x1: clipped(part.low),
          x2: clipped(part.high),
          y1: 8,
          y2: 8,
          "--colour": systemColour(better),
        }),
    marker(better, clipped(part.difference), 8),
  );
}

function bucketRow(metric, number, index, bucket, range) {
  const part = bucketDifference(metric, bucket);
  const scores = bucketScores(metric, bucket);
  const significant = part.low !== null && (part.low > 0 || part.high < 0);
  const label = formatSigned(part.difference, metric.decimals) + (significant ? " *" : "");
  const words =
    part.low === null
      ? null
      : `${formatSigned(part.low, metric.decimals)} to ${formatSigned(part.high, metric.decimals)}`;
  return element(
    "tr",
    {},
    element(
      "th",
      { scope: "row" },
      element(
        "button",
        { type: "button", class: "link", onclick: () => filterBucket(number, index) },
        bucket.name,
      ),
    ),
    element("td", { class: "number" }, formatCount(bucket.segments)),
    [selection.a, selection.b].map((system) =>
      element(
        "td",
        { class: "number aside" },
        formatNumber(scores[system].score, metric.decimals),
      ),
    ),
    element("td", { class: significant ? "number sure" : "number", title: words }, label),
    element("td", {}, differenceLine(metric, part, range)),
  );
}

function bucketCard(metric, dimension, number) {
  const differences = dimension.buckets.map((bucket) => {
    const part = bucketDifference(metric, bucket);
    return Math.max(Math.abs(part.difference), Math.abs(part.low ?? 0), Math.abs(part.high ?? 0));
  });
  const order = dimension.buckets.map((_, index) => index);
  const many = order.length > 12;
  const size = (index) =>
    Math.abs(bucketDifference(metric, dimension.buckets[index]).difference);
  if (many) order.sort((x, y) => size(y) - size(x));
  const range = Math.max(...differences) || 1;
  const systems = [selection.a, selection.b].map(systemShape);
  const names = ["Segments", ...systems, "Difference"];
  const head = [
    element("td", {}),
    ...names.map((name, index) =>
      element(
        "th",
        { scope: "col", class: index === 1 || index === 2 ? "number aside" : "number" },
        name,
      ),
    ),
    element("td", {}, differenceAxis(range)),
  ];
  const table = element(
    "table",
    {},
    element("caption", {}, `${metric.name} by ${dimension.title.toLowerCase()}`),
    element("thead", {}, element("tr", {}, head)),
    element(
      "tbody",
      {},
      order.map((index) => bucketRow(metric, number, index, dimension.buckets[index], range)),
    ),
  );
  return element(
    "div",
    { class: "card" },
    element("h3", {}, dimension.title),
    many
      ? element(
          "div",
          { class: "limited", tabindex: "0", role: "region", "aria-label": dimension.title },
          table,
        )
      : table,
  );
}

function showBuckets() {
  // Without references there are no subsets but documents.
  byId("where").hidden = Boolean(details) && !details.dimensions.length;
  const metric = selectedMetric();
  const words = [
    `${metricLabel(metric)} (${direction(metric)}) of `,
    systemName(selection.b),
    " minus ",
    systemName(selection.a),
    ` on subsets of the segments. * the ${formatLevel(data.settings.confidence)} interval of the ` +
      "difference excludes zero; of so many subsets, some do by chance. Intervals are computed " +
      "against the baseline only. ",
  ];
  replace(
    byId("where-note"),
    metric.has_segments
      ? [...words, forScreens("Choose a subset to see its segments.")]
      : `${metric.name} has no segment scores.`,
  );
  replace(
    byId("buckets"),
    metric.has_segments && details
      ? details.dimensions.map((dimension, number) => bucketCard(metric, dimension, number))
      : [],
  );
}

function filterBucket(number, index) {
  byId("bucket").value = `${number}-${index}`;
  updateBrowser(true);
  byId("segments").focus({ preventScroll: true });
  byId("segments").scrollIntoView();
}
