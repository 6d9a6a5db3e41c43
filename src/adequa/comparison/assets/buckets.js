// Where systems differ: parts of the segments, with the difference of the chosen two on each.

// The difference of b from a on a part, with an interval where a is the baseline.
function partOf(metric, part) {
  const difference = part.scores[chosen.b] - part.scores[chosen.a];
  if (chosen.a === 0) return { difference, low: part.low[chosen.b], high: part.high[chosen.b] };
  if (chosen.b === 0) {
    const [low, high] = [part.high[chosen.a], part.low[chosen.a]];
    return { difference, low: low === null ? null : -low, high: high === null ? null : -high };
  }
  return { difference, low: null, high: null };
}

function differenceLine(metric, part, reach) {
  const x = scale(-reach, reach, 4, 116);
  const clipped = (value) => Math.min(116, Math.max(4, x(value)));
  const kind = signOf(metric) * part.difference >= 0 ? "dot" : "dot a";
  return picture(
    120,
    14,
    "",
    drawn("line", { class: "axis", x1: 0, x2: 120, y1: 7, y2: 7 }),
    drawn("line", { class: "zero", x1: x(0), x2: x(0), y1: 0, y2: 14 }),
    part.low === null
      ? null
      : drawn("line", {
          class: "whisker",
          x1: clipped(part.low),
          x2: clipped(part.high),
          y1: 7,
          y2: 7,
        }),
    drawn("circle", { class: kind, cx: clipped(part.difference), cy: 7, r: 4.5 }),
  );
}

function bucketRow(metric, number, place, bucket, reach) {
  const part = partOf(metric, bucket.metrics[chosen.metric]);
  const scores = bucket.metrics[chosen.metric].scores;
  const sure = part.low !== null && (part.low > 0 || part.high < 0);
  const label = signed(part.difference, metric.decimals) + (sure ? " *" : "");
  const words =
    part.low === null
      ? null
      : `${signed(part.low, metric.decimals)} to ${signed(part.high, metric.decimals)}`;
  return element(
    "tr",
    {},
    element(
      "th",
      { scope: "row" },
      element(
        "button",
        { type: "button", class: "link", onclick: () => filterBucket(number, place) },
        bucket.label,
      ),
    ),
    element("td", { class: "number" }, whole(bucket.count)),
    element("td", { class: "number aside" }, fixed(scores[chosen.a], metric.decimals)),
    element("td", { class: "number aside" }, fixed(scores[chosen.b], metric.decimals)),
    element("td", { class: sure ? "number sure" : "number", title: words }, label),
    element("td", {}, differenceLine(metric, part, reach)),
  );
}

function bucketCard(metric, dimension, number) {
  const differences = dimension.buckets.map((bucket) => {
    const part = partOf(metric, bucket.metrics[chosen.metric]);
    return Math.max(Math.abs(part.difference), Math.abs(part.low ?? 0), Math.abs(part.high ?? 0));
  });
  const order = dimension.buckets.map((_, place) => place);
  const many = order.length > 12;
  const size = (place) =>
    Math.abs(partOf(metric, dimension.buckets[place].metrics[chosen.metric]).difference);
  if (many) order.sort((x, y) => size(y) - size(x));
  const reach = Math.max(...differences) || 1;
  const names = ["", "Segments", data.systems[chosen.a], data.systems[chosen.b], "Difference", ""];
  const head = names.map((name, place) =>
    name
      ? element(
          "th",
          { scope: "col", class: place === 2 || place === 3 ? "number aside" : "number" },
          name,
        )
      : element("td", {}),
  );
  const table = element(
    "table",
    {},
    element("caption", {}, `${metric.name} by ${dimension.title.toLowerCase()}`),
    element("thead", {}, element("tr", {}, head)),
    element(
      "tbody",
      {},
      order.map((place) => bucketRow(metric, number, place, dimension.buckets[place], reach)),
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
  const metric = metricNow();
  byId("where-note").textContent = metric.hasSegments
    ? `${metric.name} of ${data.systems[chosen.b]} and ${data.systems[chosen.a]} on parts of the ` +
      `segments. * where the ${level(data.confidence)} interval of the difference leaves out ` +
      "zero; with so many parts, some do by chance. Choose a part to see its segments."
    : `${metric.name} has no scores of segments.`;
  replace(
    byId("buckets"),
    metric.hasSegments && details
      ? details.dimensions.map((dimension, number) => bucketCard(metric, dimension, number))
      : [],
  );
}

function filterBucket(number, place) {
  byId("bucket").value = `${number}-${place}`;
  browse(true);
  byId("segments").focus({ preventScroll: true });
  byId("segments").scrollIntoView();
}
