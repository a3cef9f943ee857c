import type { OpenApi } from "../openapi/openapi.ts";
import { guideMenu } from "./guide-page.ts";
import type { Guide } from "./guides.ts";
import { type Html, html, prose } from "./html.ts";
import { fieldList, type JsonSchema } from "./schema.ts";
import { tryForm } from "./try-form.ts";

export interface DocumentedOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly DocumentedParameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>;
}

export interface DocumentedParameter {
  readonly name: string;
  readonly in: string;
  readonly description: string;
  readonly required?: boolean;
  readonly schema: JsonSchema;
}

type Content = Readonly<Record<string, { readonly schema: JsonSchema; readonly examples?: Examples }>>;
type Examples = Readonly<Record<string, { readonly value: { readonly error: string } }>>;

/**
 * The page /docs, rendered from the OpenAPI document. The usual viewers of such documents are megabytes of third-party scripts, which
 * would see the visitor's key, and few of them work with PAGE_POLICY (documentation.ts).
 */
export function renderPage({ info, paths, components }: OpenApi, guides: readonly Guide[]): string {
  const schemas = components.schemas as Readonly<Record<string, JsonSchema>>;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      path,
      method: method.toUpperCase(),
      operation: operation as DocumentedOperation,
    })),
  );
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${String(info.title)} API</title>
<link rel="icon" href="/docs/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/docs/page.css">
<script src="/docs/page.js" defer></script>
</head>
<body>
<a class="skip" href="#main">Skip to the endpoints</a>
<header>
<div class="bar">
<a class="brand" href="/docs"><img src="/docs/icon.svg" alt="" width="28" height="28"> ${String(info.title)} <span>API ${String(info.version)}</span></a>
<form id="key-form" class="key-form" autocomplete="off">
<label class="key-label" for="key">API key</label>
<input id="key" class="key" type="password" placeholder="assay_live_…" spellcheck="false" autocomplete="off" aria-describedby="key-note">
<button type="button" id="key-show" aria-pressed="false" aria-controls="key">Show</button>
</form>
</div>
</header>
<div class="columns">
<nav aria-label="Documents">
${guideMenu(guides, "/docs")}
<h2>Endpoints</h2>
<ul>${operations.map(({ path, method, operation }) => navItem(path, method, operation))}</ul>
<h2>Bodies</h2>
<ul>${Object.keys(schemas).map((name) => html`<li><a href="#${name}">${name}</a></li>`)}</ul>
<p><a href="/openapi.json">openapi.json</a></p>
</nav>
<main id="main">
<section class="intro">
<h1>${String(info.title)} API</h1>
<p class="lead">${String(info.summary)}</p>
<p>${prose(String(info.description))}</p>
<p id="key-note" class="note">The key stays in this page. It is sent only to this service, with the requests you send here, and is not stored.</p>
<noscript><p class="note">Sending requests needs JavaScript.</p></noscript>
</section>
${operations.map(({ path, method, operation }) => article(path, method, operation, schemas))}
<section id="bodies"><h2>Bodies</h2>
${Object.entries(schemas).map(([name, schema]) => bodySection(name, schema))}
</section>
</main>
</div>
</body>
</html>
`.text;
}

function navItem(path: string, method: string, { operationId, summary }: DocumentedOperation): Html {
  return html`<li><a href="#${operationId}">${badge(method)} ${summary}<small>${path}</small></a></li>`;
}

function badge(method: string): Html {
  return html`<span class="method ${method.toLowerCase()}">${method}</span>`;
}

function article(
  path: string,
  method: string,
  operation: DocumentedOperation,
  schemas: Readonly<Record<string, JsonSchema>>,
): Html {
  const { operationId, summary, description, parameters } = operation;
  const body = resolve(operation.requestBody?.content["application/json"]?.schema, schemas);
  return html`<article id="${operationId}" aria-labelledby="${operationId}-title">
<h2 id="${operationId}-title">${summary}</h2>
<p class="route">${badge(method)} <code>${path}</code></p>
<p>${prose(description)}</p>
<div class="halves">
<div>
${parameters.length > 0 ? html`<h3>Parameters</h3><ul class="fields">${parameters.map(parameterItem)}</ul>` : ""}
${body ? html`<h3>Body</h3>${fieldList(body.items ?? body)}` : ""}
<h3>Responses</h3>
${Object.entries(operation.responses).map(([status, response]) => answer(status, response))}
</div>
${fitsForm(body) ? tryForm({ path, method, operation, body }) : ""}
</div>
</article>`;
}

/** Whether a form can send the body: a form has only fields for texts, so all required members must be texts. */
function fitsForm(body: JsonSchema | undefined): boolean {
  return !body || ((body.required ?? []).every((name) => body.properties?.[name]?.type === "string") && !body.items);
}

function parameterItem({ name, in: where, description, required }: DocumentedParameter): Html {
  return html`<li><code class="name">${name}</code> <span class="type">${where}</span>
    ${required ? "" : html`<span class="optional">optional</span>`} <span class="note">${prose(description)}</span></li>`;
}

function answer(status: string, { description, content }: DocumentedOperation["responses"][string]): Html {
  const media = content?.["application/json"];
  const label = html`<span class="status s${status.slice(0, 1)}">${status}</span>`;
  if (media?.examples) {
    const errors = Object.values(media.examples).map(({ value }) => html`<li>${value.error}</li>`);
    return html`<details class="answer"><summary>${label} ${first(description)}</summary><ul>${errors}</ul></details>`;
  }
  const names = [media?.schema ?? {}, ...(media?.schema.anyOf ?? [])].flatMap(({ $ref }) =>
    $ref === undefined ? [] : [$ref.slice($ref.lastIndexOf("/") + 1)],
  );
  const links = names.map((name) => html`<a href="#${name}">${name}</a> `);
  return html`<p class="answer">${label} ${prose(description)} ${links}</p>`;
}

/** The first of several errors, with their number if there are others. */
function first(description: string): string {
  const [one = "", ...others] = description.split("; ");
  return others.length === 0 ? one : `${one} … (${others.length + 1})`;
}

function bodySection(name: string, schema: JsonSchema): Html {
  return html`<section class="body" id="${name}" aria-labelledby="${name}-title">
<h3 id="${name}-title">${name}</h3>
${schema.description === undefined ? "" : html`<p>${prose(schema.description)}</p>`}
${fieldList(schema)}
</section>`;
}

function resolve(
  schema: JsonSchema | undefined,
  schemas: Readonly<Record<string, JsonSchema>>,
): JsonSchema | undefined {
  return schema?.$ref === undefined ? schema : schemas[schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1)];
}
