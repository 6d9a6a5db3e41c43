// Distributions of segment scores, of gains, and one metric against another.

const BINS = 30;
const scatter = { x: 0, y: 1, what: "gains" };

function histogram(values, low, high, bins) {
  const counts = new Array(bins).fill(0);
  const width = (high - low) / bins || 1;
  for (const value of values)
    counts[Math.min(bins - 1, Math.max(0, Math.floor((value - low) / width)))] += 1;
  return counts;
}

// The width of a drawing, so that its text keeps its size.
const availableWidth = (node, most) => Math.max(240, Math.min(most, node.clientWidth - 34));

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

function distribution(metric, index, scores, low, high, tallest) {
  const width = 190;
  const height = 84;
  const counts = histogram(scores, low, high, BINS);
  const x = scale(0, BINS, 2, width - 2);
  const y = scale(0, tallest, 0, height - 18);
  const kind = index === selection.b ? "bar b" : index === selection.a ? "bar a" : "bar";
  const rough = high - low > 10 ? 0 : 2;
  const [average, middle] = [mean(scores), median(scores)].map((value) =>
    formatNumber(value, metric.decimals),
  );
  const words = `mean ${average}, median ${middle}`;
  const bars = counts.map((count, bin) =>
    svgElement("rect", {
      class: kind,
      x: x(bin) + 0.5,
      y: height - 16 - y(count),
      width: (width - 4) / BINS - 1,
      height: y(count),
    }),
  );
  return element(
    "figure",
    {},
    element("figcaption", {}, data.systems[index], element("small", {}, words)),
    svgImage(
      width,
      height,
      `Histogram of ${metric.name} of ${data.systems[index]}: ${words}`,
      bars,
      svgElement("line", { class: "axis", x1: 0, x2: width, y1: height - 16, y2: height - 16 }),
      svgElement("text", { x: 0, y: height - 2 }, formatNumber(low, rough)),
      svgElement(
        "text",
        { x: width, y: height - 2, "text-anchor": "end" },
        formatNumber(high, rough),
      ),
    ),
  );
}

function showDistributions() {
  const metric = selectedMetric();
  const scores = details && details.scores[selection.metric];
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
    scores.map((row, index) => distribution(metric, index, row, low, high, tallest)),
  );
  byId("gains").hidden = false;
  showGains(metric);
}

function showGains(metric) {
  const gains = segmentGains(selection.metric, selection.a, selection.b);
  const [least, most] = trimmedRange([gains], 0.005);
  const range = Math.max(Math.abs(least), Math.abs(most)) || 1;
  const bins = 2 * BINS + 1; // an odd number: the middle one is about zero
  const counts = histogram(gains, -range, range, bins);
  const [width, height] = [availableWidth(byId("gains"), 1140), 190];
  const x = scale(0, bins, 4, width - 4);
  const tallest = Math.max(...counts);
  const y = (count) => (Math.sqrt(count) / Math.sqrt(tallest || 1)) * (height - 40);
  const middle = (bins - 1) / 2;
  const kind = (bin) => (bin < middle ? "bar a" : bin > middle ? "bar b" : "bar tie");
  const bars = counts.map((count, bin) =>
    svgElement(
      "rect",
      {
        class: kind(bin),
        x: x(bin) + 0.5,
        y: height - 22 - y(count),
        width: (width - 8) / bins - 1,
        height: y(count),
      },
      svgElement("title", {}, `${formatCount(count)} segments`),
    ),
  );
  const line = scale(-range, range, 4, width - 4);
  const marks = ticks(-range, range, width / 90).map((tick) =>
    svgElement("text", { x: line(tick), y: height - 5, "text-anchor": "middle" }, formatTick(tick)),
  );
  const [a, b] = [data.systems[selection.a], data.systems[selection.b]];
  const words = `By how much ${b} is better than ${a}`;
  replace(
    byId("gains"),
    element(
      "figcaption",
      {},
      words,
      element(
        "small",
        {},
        `${metric.name}, segment by segment, median ` +
          `${formatSigned(median(gains), metric.decimals)}; heights are square roots of counts`,
      ),
    ),
    svgImage(
      width,
      height,
      `${words}, segment by segment`,
      bars,
      marks,
      svgElement("line", { class: "axis", x1: 0, x2: width, y1: height - 22, y2: height - 22 }),
    ),
  );
}

function correlation(x, y) {
  const [mx, my] = [mean(x), mean(y)];
  let [xy, xx, yy] = [0, 0, 0];
  for (let row = 0; row < x.length; row += 1) {
    xy += (x[row] - mx) * (y[row] - my);
    xx += (x[row] - mx) ** 2;
    yy += (y[row] - my) ** 2;
  }
  return xx && yy ? xy / Math.sqrt(xx * yy) : NaN;
}

function scatterValues(index) {
  return scatter.what === "gains"
    ? segmentGains(index, selection.a, selection.b)
    : details.scores[index][selection.b];
}

function scatterControls(metrics) {
  const pick = (name) => {
    const change = (event) => {
      scatter[name] = Number(event.target.value);
      showScatter();
      byId(`scatter-${name}`).focus();
    };
    return element(
      "label",
      {},
      name === "x" ? "Across" : "Up",
      element(
        "select",
        { id: `scatter-${name}`, onchange: change },
        metrics.map((index) => option(index, data.metrics[index].name, scatter[name] === index)),
      ),
    );
  };
  const what = (event) => {
    scatter.what = event.target.value;
    showScatter();
    byId("scatter-what").focus();
  };
  return element(
    "div",
    { class: "plot-controls" },
    pick("x"),
    pick("y"),
    element(
      "label",
      { class: "long" },
      "Of each segment",
      element(
        "select",
        { id: "scatter-what", onchange: what },
        option(
          "gains",
          `gain of ${data.systems[selection.b]} over ${data.systems[selection.a]}`,
          scatter.what === "gains",
        ),
        option("scores", `score of ${data.systems[selection.b]}`, scatter.what === "scores"),
      ),
    ),
  );
}

function scatterWords(x, y) {
  const r = correlation(x, y);
  const pearson = `Pearson’s r is ${Number.isNaN(r) ? "not defined" : formatNumber(r, 2)}.`;
  if (scatter.what !== "gains") return pearson;
  const opposite = x.filter((value, row) => value * y[row] < 0).length;
  const often = `${formatCount(opposite)} of ${formatCount(x.length)} segments`;
  return (
    `${pearson} The two metrics prefer different systems in ${often} ` +
    `(${formatPercent(opposite / x.length)}): upper left and lower right.`
  );
}

function scatterPlot(x, y) {
  const [width, height, edge] = [availableWidth(byId("scatter"), 1140), 440, 46];
  const [x0, x1] = trimmedRange([x], 0.001);
  const [y0, y1] = trimmedRange([y], 0.001);
  const across = scale(x0, x1, edge, width - 12);
  const up = scale(y0, y1, height - 32, 12);
  const inside = (value, low, high) => Math.min(high, Math.max(low, value));
  const points = x.map((value, row) => [across(inside(value, x0, x1)), up(inside(y[row], y0, y1))]);
  const path = points.map(([px, py]) => `M${px.toFixed(1)} ${py.toFixed(1)}h0`).join("");
  const lines = [];
  if (x0 < 0 && x1 > 0 && scatter.what === "gains")
    lines.push(
      svgElement("line", { class: "zero", x1: across(0), x2: across(0), y1: 12, y2: height - 32 }),
    );
  if (y0 < 0 && y1 > 0 && scatter.what === "gains")
    lines.push(
      svgElement("line", { class: "zero", y1: up(0), y2: up(0), x1: edge, x2: width - 12 }),
    );
  const marks = [
    ticks(x0, x1, width / 90).map((tick) =>
      svgElement(
        "text",
        { x: across(tick), y: height - 14, "text-anchor": "middle" },
        formatTick(tick),
      ),
    ),
    ticks(y0, y1, 6).map((tick) =>
      svgElement("text", { x: edge - 6, y: up(tick) + 4, "text-anchor": "end" }, formatTick(tick)),
    ),
  ].flat();
  const near = svgElement("circle", { class: "near", r: 7, visibility: "hidden" });
  const names = [data.metrics[scatter.x].name, data.metrics[scatter.y].name];
  const plot = svgImage(
    width,
    height,
    `${names[0]} against ${names[1]}, a point a segment`,
    lines,
    svgElement("path", { class: "points", d: path }),
    near,
    marks,
    svgElement("text", { x: width - 12, y: height - 1, "text-anchor": "end" }, `${names[0]} →`),
    svgElement("text", { x: 4, y: 10 }, `↑ ${names[1]}`),
  );
  return { plot, near, points, width, height };
}

// The point nearest to the pointer is described below the plot, and opened by a click.
function withPointer({ plot, near, points, width, height }, status, x, y) {
  const nearest = (event) => {
    const box = plot.getBoundingClientRect();
    const px = ((event.clientX - box.left) / box.width) * width;
    const py = ((event.clientY - box.top) / box.height) * height;
    let best = -1;
    let distance = 900; // within 30 units
    points.forEach(([cx, cy], row) => {
      const d = (cx - px) ** 2 + (cy - py) ** 2;
      if (d < distance) [best, distance] = [row, d];
    });
    return best;
  };
  plot.addEventListener("pointermove", (event) => {
    const row = nearest(event);
    if (row < 0) return;
    near.setAttribute("visibility", "visible");
    near.setAttribute("cx", points[row][0]);
    near.setAttribute("cy", points[row][1]);
    const score = (metric, value) => formatNumber(value, data.metrics[metric].decimals);
    const scores = `${score(scatter.x, x[row])} and ${score(scatter.y, y[row])}`;
    status.textContent = `Segment ${row + 1}: ${scores}. Click to open it.`;
  });
  plot.addEventListener("click", (event) => {
    const row = nearest(event);
    if (row >= 0) openSegment(row);
  });
}

function showScatter() {
  const scored = data.metrics
    .map((_, index) => index)
    .filter((index) => data.metrics[index].has_segments);
  byId("metrics").hidden = scored.length < 2;
  if (scored.length < 2 || !details) return;
  if (!scored.includes(scatter.x)) scatter.x = scored[0];
  if (!scored.includes(scatter.y) || scatter.y === scatter.x)
    scatter.y = scored.find((index) => index !== scatter.x);
  const [x, y] = [scatterValues(scatter.x), scatterValues(scatter.y)];
  const status = element(
    "p",
    { class: "quiet", id: "scatter-status" },
    "Point at a segment to see which it is.",
  );
  const scatterParts = scatterPlot(x, y);
  withPointer(scatterParts, status, x, y);
  replace(
    byId("scatter"),
    scatterControls(scored),
    element("p", { class: "quiet" }, scatterWords(x, y)),
    element("div", { class: "plot" }, scatterParts.plot),
    status,
  );
}
