// One metric against another: a point a system, or a point a segment.

const scatter = { x: 0, y: 1, what: "systems" };
const FRAME = { left: 58, right: 16, top: 14, bottom: 46 };

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

// Points {x, y, system, row}: systems with their scores, or segments of the selected systems.
function scatterPoints() {
  const [mx, my] = [data.metrics[scatter.x], data.metrics[scatter.y]];
  if (scatter.what === "systems")
    return data.systems.map((_, system) => ({
      x: mx.systems[system].score,
      y: my.systems[system].score,
      system,
      row: null,
    }));
  if (scatter.what === "scores")
    return [selection.a, selection.b].flatMap((system) => {
      const [x, y] = [details.scores[scatter.x][system], details.scores[scatter.y][system]];
      return x.map((value, row) => ({ x: value, y: y[row], system, row }));
    });
  const [x, y] = [scatter.x, scatter.y].map((index) =>
    segmentGains(index, selection.a, selection.b),
  );
  const preferred = (row) => (x[row] + y[row] >= 0 ? selection.b : selection.a);
  return x.map((value, row) => ({
    x: value,
    y: y[row],
    system: value * y[row] > 0 ? preferred(row) : null,
    row,
  }));
}

function scatterControls(metrics) {
  const choose = (name, label, options, numeric) =>
    element(
      "label",
      {},
      label,
      element(
        "select",
        {
          id: `scatter-${name}`,
          onchange: (event) => {
            scatter[name] = numeric ? Number(event.target.value) : event.target.value;
            showScatter();
            byId(`scatter-${name}`).focus();
          },
        },
        options,
      ),
    );
  const metricOptions = (name) =>
    metrics.map((index) =>
      option(index, metricLabel(data.metrics[index]), scatter[name] === index),
    );
  const [a, b] = [data.systems[selection.a], data.systems[selection.b]];
  const kinds = {
    systems: "all systems",
    gains: `segments: gain of ${b} over ${a}`,
    scores: `segments: scores of ${b} and ${a}`,
  };
  return element(
    "div",
    { class: "plot-controls" },
    choose(
      "what",
      "Points",
      Object.entries(kinds).map(([kind, words]) => option(kind, words, scatter.what === kind)),
      false,
    ),
    choose("x", "Horizontal axis", metricOptions("x"), true),
    choose("y", "Vertical axis", metricOptions("y"), true),
  );
}

function scatterWords(points) {
  const r = correlation(
    points.map((point) => point.x),
    points.map((point) => point.y),
  );
  const value = Number.isNaN(r) || points.length < 3 ? "not defined" : formatNumber(r, 2);
  const pearson = `Pearson’s r is ${value}.`;
  if (scatter.what !== "gains") return pearson;
  const opposite = points.filter((point) => point.x * point.y < 0).length;
  return (
    `${pearson} The two metrics prefer different systems in ${formatCount(opposite)} of ` +
    `${formatCount(points.length)} segments (${formatPercent(opposite / points.length)}): upper ` +
    "left and lower right."
  );
}

function scatterRange(values) {
  if (scatter.what !== "systems") return trimmedRange([values], 0.001);
  const [low, high] = extent(values);
  const margin = (high - low) * 0.08 || 0.5;
  return [low - margin, high + margin];
}

function scatterAxes(x, y, [x0, x1], [y0, y1], width, height) {
  const [right, base] = [width - FRAME.right, height - FRAME.bottom];
  const names = [data.metrics[scatter.x], data.metrics[scatter.y]].map((metric) => {
    const better = metric.higher_is_better ? "higher is better" : "lower is better";
    return scatter.what === "gains" ? `gain of ${metric.name}` : `${metric.name}, ${better}`;
  });
  const zero = (value) => (scatter.what === "gains" && value === 0 ? "zero" : "grid-line");
  const middle = (FRAME.top + base) / 2;
  return [
    ticks(x0, x1, width / 110).flatMap((tick) => [
      svgElement("line", { class: zero(tick), x1: x(tick), x2: x(tick), y1: FRAME.top, y2: base }),
      svgElement("text", { x: x(tick), y: base + 17, "text-anchor": "middle" }, formatTick(tick)),
    ]),
    ticks(y0, y1, 6).flatMap((tick) => [
      svgElement("line", { class: zero(tick), x1: FRAME.left, x2: right, y1: y(tick), y2: y(tick) }),
      svgElement("text", { x: FRAME.left - 7, y: y(tick) + 4, "text-anchor": "end" }, formatTick(tick)),
    ]),
    svgElement("line", { class: "axis", x1: FRAME.left, x2: right, y1: base, y2: base }),
    svgElement("line", { class: "axis", x1: FRAME.left, x2: FRAME.left, y1: FRAME.top, y2: base }),
    svgElement(
      "text",
      { class: "axis-name", x: (FRAME.left + right) / 2, y: height - 8, "text-anchor": "middle" },
      names[0],
    ),
    svgElement(
      "text",
      { class: "axis-name", transform: `translate(13 ${middle}) rotate(-90)`, "text-anchor": "middle" },
      names[1],
    ),
  ].flat();
}

// Thousands of segments as one path a system; systems as shapes with lines for their intervals.
function scatterMarks(placed, x, y) {
  if (scatter.what !== "systems") {
    const groups = new Map();
    for (const point of placed) {
      if (!groups.has(point.system)) groups.set(point.system, []);
      groups.get(point.system).push(`M${point.px.toFixed(1)} ${point.py.toFixed(1)}h0`);
    }
    return [...groups].map(([system, parts]) =>
      svgElement("path", {
        class: "points",
        "--colour": system === null ? "var(--quiet)" : systemColour(system),
        d: parts.join(""),
      }),
    );
  }
  const [mx, my] = [data.metrics[scatter.x], data.metrics[scatter.y]];
  return placed.flatMap(({ px, py, system }) => {
    const [h, v] = [mx.systems[system], my.systems[system]];
    const line = (x1, x2, y1, y2) =>
      svgElement("line", { class: "whisker thin", x1, x2, y1, y2, "--colour": systemColour(system) });
    return [
      h.low === null ? null : line(x(h.low), x(h.high), py, py),
      v.low === null ? null : line(px, px, y(v.low), y(v.high)),
      marker(system, px, py, 1.5),
    ];
  });
}

function scatterPlot(points) {
  const [width, height] = [availableWidth(byId("scatter"), 1140), 440];
  const bounds = (name, metric) =>
    scatter.what === "systems"
      ? metric.systems.flatMap(({ score, low, high }) => [score, low ?? score, high ?? score])
      : points.map((point) => point[name]);
  const [rx, ry] = [
    scatterRange(bounds("x", data.metrics[scatter.x])),
    scatterRange(bounds("y", data.metrics[scatter.y])),
  ];
  const x = scale(...rx, FRAME.left, width - FRAME.right);
  const y = scale(...ry, height - FRAME.bottom, FRAME.top);
  const inside = (value, [low, high]) => Math.min(high, Math.max(low, value));
  const placed = points.map((point) => ({
    ...point,
    px: x(inside(point.x, rx)),
    py: y(inside(point.y, ry)),
  }));
  const near = svgElement("circle", { class: "near", r: 8, visibility: "hidden" });
  const names = [data.metrics[scatter.x].name, data.metrics[scatter.y].name];
  const what = scatter.what === "systems" ? "system" : "segment";
  const plot = svgImage(
    width,
    height,
    `${names[1]} against ${names[0]}, a point for each ${what}`,
    scatterAxes(x, y, rx, ry, width, height),
    scatterMarks(placed, x, y),
    near,
  );
  return { plot, near, placed, width, height };
}

// The point nearest to the pointer is described below the plot; a click opens its segment.
function withPointer({ plot, near, placed, width, height }, status) {
  const nearest = (event) => {
    const box = plot.getBoundingClientRect();
    const px = ((event.clientX - box.left) / box.width) * width;
    const py = ((event.clientY - box.top) / box.height) * height;
    let best = null;
    let distance = 900; // within 30 units
    for (const point of placed) {
      const d = (point.px - px) ** 2 + (point.py - py) ** 2;
      if (d < distance) [best, distance] = [point, d];
    }
    return best;
  };
  const score = (metric, value) =>
    `${data.metrics[metric].name} ${formatNumber(value, data.metrics[metric].decimals)}`;
  plot.addEventListener("pointermove", (event) => {
    const point = nearest(event);
    if (!point) return;
    near.setAttribute("visibility", "visible");
    near.setAttribute("cx", point.px);
    near.setAttribute("cy", point.py);
    const scores = `${score(scatter.x, point.x)}, ${score(scatter.y, point.y)}`;
    const name = point.system === null ? "" : ` (${data.systems[point.system]})`;
    const segment = `Segment ${point.row + 1}${scatter.what === "scores" ? name : ""}`;
    status.textContent =
      point.row === null
        ? `${data.systems[point.system]}: ${scores}.`
        : `${segment}: ${scores}. Click to open it.`;
  });
  plot.addEventListener("click", (event) => {
    const point = nearest(event);
    if (point && point.row !== null) openSegment(point.row);
  });
}

function scatterLegend() {
  if (scatter.what === "systems")
    return element(
      "ul",
      { class: "legend" },
      data.systems.map((_, system) => element("li", {}, systemName(system))),
    );
  const dot = (system, words) =>
    element(
      "li",
      {},
      element("span", {
        class: "swatch",
        "--swatch": system === null ? "var(--quiet)" : systemColour(system),
      }),
      ` ${words}`,
    );
  const [a, b] = [selection.a, selection.b];
  if (scatter.what === "scores")
    return element(
      "ul",
      { class: "legend" },
      [b, a].map((system) => dot(system, data.systems[system])),
    );
  return element(
    "ul",
    { class: "legend" },
    [b, a].map((system) => dot(system, `both metrics prefer ${data.systems[system]}`)),
    dot(null, "equal, or the metrics disagree"),
  );
}

function showScatter() {
  const scored = data.metrics.map((_, index) => index);
  const withSegments = scored.filter((index) => data.metrics[index].has_segments);
  byId("metrics").hidden = scored.length < 2;
  if (scored.length < 2) return;
  if (withSegments.length < 2) scatter.what = "systems";
  if (scatter.what !== "systems" && !details) return;
  const usable = scatter.what === "systems" ? scored : withSegments;
  if (!usable.includes(scatter.x)) scatter.x = usable[0];
  if (!usable.includes(scatter.y) || scatter.y === scatter.x)
    scatter.y = usable.find((index) => index !== scatter.x);
  const points = scatterPoints();
  const hint =
    scatter.what === "systems" ? "a system to see its scores" : "a segment to see which it is";
  const status = element("p", { class: "quiet", id: "scatter-status" }, `Point at ${hint}.`);
  const parts = scatterPlot(points);
  withPointer(parts, status);
  replace(
    byId("scatter"),
    scatterControls(usable),
    element("p", { class: "quiet" }, scatterWords(points)),
    scatterLegend(),
    element("div", { class: "plot" }, parts.plot),
    status,
  );
}
