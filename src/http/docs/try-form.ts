import { type Html, html } from "./html.ts";
import type { DocumentedOperation } from "./page.ts";
import type { JsonSchema } from "./schema.ts";

/** A text that may have more characters than this gets a field of several lines. */
const LINE = 1_000;

/** The form with which a visitor sends a request. `data-in` tells page.js whether a field is for the path, query, headers or body. */
export function tryForm({ path, method, operation, body }: Tried): Html {
  const { operationId, parameters } = operation;
  const [example = {}] = (body?.examples ?? []) as Record<string, unknown>[];
  const fields = [
    ...parameters.map(({ name, in: where, required, schema }) =>
      field({ id: `${operationId}-${name}`, name, where, required: required ?? false, schema, value: "" }),
    ),
    ...Object.entries(body?.properties ?? {}).flatMap(([name, schema]) =>
      schema.type !== "string"
        ? []
        : field({
            id: `${operationId}-${name}`,
            name,
            where: "body",
            required: body?.required?.includes(name) ?? false,
            schema,
            value: String(example[name] ?? ""),
          }),
    ),
  ];
  return html`<form class="try" data-method="${method}" data-path="${path}" aria-labelledby="${operationId}-try" novalidate>
<h3 id="${operationId}-try">Try it</h3>
${fields}
<button type="submit">Send</button>
<p class="problem" role="alert"></p>
<div class="reply" hidden>
<h4>Request</h4><pre class="sent" tabindex="0" aria-label="The same request with curl"></pre>
<h4>Response <span class="status"></span> <span class="took"></span></h4>
<pre class="received" tabindex="0" role="status" aria-label="Response"></pre>
</div>
</form>`;
}

interface Tried {
  readonly path: string;
  readonly method: string;
  readonly operation: DocumentedOperation;
  readonly body: JsonSchema | undefined;
}

interface Field {
  readonly id: string;
  readonly name: string;
  readonly where: string;
  readonly required: boolean;
  readonly schema: JsonSchema;
  readonly value: string;
}

function field({ id, name, where, required, schema, value }: Field): Html {
  return html`<div class="field">
<label for="${id}">${name} <small>${where}${required ? ", required" : ""}</small></label>
${input({ id, name, where, required, schema, value })}
</div>`;
}

function input({ id, name, where, required, schema, value }: Field): Html {
  const place = html`id="${id}" data-in="${where}" data-name="${name}"${required ? html` required` : ""}`;
  if (schema.enum) {
    const options = schema.enum.map((one) => html`<option>${one}</option>`);
    return html`<select ${place}><option value=""></option>${options}</select>`;
  }
  if ((schema.maxLength ?? 0) > LINE) {
    return html`<textarea ${place} rows="${required ? 6 : 2}" spellcheck="false">
${value}</textarea>`;
  }
  const fresh = where === "header" && schema.format === "uuid";
  return html`<span class="line"><input ${place} value="${value}" spellcheck="false" autocomplete="off">${
    fresh ? html`<button type="button" class="fresh" data-for="${id}">New</button>` : ""
  }</span>`;
}
