import type { NewSubmission } from "../../../src/http/dashboard/api/submissions.ts";

/** The same run as a request to the public API, with a placeholder for the key. */
export const KEY_PLACE = "YOUR_API_KEY";

type Run = Pick<NewSubmission, "language" | "code" | "stdin" | "profile">;

export interface Snippet {
  readonly name: string;
  readonly text: string;
}

export function snippets(origin: string, { language, code, stdin, profile }: Run): readonly Snippet[] {
  // Only the input is optional.
  const body = { language, code, ...(stdin && { stdin }), profile };
  return [
    { name: "curl", text: curl(origin, body) },
    { name: "TypeScript", text: typescript(origin, body) },
    { name: "Python", text: python(origin, body) },
  ];
}

type Body = Readonly<Record<string, string>>;

/** The body is one line that begins with a brace, so it cannot end the here-document, and the shell expands nothing in it. */
function curl(origin: string, body: Body): string {
  return `curl -sS '${origin}/api/submit?wait=true' \\
  -H 'X-API-Key: ${KEY_PLACE}' \\
  -H 'Content-Type: application/json' \\
  --data-binary @- <<'END'
${JSON.stringify(body)}
END
`;
}

function typescript(origin: string, body: Body): string {
  return `const answer = await fetch("${origin}/api/submit?wait=true", {
  method: "POST",
  headers: { "X-API-Key": "${KEY_PLACE}", "Content-Type": "application/json" },
  body: JSON.stringify(${literal(body, "  ")}),
});
const record = await answer.json();
if (!answer.ok) throw new Error(\`\${answer.status}: \${record.error}\`);
console.log(record.result.verdict, record.output.stdout);
`;
}

/** JSON strings are valid Python strings: the escapes are the same. */
function python(origin: string, body: Body): string {
  return `import json
import urllib.request

request = urllib.request.Request(
    "${origin}/api/submit?wait=true",
    method="POST",
    headers={"X-API-Key": "${KEY_PLACE}", "Content-Type": "application/json"},
    data=json.dumps(${literal(body, "    ")}).encode(),
)
with urllib.request.urlopen(request) as answer:
    record = json.load(answer)
print(record["result"]["verdict"], record["output"]["stdout"])
`;
}

function literal(body: Body, indent: string): string {
  const lines = JSON.stringify(body, null, indent).split("\n");
  return lines.map((line, i) => (i === 0 ? line : indent + line)).join("\n");
}
