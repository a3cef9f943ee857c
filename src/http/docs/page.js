// The script of /docs. It sends requests only to the service that served it.

const key = document.getElementById("key");
const show = document.getElementById("key-show");

document.getElementById("key-form").addEventListener("submit", (event) => event.preventDefault());

show.addEventListener("click", () => {
  const shown = key.type === "password";
  key.type = shown ? "text" : "password";
  show.textContent = shown ? "Hide" : "Show";
  show.setAttribute("aria-pressed", String(shown));
});

for (const button of document.querySelectorAll("button.fresh")) {
  button.addEventListener("click", () => {
    document.getElementById(button.dataset.for).value = crypto.randomUUID();
  });
}

for (const form of document.querySelectorAll("form.try")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void send(form);
  });
}

async function send(form) {
  const problem = form.querySelector(".problem");
  const button = form.querySelector("button[type=submit]");
  problem.textContent = "";
  const missing = [...form.querySelectorAll("[required]")].find((field) => field.value === "");
  if (missing || key.value === "") {
    const field = missing ?? key;
    problem.textContent = missing ? `${field.dataset.name} is required.` : "Enter an API key first.";
    field.focus();
    return;
  }
  const request = requestOf(form);
  form.querySelector(".sent").textContent = asCurl(request);
  button.disabled = true;
  button.textContent = "Waiting…";
  const started = performance.now();
  try {
    const response = await fetch(request.path, {
      method: request.method,
      headers: { ...request.headers, "X-API-Key": key.value.trim() },
      ...(request.body === undefined ? {} : { body: request.body }),
    });
    showResponse(form, response, await response.text(), Math.round(performance.now() - started));
  } catch {
    problem.textContent = "The service did not respond.";
  } finally {
    button.disabled = false;
    button.textContent = "Send";
  }
}

/** The request that the fields of a form describe. Empty fields are omitted. */
function requestOf(form) {
  const filled = [...form.querySelectorAll("[data-in]")].filter((field) => field.value !== "");
  const valuesIn = (place) =>
    Object.fromEntries(filled.filter(({ dataset }) => dataset.in === place).map((f) => [f.dataset.name, f.value]));
  const query = new URLSearchParams(valuesIn("query")).toString();
  const parts = valuesIn("path");
  const path = form.dataset.path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(parts[name] ?? ""));
  const body = valuesIn("body");
  const hasBody = form.dataset.method !== "GET";
  return {
    method: form.dataset.method,
    path: query === "" ? path : `${path}?${query}`,
    headers: { ...valuesIn("header"), ...(hasBody && { "Content-Type": "application/json" }) },
    body: hasBody ? JSON.stringify(body) : undefined,
  };
}

/** The request as a curl command. The key is omitted, because displayed text is easily copied and shared. */
function asCurl({ method, path, headers, body }) {
  const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const lines = [`curl ${quote(location.origin + path)}`, `-H "X-API-Key: $ASSAY_KEY"`];
  if (method !== "GET") lines.push(`-X ${method}`);
  for (const [name, value] of Object.entries(headers)) lines.push(`-H ${quote(`${name}: ${value}`)}`);
  if (body !== undefined) lines.push(`-d ${quote(body)}`);
  return lines.join(" \\\n  ");
}

function showResponse(form, response, text, tookMs) {
  const status = form.querySelector(".reply .status");
  status.textContent = `${response.status}`;
  status.className = `status s${String(response.status)[0]}`;
  const retry = response.headers.get("Retry-After");
  form.querySelector(".took").textContent = `${tookMs} ms${retry === null ? "" : `, try again in ${retry} s`}`;
  form.querySelector(".reply").hidden = false;
  form.querySelector(".received").textContent = pretty(text);
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
