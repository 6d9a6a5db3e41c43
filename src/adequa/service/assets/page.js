// The page at /: from texts to a comparison, or to one that the server has stored.

const STORED = /^\/c\/([\w-]+)$/;
const INPUT_TITLE = "How good are these translations?";
const INPUT_ABOUT = byId("about").textContent;
let shownId = null; // the comparison that is shown
let shownPath = null; // the path of the current view
let request = null; // the AbortController of the current request

async function loadMetrics() {
  const answer = await (await callApi("/v1/metrics")).json();
  replace(
    byId("metric-list"),
    answer.metrics.map((metric, place) => {
      const box = element("input", {
        type: "checkbox",
        id: `metric-${place}`,
        value: metric.name,
        checked: answer.defaults.includes(metric.name),
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
    `Up to ${formatCount(answer.limits.segments)} outputs of ${formatCount(answer.limits.characters)} characters each.`;
}

const chosenMetrics = () =>
  [...byId("metric-list").querySelectorAll("input:checked")].map((box) => box.value);

function showView(view) {
  byId("inputs").hidden = view === "result";
  byId("result").hidden = view !== "result";
  if (view !== "single") byId("single").hidden = true;
}

// Show a comparison by its name; `link` becomes the address of the page.
async function open(id, link = "") {
  const response = await callApi(`/v1/comparisons/${encodeURIComponent(id)}/page`);
  const shown = await response.json();
  if (link) history.pushState(null, "", link);
  shownPath = location.pathname;
  const minutes = Math.max(1, Math.round(response.headers.get("adequa-expires-in") / 60));
  const unit = minutes === 1 ? "minute" : "minutes";
  byId("expires").textContent = `The server stores it for ${formatCount(minutes)} ${unit} at most.`;
  shownId = id;
  showView("result");
  byId("title").textContent = shown.title;
  document.title = `${shown.title} – adequa`;
  byId("link").href = `/c/${id}`;
  await showComparison(shown.summary, async () => shown.details);
  scrollTo({ top: 0, behavior: "instant" });
  byId("title").focus({ preventScroll: true });
  openAddressedSegment();
}

async function compareAll(content, signal) {
  const settings = postOptions({ ...content, keep: true }, signal);
  settings.headers.Accept = "application/x-ndjson";
  const response = await callApi("/v1/compare", settings);
  for await (const line of readLines(response)) {
    if (line.error) throw new Error(line.error);
    if (line.progress) showProgress(line.progress);
    if (line.result) return open(line.result.id, line.result.link);
  }
  throw new Error("The server ended the connection; try again.");
}

async function submit(event) {
  event.preventDefault();
  showProblem("");
  showStatus("");
  byId("single").hidden = true; // earlier scores are not of these texts
  let content;
  try {
    content = { ...texts(), metrics: chosenMetrics() };
    if (!content.metrics.length) throw new Error("Choose at least one metric.");
  } catch (error) {
    return showProblem(error.message);
  }
  request = new AbortController();
  setBusy(true);
  showStatus("Sending …");
  try {
    if (content.systems.size > 1) await compareAll(content, request.signal);
    else {
      const response = await callApi("/v1/score", postOptions(content, request.signal));
      showView("single");
      const notes = JSON.parse(response.headers.get("adequa-notes") ?? "[]");
      showScores(await response.json(), content, notes);
    }
    showStatus("Done.");
  } catch (error) {
    showStatus("");
    showProblem(error.name === "AbortError" ? "Cancelled." : error.message);
  } finally {
    setBusy(false);
    request = null;
  }
}

async function save(file) {
  const paths = { json: ["", "json"], "pairs.tsv": ["/pairs.tsv", "tsv"], "report.html": ["/report.html", "html"] };
  const [path, ending] = paths[file];
  try {
    const response = await callApi(`/v1/comparisons/${encodeURIComponent(shownId)}${path}`);
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

// Show the view of the current address.
async function route() {
  const match = STORED.exec(location.pathname);
  if (match && match[1] === shownId) return;
  shownPath = location.pathname;
  showProblem("");
  if (!match) {
    shownId = null;
    showView("inputs");
    byId("title").textContent = INPUT_TITLE;
    byId("about").textContent = INPUT_ABOUT;
    document.title = "adequa";
    return;
  }
  try {
    await open(match[1]);
  } catch (error) {
    showView("inputs");
    showProblem(error.message);
  }
}

async function startPage() {
  prepareTheme();
  prepareInputs();
  byId("inputs").addEventListener("submit", submit);
  byId("cancel").addEventListener("click", () => request?.abort());
  byId("copy").addEventListener("click", copyLink);
  byId("token").addEventListener("change", () => loadMetrics().then(route, (error) => showProblem(error.message)));
  for (const button of document.querySelectorAll("[data-file]"))
    button.addEventListener("click", () => save(button.dataset.file));
  addEventListener("popstate", () => {
    if (location.pathname !== shownPath) route(); // a fragment stays in the same view
  });
  try {
    await loadMetrics();
    await route();
  } catch (error) {
    showProblem(error.message);
  }
  document.documentElement.dataset.page = "ready";
}

startPage();
