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

// Round numbers across a range, about so many of them.
function ticks(low, high, about) {
  const rough = (high - low) / about || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((digit) => digit * power).find((each) => each >= rough) || rough;
  const values = [];
  for (let index = Math.ceil(low / step); index * step <= high + step * 1e-9; index += 1) {
    values.push(index * step);
  }
  return values;
}

const formatTick = (value) => String(Number(value.toPrecision(6))).replace("-", "−");
