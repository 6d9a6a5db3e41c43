// The page at /: from texts to a comparison, or to one that the server has stored.

const STORED = /^\/c\/([\w-]+)$/;
const INPUT_TITLE = "How good are these translations?";
const INPUT_ABOUT = byId("about").textContent;
let shownId = null; // the comparison that is shown
let shownPath = null; // the path of the current view
let request = null; // the AbortController of the current request
let metricChoices = [];
let metricsTouched = false; // whether somebody chose other metrics than the defaults
let languageNames = new Map(); // by code
const DETECT = "Detect automatically";
const FEW_METRICS = 6; // none are folded if there are no more
const RECENT = 10; // comparisons that are listed

function metricChoice(metric, place, isDefault) {
  const box = element("input", { type: "checkbox", id: `metric-${place}`, value: metric.name, checked: isDefault });
  const warning = element("small", { class: "mark", hidden: true });
  metricChoices.push({ box, warning, isDefault, languages: metric.languages, reads: metric.reads });
  return element(
    "label",
    { for: `metric-${place}` },
    box,
    element("span", {}, metric.name, element("small", {}, metric.summary), warning),
  );
}

// Mark metrics that do not know the language; they are no defaults, unless somebody chose them.
function markMetrics(code) {
  const nameOf = (each) => languageNames.get(each) ?? each;
  for (const { box, warning, isDefault, languages } of metricChoices) {
    const knows = !code || !languages || languages.includes(code);
    warning.hidden = knows;
    if (!knows) warning.textContent = `⚠ knows ${joinNames(languages.map(nameOf))} only, not ${nameOf(code)}`;
    if (!metricsTouched) box.checked = isDefault && knows;
  }
}

// Everyday metrics first; the others are folded, unless one of them is a default.
async function loadMetrics() {
  const answer = await (await callApi("/v1/metrics")).json();
  metricChoices = [];
  const choices = answer.metrics.map((metric, place) => ({
    everyday: metric.everyday || answer.defaults.includes(metric.name),
    node: metricChoice(metric, place, answer.defaults.includes(metric.name)),
  }));
  const folds = choices.length > FEW_METRICS;
  const [shown, folded] = [true, false].map((isShown) =>
    choices.filter(({ everyday }) => (everyday || !folds) === isShown).map(({ node }) => node),
  );
  replace(byId("metric-list"), shown);
  replace(byId("more-list"), folded);
  byId("more-metrics").hidden = !folded.length;
  byId("more-count").textContent = `(${folded.length})`;
  bodyLimit = answer.limits.body;
  languageNames = new Map(answer.languages.map(({ code, name }) => [code, name]));
  replace(
    byId("language-choice"),
    option("", DETECT, true),
    answer.languages.map(({ code, name }) => option(code, name, false)),
  );
}

const chosenMetrics = () =>
  [...byId("choices").querySelectorAll("input:checked")].map((box) => box.value);

// Refuse metrics that need a reference or a source where there is none.
function checkReads() {
  const given = givenParts();
  for (const { box, reads } of metricChoices.filter((each) => each.box.checked))
    for (const [part, need] of Object.entries(reads))
      if (need === "required" && !given[part])
        throw new Error(
          `${box.value} needs a ${part}: drop its file, or paste it; or choose metrics that need no ${part}.`,
        );
}

// The field of a request for the chosen language, if one is chosen.
function languageChoice() {
  const { value } = byId("language-choice");
  return value ? { language: value } : {};
}

// The language that the server found, as the first choice: in the references, or else elsewhere.
function showLanguage() {
  const read = [...ofRole("table"), ...ofRole("references"), ...ofRole("hypotheses")];
  const found = read.map((item) => item.language).find((language) => language?.code);
  const origins = { detected: "detected", column: "from the table" };
  const [first] = byId("language-choice").options;
  markMetrics(byId("language-choice").value || found?.code);
  if (!first || byId("language-choice").value) return;
  if (found) first.textContent = `${found.name} (${origins[found.origin] ?? found.origin})`;
  else first.textContent = read.some((item) => item.summary) ? "Not known: choose one" : DETECT;
}

const metaOf = (each) =>
  [
    plural(each.systems.length, "system"),
    plural(each.segments, "segment"),
    each.language.name,
    each.metrics.join(", "),
  ]
    .filter(Boolean)
    .join(" · ");

// The comparisons that the server stores, where it lists them.
async function showRecent() {
  const { comparisons } = await (await callApi("/v1/comparisons")).json();
  byId("recent").hidden = !comparisons.length;
  replace(
    byId("recent-list"),
    comparisons.slice(0, RECENT).map((each) => {
      const date = new Date(each.created);
      const written = date.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
      return element(
        "li",
        {},
        element("a", { href: each.link, dir: "auto" }, each.title),
        element("time", { datetime: each.created }, written),
        element("span", { class: "quiet" }, metaOf(each)),
      );
    }),
  );
}

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
  const seconds = response.headers.get("adequa-expires-in");
  byId("expires").textContent =
    seconds === null
      ? "The server stores it as long as it runs."
      : `The server stores it for ${plural(Math.max(1, Math.round(seconds / 60)), "minute")} at most.`;
  shownId = id;
  showView("result");
  byId("title").textContent = shown.title;
  document.title = `${shown.title} – adequa`;
  metricSpecifications = shown.specifications;
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

// Scores of one system, and its texts, which scores do not hold.
async function scoreOne(content, signal) {
  const { metrics, ...files } = content;
  const [scores, texts] = await Promise.all([
    callApi("/v1/score", postOptions(content, signal)),
    callApi("/v1/read", postOptions(files, signal)),
  ]);
  const notes = JSON.parse(scores.headers.get("adequa-notes") ?? "[]");
  showView("single");
  showScores(await scores.json(), await texts.json(), notes, metrics);
  byId("single").scrollIntoView({ block: "start" });
}

async function submit(event) {
  event.preventDefault();
  showProblem("");
  showStatus("");
  byId("single").hidden = true; // earlier scores are not of these texts
  request = new AbortController();
  setBusy(true);
  showStatus("Sending …");
  try {
    const content = { ...(await allFiles()), ...languageChoice(), metrics: chosenMetrics() };
    if (!content.metrics.length) throw new Error("Choose at least one metric.");
    checkReads();
    const title = byId("comparison-title").value.trim();
    if (systemCount() === 1) await scoreOne(content, request.signal);
    else await compareAll({ ...content, ...(title ? { title } : {}) }, request.signal);
    showStatus("");
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
  const address = new URL(`/c/${shownId}`, location.href).href;
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
    return showRecent();
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
  prepareExplanations();
  byId("choices").addEventListener("change", () => (metricsTouched = true));
  byId("language-choice").addEventListener("change", () => {
    showLanguage();
    readAll();
  });
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
