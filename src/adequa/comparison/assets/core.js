// Shared by all parts: the data, the selection, elements, and formatted numbers.
// Text of users becomes text nodes and nothing else: no element is ever made from a string.

let data = null; // the summary: everything but segments
let details = null; // segments, once they are unpacked
const selection = { metric: 0, a: 0, b: 1 };
const views = []; // functions that show the selection

const byId = (id) => document.getElementById(id);

function renderViews() {
  for (const view of views) view();
}

function withContent(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) node.style.setProperty(name, value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

function element(tag, attributes, ...children) {
  return withContent(document.createElement(tag), attributes, children);
}

function svgElement(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  return withContent(node, attributes, children);
}

function svgImage(width, height, label, ...children) {
  const box = { viewBox: `0 0 ${width} ${height}`, width, height };
  if (!label) return svgElement("svg", { ...box, "aria-hidden": "true" }, ...children);
  return svgElement("svg", { ...box, role: "img", "aria-label": label }, ...children);
}

function replace(node, ...children) {
  node.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
}

// Systems keep their colour and shape through the whole page. Shapes tell them apart where colours
// cannot: on paper, for colour-blind readers, and of more systems than there are colours.

const COLOURS = 8; // --s0 to --s7 in the style sheet
const SHAPES = [
  "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z", // circle
  "M-4 -4h8v8h-8z", // square
  "M0 -5.5l5.2 9h-10.4z", // triangle
  "M0 -5.8l5.2 5.8l-5.2 5.8l-5.2 -5.8z", // diamond
  "M-1.6 -5h3.2v3.4h3.4v3.2h-3.4v3.4h-3.2v-3.4h-3.4v-3.2h3.4z", // plus
  "M0 5.5l5.2 -9h-10.4z", // triangle on its tip
  "M-3 -5.2h6l3 5.2l-3 5.2h-6l-3 -5.2z", // hexagon
  "M0 -6l1.6 4.2h4.4l-3.5 2.7l1.3 4.3l-3.8 -2.6l-3.8 2.6l1.3 -4.3l-3.5 -2.7h4.4z", // star
  "M-4.9 -2.9l2 -2l2.9 2.9l2.9 -2.9l2 2l-2.9 2.9l2.9 2.9l-2 2l-2.9 -2.9l-2.9 2.9l-2 -2l2.9 -2.9z",
];
const systemColour = (system) => `var(--s${system % COLOURS})`;

function marker(system, x, y, size = 1) {
  return svgElement("path", {
    d: SHAPES[system % SHAPES.length],
    transform: `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${size})`,
    class: "marker",
    "--colour": systemColour(system),
  });
}

// The name of a system with its shape in its colour.
function systemName(system) {
  return element(
    "span",
    { class: "system", title: data.systems[system] },
    svgImage(14, 14, "", marker(system, 7, 7)),
    element("span", {}, data.systems[system]),
  );
}

// The shape of a system where its name stands elsewhere, and is for those who do not see it.
function systemShape(system) {
  return element(
    "span",
    { class: "system", title: data.systems[system] },
    svgImage(14, 14, "", marker(system, 7, 7)),
    element("span", { class: "unseen" }, data.systems[system]),
  );
}

// The two selected systems give --system-a and --system-b their colours.
function colourSelection() {
  const same = selection.a % COLOURS === selection.b % COLOURS;
  const root = document.documentElement.style;
  root.setProperty("--system-a", systemColour(selection.a));
  root.setProperty("--system-b", same ? "var(--ink)" : systemColour(selection.b));
}

// A mark at numbers of a metric that does not know the language.
function warningMark(metric) {
  if (!metric.warning) return null;
  return element(
    "span",
    { class: "caution", title: metric.warning, role: "img", "aria-label": "language warning" },
    "⚠",
  );
}

// Words that are of no use on paper.
const forScreens = (words) => element("span", { class: "control" }, words);

const metricLabel = (metric) => (metric.warning ? `${metric.name} ⚠` : metric.name);
const direction = (metric) =>
  metric.higher_is_better ? "↑ higher is better" : "↓ lower is better";

function option(value, text, selected) {
  return element("option", { value, selected }, text);
}

function formatNumber(value, decimals) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const text = value.toFixed(decimals);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
}

function formatSigned(value, decimals) {
  if (value === null || value === undefined) return "–";
  const text = formatNumber(value, decimals);
  return Number(text) > 0 ? `+${text}` : text;
}

function formatProbability(p) {
  if (p === null || p === undefined) return "–";
  if (data.settings.alpha < 0.0001 && p < 0.0001) return p.toPrecision(2);
  if (p < 0.00005) return "<0.0001";
  // More digits where fewer would put it on the other side of alpha.
  for (let digits = p < 0.0095 ? 4 : 3; digits < 17; digits += 1) {
    const text = p.toFixed(digits);
    if (Number(text) <= data.settings.alpha === p <= data.settings.alpha) return text;
  }
  return String(p);
}

const formatPercent = (share, decimals = 0) => `${(100 * share).toFixed(decimals)}%`;
// A level with all its digits: 99.5% is not 100%.
const formatLevel = (share) => `${Number((100 * share).toPrecision(12))}%`;
const formatCount = (count) => count.toLocaleString("en");
const selectedMetric = () => data.metrics[selection.metric];
const signOf = (metric) => (metric.higher_is_better ? 1 : -1);

function joinNames(words) {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
}

const negate = (value) => (value === null ? null : -value);

// The pair of two systems under a metric, with differences of `b` less `a`.
function findPair(metric, a, b) {
  const names = [data.systems[a], data.systems[b]];
  const pair = metric.pairs.find(
    ({ first, second }) => names.includes(first) && names.includes(second),
  );
  if (!pair || pair.first === names[0]) return pair ? { ...pair, a, b } : null;
  return {
    ...pair,
    a,
    b,
    difference: negate(pair.difference),
    gain: negate(pair.gain),
    effect: negate(pair.effect),
    low: negate(pair.high),
    high: negate(pair.low),
    wins: pair.losses,
    losses: pair.wins,
  };
}

// Results computed from segments, by the selection that they depend on.
const memo = new Map();

function memoize(key, compute) {
  if (!memo.has(key)) {
    if (memo.size >= 32) memo.clear();
    memo.set(key, compute());
  }
  return memo.get(key);
}

// How much better system b is than a on each segment; null without segment scores. Differences by
// rounding are zero.
function segmentGains(index, a, b) {
  const scores = details && details.scores[index];
  if (!scores) return null;
  const sign = signOf(data.metrics[index]);
  const rounding = details.rounding[index];
  return memoize(`gains ${index} ${a} ${b}`, () =>
    scores[b].map((score, row) => {
      const gain = sign * (score - scores[a][row]);
      return Math.abs(gain) <= rounding ? 0 : gain;
    }),
  );
}

function scale(from, to, low, high) {
  const width = to - from || 1;
  return (value) => low + ((value - from) / width) * (high - low);
}

function extent(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low > high ? [0, 1] : [low, high];
}

const MOST_TICKS = 64; // where a range is too narrow for distinct numbers, or has no end

// Round numbers across a range, about so many of them, and two at least.
function ticks(low, high, about) {
  const rough = (high - low) / about || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((digit) => digit * power).find((each) => each >= rough) || rough;
  const values = [];
  for (let index = Math.ceil(low / step); index * step <= high + step * 1e-9; index += 1) {
    values.push(index * step);
  }
  const few = values.length < 2 && high > low && about < MOST_TICKS;
  return few ? ticks(low, high, 2 * about) : values;
}

// Numbers under a line, at round values.
function axisNumbers(low, high, x, y, about) {
  return ticks(low, high, about).map((tick) =>
    svgElement("text", { x: x(tick), y, "text-anchor": "middle" }, formatTick(tick)),
  );
}

const formatTick = (value) => String(Number(value.toPrecision(6))).replace("-", "−");
