// The page at /: from texts to a comparison, and back to one that the server keeps.

const KEPT = /^\/c\/([\w-]+)$/;
const ASKED_TITLE = "How good are these translations?";
const ASKED_ABOUT = byId("about").textContent;
let shownId = null; // the comparison that is shown
let shownPath = null; // the address whose view that is, without its fragment
let stopping = null; // what ends the request that is being made

async function loadMetrics() {
  const found = await (await ask("/v1/metrics")).json();
  replace(
    byId("metric-list"),
    found.metrics.map((metric, place) => {
      const box = element("input", {
        type: "checkbox",
        id: `metric-${place}`,
        value: metric.name,
        checked: found.defaults.includes(metric.name),
      });
      return element(
        "label",
        { for: `metric-${place}` },
        box,
        element("span", {}, metric.name, element("small", {}, metric.summary)),
      );
    }),
  );
  byId("limits").textContent =
    `Up to ${whole(found.limits.segments)} outputs of ${whole(found.limits.characters)} characters each.`;
}

const chosenMetrics = () =>
  [...byId("metric-list").querySelectorAll("input:checked")].map((box) => box.value);

function asIt(view) {
  byId("ask").hidden = view === "result";
  byId("result").hidden = view !== "result";
  if (view !== "single") byId("single").hidden = true;
}

// Show a comparison by its name; the address of the page is its link, and becomes it for a new one.
async function open(id, link = "") {
  const response = await ask(`/v1/comparisons/${encodeURIComponent(id)}/page`);
  const shown = await response.json();
  if (link) history.pushState(null, "", link);
  shownPath = location.pathname;
  const minutes = Math.max(1, Math.round(response.headers.get("adequa-expires-in") / 60));
  const unit = minutes === 1 ? "minute" : "minutes";
  byId("expires").textContent = `The server keeps it for ${whole(minutes)} ${unit} at most.`;
  shownId = id;
  asIt("result");
  byId("title").textContent = shown.title;
  document.title = `${shown.title} – adequa`;
  byId("link").href = `/c/${id}`;
  await begin(shown.summary, async () => shown.details);
  scrollTo({ top: 0, behavior: "instant" });
  byId("title").focus({ preventScroll: true });
  fromAddress();
}

async function compareAll(content, signal) {
  const settings = asking({ ...content, keep: true }, signal);
  settings.headers.Accept = "application/x-ndjson";
  const response = await ask("/v1/compare", settings);
  for await (const line of linesOf(response)) {
    if (line.error) throw new Error(line.error);
    if (line.progress) showProgress(line.progress);
    if (line.result) return open(line.result.id, line.result.link);
  }
  throw new Error("The server broke off; try again.");
}

async function submit(event) {
  event.preventDefault();
  problem("");
  told("");
  byId("single").hidden = true; // what was found before is not of these texts
  let content;
  try {
    content = { ...texts(), metrics: chosenMetrics() };
    if (!content.metrics.length) throw new Error("Choose at least one metric.");
  } catch (error) {
    return problem(error.message);
  }
  stopping = new AbortController();
  busy(true);
  told("Sending …");
  try {
    if (content.systems.size > 1) await compareAll(content, stopping.signal);
    else {
      const response = await ask("/v1/score", asking(content, stopping.signal));
      asIt("single");
      const notes = JSON.parse(response.headers.get("adequa-notes") ?? "[]");
      showSingle(await response.json(), content, notes);
    }
    told("Done.");
  } catch (error) {
    told("");
    problem(error.name === "AbortError" ? "Cancelled." : error.message);
  } finally {
    busy(false);
    stopping = null;
  }
}

async function save(file) {
  const paths = { json: ["", "json"], "pairs.tsv": ["/pairs.tsv", "tsv"], "report.html": ["/report.html", "html"] };
  const [path, ending] = paths[file];
  try {
    const response = await ask(`/v1/comparisons/${encodeURIComponent(shownId)}${path}`);
    download(await response.blob(), `comparison.${ending}`);
  } catch (error) {
    byId("expires").textContent = error.message;
  }
}

async function copyLink() {
  const address = byId("link").href;
  try {
    await navigator.clipboard.writeText(address);
    byId("expires").textContent = "The link is copied.";
  } catch {
    byId("expires").textContent = address; // to be copied by hand
  }
}

// What the address of the page asks for.
async function route() {
  const asked = KEPT.exec(location.pathname);
  if (asked && asked[1] === shownId) return;
  shownPath = location.pathname;
  problem("");
  if (!asked) {
    shownId = null;
    asIt("ask");
    byId("title").textContent = ASKED_TITLE;
    byId("about").textContent = ASKED_ABOUT;
    document.title = "adequa";
    return;
  }
  try {
    await open(asked[1]);
  } catch (error) {
    asIt("ask");
    problem(error.message);
  }
}

async function startPage() {
  prepareTheme();
  prepareInputs();
  byId("ask").addEventListener("submit", submit);
  byId("cancel").addEventListener("click", () => stopping?.abort());
  byId("copy").addEventListener("click", copyLink);
  byId("token").addEventListener("change", () => loadMetrics().then(route, (error) => problem(error.message)));
  for (const button of document.querySelectorAll("[data-file]"))
    button.addEventListener("click", () => save(button.dataset.file));
  addEventListener("popstate", () => {
    if (location.pathname !== shownPath) route(); // a fragment is a place within the same view
  });
  try {
    await loadMetrics();
    await route();
  } catch (error) {
    problem(error.message);
  }
  document.documentElement.dataset.page = "ready";
}

startPage();
