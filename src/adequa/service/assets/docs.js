// The forms of the documentation page: each sends its request and shows the answer.

const SHOWN_CHARACTERS = 20_000;

async function send(form) {
  const fields = new FormData(form);
  const path = form.dataset.path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(fields.get(name)));
  const token = document.getElementById("token").value.trim() || sessionStorage.getItem("adequa-token");
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const body = fields.get("body");
  if (body) headers["Content-Type"] = "application/json";
  const response = await fetch(path, { method: form.dataset.method, headers, body: body || undefined });
  let text = await response.text();
  if (response.headers.get("content-type")?.startsWith("application/json"))
    text = JSON.stringify(JSON.parse(text), null, 2);
  const rest = text.length - SHOWN_CHARACTERS;
  if (rest > 0) text = `${text.slice(0, SHOWN_CHARACTERS)}\n… and ${rest} characters more`;
  return `${response.status}\n${text}`;
}

for (const form of document.querySelectorAll("form[data-path]"))
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const output = form.querySelector("pre");
    output.hidden = false;
    output.textContent = "…";
    output.textContent = await send(form).catch((error) => `The request failed: ${error.message}`);
  });
document.documentElement.classList.toggle("dark", matchMedia("(prefers-color-scheme: dark)").matches);
document.documentElement.dataset.page = "ready";
