// The selection, the methods, light and dark; and the start of the page.

function fillChoosers() {
  const systems = (now) => data.systems.map((name, index) => option(index, name, index === now));
  replace(
    byId("metric"),
    data.metrics.map((metric, index) => option(index, metricLabel(metric), index === selection.metric)),
  );
  replace(byId("system-a"), systems(selection.a));
  replace(byId("system-b"), systems(selection.b));
  colourSelection();
}

// Select other systems or another metric; the two systems are never the same.
function select(change, from) {
  const before = { ...selection };
  Object.assign(selection, change);
  if (selection.a === selection.b) {
    if (change.a !== undefined) selection.b = before.a;
    else selection.a = before.b;
  }
  fillChoosers();
  renderViews();
  updateBrowser(true);
  if (from && from !== "matrix") byId(from).focus({ preventScroll: true });
}

function prepareChoosers() {
  const listen = (id, name) =>
    byId(id).addEventListener("change", (event) =>
      select({ [name]: Number(event.target.value) }, id),
    );
  listen("metric", "metric");
  listen("system-a", "a");
  listen("system-b", "b");
}

const SUBSETS =
  "Lengths are words of the reference, or characters where a script has no spaces. Overlap is the " +
  "fraction of words that outputs and their reference have in common, mean of all systems. Rare " +
  "words are those of a reference that no other reference of the test set has. Names are words " +
  "with a capital inside a sentence, which is a guess.";
const MATCHES =
  "As in compare-mt: an n-gram of an output matches where the reference of the segment has it, at " +
  "most as often as the reference does. Classes of frequency are compare-mt’s.";

function showMethods() {
  const term = (name, ...words) => [
    element("dt", {}, name),
    ...words.map((word) => element("dd", {}, word)),
  ];
  replace(
    byId("methods"),
    element(
      "dl",
      {},
      [
        data.notes.length ? term("Notes", ...data.notes) : [],
        term(
          "Intervals",
          `Segments are drawn with replacement ${formatCount(data.settings.resamples)} times, and ` +
            `${formatLevel(data.settings.confidence)} of the scores lie in between.`,
        ),
        term(
          "p, by randomisation",
          "If two systems were equally good, it would not matter which of them produced which " +
            "output. So their outputs are swapped on a random half of the segments, " +
            `${formatCount(data.settings.swaps)} times: p is ` +
            "the fraction of swaps with a difference as large as the observed one. Holm’s correction " +
            "keeps false discoveries among all pairs unlikely.",
        ),
        term(
          "p, by paired bootstrap",
          "As in Moses and sacreBLEU. It looks at one side only, and without correction is " +
            "below 0.05 in more than a tenth of the cases in which nothing differs; the other test " +
            "decides here.",
        ),
        term(
          "Verdict",
          "A system beats another where the difference is significant under every metric; two tie " +
            "where it is significant under none. Systems overlap where some of them differ " +
            "significantly and no line separates them. A system is far behind where its effect " +
            "size against every better system is 0.5 or more, mean of the metrics. Metrics with a " +
            "language warning or without segment scores do not count.",
        ),
        data.has_references ? term("Subsets of the segments", SUBSETS) : [],
        data.explanation ? term("What differences cost", ...costMethods()) : [],
        term(
          "Signatures",
          ...[
            ...new Set(
              data.metrics.flatMap((metric) => [metric.signature, metric.segment_signature]),
            ),
          ].map((line) => element("code", {}, line)),
          element("code", {}, data.settings_line),
        ),
        data.has_references ? term("N-grams and words", MATCHES) : [],
        term("Software", `adequa ${data.version}`),
      ].flat(),
    ),
  );
}

function prepareTheme() {
  const system = matchMedia("(prefers-color-scheme: dark)");
  let choice = null;
  const apply = () => {
    const dark = choice === null ? system.matches : choice;
    document.documentElement.classList.toggle("dark", dark);
    byId("theme").textContent = dark ? "Switch to light" : "Switch to dark";
    byId("theme").removeAttribute("aria-pressed");
  };
  system.addEventListener("change", apply);
  byId("theme").addEventListener("click", () => {
    choice = !document.documentElement.classList.contains("dark");
    apply();
  });
  // Paper is white.
  addEventListener("beforeprint", () => document.documentElement.classList.remove("dark"));
  addEventListener("afterprint", apply);
  apply();
}

// Drawings are as wide as the page.
function prepareResizing() {
  let waiting = 0;
  let width = innerWidth;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      if (innerWidth === width) return;
      width = innerWidth;
      showDistributions();
      showScatter();
      markOverflow();
    }, 150);
  });
}

// Tables that are wider than the page show at which sides more of them is hidden.
function markOverflow() {
  for (const node of document.querySelectorAll(".scroll")) {
    const mark = () => {
      const rest = node.scrollWidth - node.clientWidth - node.scrollLeft;
      node.classList.toggle("more-left", node.scrollLeft > 1);
      node.classList.toggle("more-right", rest > 1);
    };
    node.onscroll = mark;
    mark();
  }
}

function openAddressedSegment() {
  const match = /^#segment-(\d+)$/.exec(location.hash);
  if (match) openSegment(Number(match[1]) - 1);
}

let prepared = false; // whether the page listens

function prepare() {
  if (prepared) return;
  prepared = true;
  views.push(showPair, showMatrix, showLosses, showDistributions, showScatter, showBuckets);
  views.push(showWords, markOverflow);
  prepareChoosers();
  prepareBrowser();
  prepareExport();
  prepareResizing();
  addEventListener("hashchange", openAddressedSegment);
}

// Clear the state of the comparison that was shown before.
function resetState() {
  details = null;
  memo.clear();
  forgetExplanations();
  Object.assign(leaderboardSort, { metric: 0, best: true });
  Object.assign(scatter, { x: 0, y: 1, what: data.systems.length > 2 ? "systems" : "gains" });
  Object.assign(browserState, { page: 0, rows: [], opened: new Set(), searchTexts: null });
  byId("query").value = "";
  const texts = data.has_references ? "sources, references" : "sources";
  byId("query").placeholder = `in ${texts} and outputs`;
  delete document.documentElement.dataset.ready;
}

// Show a comparison: its summary at once, and the segments when they are unpacked.
async function showComparison(summary, unpack) {
  data = summary;
  resetState();
  Object.assign(selection, { metric: 0, a: 0 });
  selection.b = orderBy(selectedMetric()).find((index) => index !== 0);
  prepare();
  fillChoosers();
  showSummary();
  showLeaderboard();
  showMethods();
  renderViews();
  try {
    details = await unpack();
  } catch {
    byId("count").textContent = "This browser cannot unpack the segments; a newer one can.";
    return;
  }
  renderViews();
  fillBuckets();
  updateBrowser(true);
  openAddressedSegment();
  document.documentElement.dataset.ready = "true";
}
