import type { GivenTests, JudgedProgram, OnProblem } from "../../../../src/http/dashboard/api/judgements.ts";
import type { NewSubmission } from "../../../../src/http/dashboard/api/submissions.ts";
import { curlOf, KEY_PLACEHOLDER } from "../../components/curl.ts";

export type SnippetSubmission = Pick<NewSubmission, "language" | "code" | "stdin" | "profile">;
/** A judgement as the public API takes it: without an account, because the API key has one. */
export type SnippetJudgement = JudgedProgram & (GivenTests | OnProblem);

export interface Snippet {
  readonly name: string;
  readonly text: string;
}

/** @param authority Path of the file with the certificate authority of the service; null if clients need none for it. */
export function snippets(
  origin: string,
  run: SnippetSubmission | SnippetJudgement,
  authority: string | null = null,
): readonly Snippet[] {
  const request = "stdin" in run ? submissionOf(run) : judgementOf(run);
  const url = `${origin}${request.path}?wait=true`;
  return [
    { name: "curl", text: curlOf({ url, authority, key: KEY_PLACEHOLDER, body: request.body }) },
    { name: "TypeScript", text: typescript(url, request, authority) },
    { name: "Python", text: python(url, request, authority) },
  ];
}

/** A request whose response is a record. */
interface Request {
  readonly path: string;
  readonly body: object;
  /** Fields of the record that the snippet prints. */
  readonly prints: readonly (readonly string[])[];
}

/** The request for a run. An empty input is left out. */
function submissionOf({ language, code, stdin, profile }: SnippetSubmission): Request {
  const body = { language, code, ...(stdin && { stdin }), profile };
  return {
    path: "/api/submit",
    body,
    prints: [
      ["result", "verdict"],
      ["output", "stdout"],
    ],
  };
}

function judgementOf(body: SnippetJudgement): Request {
  return { path: "/api/judgements", body, prints: [["verdict"], ["score"]] };
}

/** A snippet for Node.js, which reads further certificate authorities only at its start, from an environment variable. */
function typescript(url: string, { body, prints }: Request, authority: string | null): string {
  const trust = authority === null ? "" : `// Run with NODE_EXTRA_CA_CERTS=${authority}\n`;
  return `${trust}const answer = await fetch("${url}", {
  method: "POST",
  headers: { "X-API-Key": "${KEY_PLACEHOLDER}", "Content-Type": "application/json" },
  body: JSON.stringify(${literal(body, "  ")}),
});
const record = await answer.json();
if (!answer.ok) throw new Error(\`\${answer.status}: \${record.error}\`);
console.log(${prints.map((names) => `record.${names.join(".")}`).join(", ")});
`;
}

/** A snippet for Python. The strings of the request are written as in JSON, because Python reads the same escapes. */
function python(url: string, { body, prints }: Request, authority: string | null): string {
  const context =
    authority === null ? "" : `context = ssl.create_default_context(cafile=${JSON.stringify(authority)})\n\n`;
  return `import json
${context && "import ssl\n"}import urllib.request

${context}request = urllib.request.Request(
    "${url}",
    method="POST",
    headers={"X-API-Key": "${KEY_PLACEHOLDER}", "Content-Type": "application/json"},
    data=json.dumps(${literal(body, "    ")}).encode(),
)
with urllib.request.urlopen(request${context && ", context=context"}) as answer:
    record = json.load(answer)
print(${prints.map((names) => `record${names.map((name) => `["${name}"]`).join("")}`).join(", ")})
`;
}

function literal(body: object, indent: string): string {
  const lines = JSON.stringify(body, null, indent).split("\n");
  return lines.map((line, i) => (i === 0 ? line : indent + line)).join("\n");
}
