// Segment scores: quality bands, distributions, and gains of one system over another.

const BINS = 30;

function histogram(values, low, high, bins) {
  const counts = new Array(bins).fill(0);
  const width = (high - low) / bins || 1;
  for (const value of values)
    counts[Math.min(bins - 1, Math.max(0, Math.floor((value - low) / width)))] += 1;
  return counts;
}

// The width of a drawing, so that its text keeps its size.
const availableWidth = (node, limit) => Math.max(240, Math.min(limit, node.clientWidth - 34));

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

function median(values) {
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

// The range without outliers, which would flatten everything else.
function trimmedRange(lists, fraction) {
  const sorted = Float64Array.from(lists.flat()).sort();
  const at = (part) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
  const [low, high] = [at(fraction), at(1 - fraction)];
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}

// The share of segments in each band of score, a bar a system; the best band stands last.
function bandLabels(metric, edges) {
  const format = (value) => formatNumber(value, metric.decimals);
  const [worse, better] = metric.higher_is_better ? ["under", "or more"] : ["over", "or less"];
  return [
    `${worse} ${format(edges[0])}`,
    ...edges.slice(1).map((edge, index) => `${format(edges[index])} to ${format(edge)}`),
    `${format(edges[edges.length - 1])} ${better}`,
  ];
}

function bandRow({ name, fractions }, system) {
  const kind = (index) => `band-${index + 4 - fractions.length}`;
  const parts = fractions.map((fraction, index) =>
    element(
      "span",
      { class: kind(index), "--share": String(fraction) },
      fraction >= 0.06 ? formatPercent(fraction) : "",
    ),
  );
  const words = fractions.map((fraction) => formatPercent(fraction)).join(", ");
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, systemName(system)),
    element(
      "td",
      {},
      element("div", { class: "stack-bar", "aria-hidden": "true" }, parts),
      element("span", { class: "unseen" }, `${name}, from the worst band to the best: ${words}`),
    ),
  );
}

function showBands(metric) {
  const bands = data.bands.find((each) => each.metric === metric.name);
  byId("bands").hidden = !bands || !bands.edges.length;
  if (byId("bands").hidden) return;
  const labels = bandLabels(metric, bands.edges);
  const percentages = [0, 25, 50, 75, 100];
  replace(
    byId("bands"),
    element("h3", {}, `Quality bands of ${metricLabel(metric)}`),
    element(
      "p",
      { class: "quiet" },
      "Share of each system’s segments in bands of score. The bands end at the quartiles of all " +
        "systems’ segments together.",
    ),
    element(
      "ul",
      { class: "legend" },
      labels.map((label, index) =>
        element(
          "li",
          {},
          element("span", { class: `swatch square band-${index + 4 - labels.length}` }),
          ` ${label}`,
        ),
      ),
    ),
    element(
      "table",
      { class: "bands" },
      element("caption", {}, `Share of segments in bands of ${metric.name}`),
      element(
        "tbody",
        {},
        orderBy(metric).map((system) => bandRow(bands.systems[system], system)),
      ),
      element(
        "tfoot",
        { "aria-hidden": "true" },
        element(
          "tr",
          {},
          element("td", {}),
          element(
            "td",
            {},
            element(
              "div",
              { class: "percent-axis" },
              percentages.map((percent) => element("span", {}, `${percent}%`)),
            ),
          ),
        ),
      ),
    ),
  );
}

function distribution(metric, index, scores, low, high, tallest) {
  const [width, height, left, base] = [230, 112, 34, 92];
  const counts = histogram(scores, low, high, BINS);
  const x = scale(0, BINS, left, width - 8);
  const y = scale(0, tallest, base, 8);
  const [average, middle] = [mean(scores), median(scores)].map((value) =>
    formatNumber(value, metric.decimals),
  );
  const words = `mean ${average}, median ${middle}`;
  const bars = counts.map((count, bin) =>
    svgElement("rect", {
      class: "bar",
      "--colour": systemColour(index),
      x: x(bin) + 0.4,
      y: y(count),
      width: (width - 8 - left) / BINS - 0.8,
      height: base - y(count),
    }),
  );
  const levels = ticks(0, tallest, 2).filter(Number.isInteger);
  return element(
    "figure",
    {},
    element("figcaption", {}, systemName(index), element("small", {}, words)),
    svgImage(
      width,
      height,
      `Histogram of ${metric.name} of ${data.systems[index]}: ${words}`,
      levels.map((count) => [
        svgElement("line", { class: "grid-line", x1: left, x2: width - 8, y1: y(count), y2: y(count) }),
        svgElement("text", { x: left - 5, y: y(count) + 4, "text-anchor": "end" }, formatCount(count)),
      ]).flat(),
      bars,
      svgElement("line", { class: "axis", x1: left, x2: width - 8, y1: base, y2: base }),
      axisNumbers(low, high, scale(low, high, left, width - 8), height - 5, 5),
    ),
  );
}

function showDistributions() {
  const metric = selectedMetric();
  const scores = details && details.scores[selection.metric];
  showBands(metric);
  if (!scores) {
    const words = details ? `${metric.name} has no segment scores.` : "Unpacking …";
    replace(byId("histograms"), element("p", { class: "quiet" }, words));
    replace(byId("gains"));
    byId("gains").hidden = true;
    return;
  }
  const [low, high] = trimmedRange(scores, 0.002);
  const tallest = Math.max(...scores.map((row) => Math.max(...histogram(row, low, high, BINS))));
  replace(
    byId("histograms"),
    orderBy(metric).map((index) =>
      distribution(metric, index, scores[index], low, high, tallest),
    ),
  );
  byId("gains").hidden = false;
  showGains(metric);
}

function showGains(metric) {
  const gains = segmentGains(selection.metric, selection.a, selection.b);
  const [lowest, highest] = trimmedRange([gains], 0.005);
  const range = Math.max(Math.abs(lowest), Math.abs(highest)) || 1;
  const bins = 2 * BINS + 1; // an odd number: the middle one is about zero
  const counts = histogram(gains, -range, range, bins);
  const [width, height, left, base] = [availableWidth(byId("gains"), 1140), 210, 44, 182];
  const x = scale(0, bins, left, width - 8);
  const tallest = Math.max(...counts);
  const y = (count) => base - (Math.sqrt(count) / Math.sqrt(tallest || 1)) * (base - 12);
  const middle = (bins - 1) / 2;
  const kind = (bin) => (bin < middle ? "bar a" : bin > middle ? "bar b" : "bar tie");
  const bars = counts.map((count, bin) =>
    svgElement(
      "rect",
      {
        class: kind(bin),
        x: x(bin) + 0.5,
        y: y(count),
        width: (width - 8 - left) / bins - 1,
        height: base - y(count),
      },
      svgElement("title", {}, `${formatCount(count)} segments`),
    ),
  );
  const levels = [...new Set([1, tallest / 16, tallest / 4, tallest].map(Math.round))];
  const grid = levels
    .filter((count) => count > 0 && (count === tallest || y(count) - y(tallest) > 14))
    .filter((count) => base - y(count) > 12)
    .map((count) => [
      svgElement("line", { class: "grid-line", x1: left, x2: width - 8, y1: y(count), y2: y(count) }),
      svgElement("text", { x: left - 6, y: y(count) + 4, "text-anchor": "end" }, formatCount(count)),
    ])
    .flat();
  const [a, b] = [data.systems[selection.a], data.systems[selection.b]];
  const words = `Gain of ${b} over ${a}, segment by segment`;
  replace(
    byId("gains"),
    element(
      "figcaption",
      {},
      words,
      element(
        "small",
        {},
        `Number of segments by gain of ${metric.name}, median ` +
          `${formatSigned(median(gains), metric.decimals)}; counts on a square-root scale, so ` +
          "that rare gains show",
      ),
    ),
    svgImage(
      width,
      height,
      words,
      grid,
      bars,
      axisNumbers(
        -range,
        range,
        scale(-range, range, left, width - 8),
        height - 10,
        Math.max(5, width / 90),
      ),
      svgElement("line", { class: "axis", x1: left, x2: width - 8, y1: base, y2: base }),
    ),
    element(
      "ul",
      { class: "legend" },
      element("li", {}, element("span", { class: "swatch square a" }), ` ${a} is better`),
      element("li", {}, element("span", { class: "swatch square b" }), ` ${b} is better`),
    ),
  );
}
