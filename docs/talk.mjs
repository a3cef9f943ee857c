// Connects the terminal with a program that runs: node talk.mjs ID. ASSAY_URL and ASSAY_KEY are set as `assay serve` prints them; for the
// service's own certificate authority, set NODE_EXTRA_CA_CERTS to the file that ASSAY_CA names.
const [, , id] = process.argv;
const { ASSAY_URL: url, ASSAY_KEY: key } = process.env;

// A program could change the terminal by control characters.
const printable = (text) => text.replace(/[^\P{Cc}\n\t]/gu, "\ufffd");

const socket = new WebSocket(`${url.replace(/^http/, "ws")}/api/result/${id}/connect`, {
  headers: { "X-API-Key": key },
});

socket.onopen = () => {
  process.stdin.on("data", (bytes) => socket.send(bytes));
  process.stdin.on("end", () => socket.send(JSON.stringify({ type: "end" })));
  process.on("SIGINT", () => socket.send(JSON.stringify({ type: "signal", signal: "SIGINT" })));
};

socket.onmessage = ({ data }) => {
  const message = JSON.parse(data);
  if (message.type === "stdout" || message.type === "stderr") process[message.type].write(printable(message.text));
  else if (message.type === "ended") process.stderr.write(`verdict: ${message.record.result.verdict}\n`);
  else if (message.type === "error") process.stderr.write(`${message.error}\n`);
};

socket.onclose = ({ code }) => process.exit(code === 1000 ? 0 : 1);
