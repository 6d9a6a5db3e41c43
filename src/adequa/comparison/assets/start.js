// What is chosen, what stands behind the numbers, light and dark; and the beginning of a comparison.

function fillChoosers() {
  const systems = (now) => data.systems.map((name, place) => option(place, name, place === now));
  replace(
    byId("metric"),
    data.metrics.map((metric, place) => option(place, metric.name, place === chosen.metric)),
  );
  replace(byId("system-a"), systems(chosen.a));
  replace(byId("system-b"), systems(chosen.b));
}

// Choose other systems or another metric; the two systems are never the same.
function choose(change, from) {
  const before = { ...chosen };
  Object.assign(chosen, change);
  if (chosen.a === chosen.b) {
    if (change.a !== undefined) chosen.b = before.a;
    else chosen.a = before.b;
  }
  fillChoosers();
  show();
  browse(true);
  if (from && from !== "matrix") byId(from).focus({ preventScroll: true });
}

function prepareChoosers() {
  const listen = (id, name) =>
    byId(id).addEventListener("change", (event) =>
      choose({ [name]: Number(event.target.value) }, id),
    );
  listen("metric", "metric");
  listen("system-a", "a");
  listen("system-b", "b");
}

function showBehind() {
  const term = (name, ...words) => [
    element("dt", {}, name),
    ...words.map((word) => element("dd", {}, word)),
  ];
  replace(
    byId("behind"),
    element(
      "dl",
      {},
      [
        data.notes.length ? term("Notes", ...data.notes) : [],
        term(
          "Intervals",
          `Segments are drawn with replacement ${whole(data.resamples)} times, and ` +
            `${level(data.confidence)} of the scores lie in between.`,
        ),
        term(
          "p, by randomisation",
          "If two systems were equally good, it would not matter which of them said what. So their " +
            `outputs are swapped on a random half of the segments, ${whole(data.swaps)} times: p is ` +
            "how often that makes a difference as large as the one seen. Holm’s correction keeps " +
            "one false find among all pairs unlikely.",
        ),
        term(
          "p, by paired bootstrap",
          "As Moses and sacreBLEU have it. It looks at one side only, and without correction is " +
            "below 0.05 in more than a tenth of the cases in which nothing differs; the other test " +
            "decides here.",
        ),
        term(
          "Parts of the segments",
          "Lengths are words of the reference, or characters where a script has no spaces. Overlap is the share of words that outputs and their " +
            "reference have in common, mean of all systems. Rare words are those of a reference " +
            "that no other reference of the test set has. Names are words with a capital inside a " +
            "sentence, which is a guess.",
        ),
        term(
          "Signatures",
          ...[
            ...new Set(
              data.metrics.flatMap((metric) => [metric.signature, metric.segmentSignature]),
            ),
          ].map((line) => element("code", {}, line)),
          element("code", {}, data.settings),
        ),
        term("Made by", `adequa ${data.version}`),
      ].flat(),
    ),
  );
}

function prepareTheme() {
  const system = matchMedia("(prefers-color-scheme: dark)");
  let asked = null;
  const apply = () => {
    const dark = asked === null ? system.matches : asked;
    document.documentElement.classList.toggle("dark", dark);
    byId("theme").setAttribute("aria-pressed", String(dark));
  };
  system.addEventListener("change", apply);
  byId("theme").addEventListener("click", () => {
    asked = !document.documentElement.classList.contains("dark");
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
    }, 150);
  });
}

function fromAddress() {
  const asked = /^#segment-(\d+)$/.exec(location.hash);
  if (asked) openSegment(Number(asked[1]) - 1);
}

let prepared = false; // whether the page listens

function prepare() {
  if (prepared) return;
  prepared = true;
  views.push(showPair, showMatrix, showDistributions, showScatter, showBuckets);
  prepareChoosers();
  prepareBrowser();
  prepareResizing();
  addEventListener("hashchange", fromAddress);
}

// Nothing is left of the comparison that was shown before.
function forget() {
  details = null;
  computed.clear();
  Object.assign(sorting, { metric: 0, best: true });
  Object.assign(scatter, { x: 0, y: 1, what: "gains" });
  Object.assign(browsing, { page: 0, rows: [], opened: new Set(), haystacks: null });
  byId("query").value = "";
  delete document.documentElement.dataset.ready;
}

// Show a comparison: its summary at once, and the segments when they are there.
async function begin(summary, unpack) {
  data = summary;
  forget();
  Object.assign(chosen, { metric: 0, a: 0 });
  chosen.b = orderBy(metricNow()).find((place) => place !== 0);
  prepare();
  fillChoosers();
  showShort();
  showLeaderboard();
  showBehind();
  show();
  try {
    details = await unpack();
  } catch {
    byId("count").textContent = "This browser cannot unpack the segments; a newer one can.";
    return;
  }
  show();
  fillBuckets();
  for (const [id, table] of [
    ["sort", SORTS],
    ["filter", FILTERS],
    ["marks", MARKS],
  ])
    fill(id, table);
  browse(true);
  fromAddress();
  document.documentElement.dataset.ready = "true";
}
