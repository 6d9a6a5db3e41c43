// The page at /docs: every operation of /openapi.json with an example that can be sent, and schemas.

const SHOWN_CHARACTERS = 20_000;
const REF = "#/components/schemas/";

function element(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children.flat());
  return node;
}

const code = (text) => element("code", {}, text);

function table(headings, rows) {
  const head = headings.map((heading) => element("th", { scope: "col" }, heading));
  const body = rows.map((row) => element("tr", {}, row.map((cell) => element("td", {}, cell))));
  const node = element("table", {}, element("thead", {}, element("tr", {}, head)), element("tbody", {}, body));
  return element("div", { class: "scroll" }, node);
}

const join = (nodes, separator) => nodes.flatMap((each, index) => (index ? [separator, each] : [each]).flat());

// The type of a value in words, with links to schemas.
function typeOf(schema) {
  if (schema.$ref) {
    const name = schema.$ref.slice(REF.length);
    return [element("a", { href: `#${name}` }, name)];
  }
  if (schema.anyOf) return join(schema.anyOf.map(typeOf), " or ");
  if (schema.const !== undefined) return [code(JSON.stringify(schema.const))];
  if (schema.type === "array") return ["list of ", ...typeOf(schema.items ?? {})];
  return [schema.type ?? "any"];
}

const contents = (content = {}) =>
  Object.entries(content).map(([type, { schema = {} }]) => [type, schema.description ?? typeOf(schema)]);

function exampleOf(specification, content) {
  const reference = content["application/json"]?.schema.$ref;
  if (!reference) return "";
  const schema = specification.components.schemas[reference.slice(REF.length)];
  return JSON.stringify(schema.examples[0], null, 2);
}

function curl(path, example) {
  const command = `curl -s ${location.origin}${path}`;
  const quoted = example.replaceAll("'", "'\\''");
  return example ? `${command} -H 'Content-Type: application/json' -d '${quoted}'` : command;
}

async function send(method, path, form) {
  const fields = new FormData(form);
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(fields.get(name)));
  const token = document.getElementById("token").value.trim() || sessionStorage.getItem("adequa-token");
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const body = fields.get("body") || undefined;
  if (body) headers["Content-Type"] = "application/json";
  const response = await fetch(filled, { method, headers, body });
  let text = await response.text();
  if (response.headers.get("content-type")?.startsWith("application/json"))
    text = JSON.stringify(JSON.parse(text), null, 2);
  const rest = text.length - SHOWN_CHARACTERS;
  if (rest > 0) text = `${text.slice(0, SHOWN_CHARACTERS)}\n… and ${rest} more characters`;
  return `${response.status}\n${text}`;
}

function sendForm(label, method, path, parameters, example) {
  const fields = parameters
    .filter((each) => each.in === "path")
    .map(({ name }) => element("label", {}, `${name} `, element("input", { name })));
  if (example)
    fields.push(element("textarea", { name: "body", rows: 8, spellcheck: "false", "aria-label": `Body of ${label}` }, example));
  const output = element("pre", { tabindex: 0, role: "status", "aria-label": `Answer of ${label}` });
  output.hidden = true;
  const form = element("form", {}, fields, element("button", { "aria-label": `Send ${label}` }, "Send"), output);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    output.hidden = false;
    output.textContent = "…";
    output.textContent = await send(method, path, form).catch((error) => `The request failed: ${error.message}`);
  });
  return form;
}

function operationCard(specification, path, method, operation) {
  const label = `${method.toUpperCase()} ${path}`;
  const parameters = operation.parameters ?? [];
  const content = operation.requestBody?.content ?? {};
  const example = exampleOf(specification, content);
  const rows = parameters.map((each) => [code(each.name), [`${each.in}, `, ...typeOf(each.schema)], each.description ?? ""]);
  const responses = Object.entries(operation.responses).map(([status, response]) => [
    status,
    response.description,
    join(contents(response.content).map(([type, text]) => [`${type}: `, text].flat()), element("br", {})),
  ]);
  return element(
    "section",
    { class: "card operation" },
    element("h2", {}, code(label)),
    element("p", {}, `${operation.summary}.`),
    rows.length ? table(["Parameter", "Type", "Description"], rows) : "",
    contents(content).length ? table(["Body", "Content"], contents(content)) : "",
    element("pre", { tabindex: 0, "aria-label": `Example of ${label}` }, curl(path, example)),
    sendForm(label, method.toUpperCase(), path, parameters, example),
    table(["Status", "Description", "Content"], responses),
  );
}

function schemaCard(name, schema) {
  const rows = Object.entries(schema.properties).map(([field, content]) => [
    code(field),
    typeOf(content),
    schema.required?.includes(field) ? "yes" : "no",
    content.description ?? "",
  ]);
  const fields = table(["Field", "Type", "Required", "Description"], rows);
  const about = element("p", {}, schema.description ?? "");
  return element("section", { class: "card schema", id: name }, element("h3", {}, name), about, fields);
}

async function showDocumentation() {
  const root = document.documentElement;
  root.classList.toggle("dark", matchMedia("(prefers-color-scheme: dark)").matches);
  const specification = await (await fetch("/openapi.json")).json();
  const operations = Object.entries(specification.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => operationCard(specification, path, method, operation)),
  );
  const schemas = Object.entries(specification.components.schemas).map(([name, schema]) => schemaCard(name, schema));
  document.getElementById("content").append(...operations, element("h2", {}, "Schemas"), ...schemas);
  root.dataset.page = "ready";
}

showDocumentation();
