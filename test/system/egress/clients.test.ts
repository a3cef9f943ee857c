import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { MAIN } from "../../support/cli/processes.ts";
import {
  type NetworkSandbox,
  type Run,
  type RunOptions,
  useEgressProduct,
} from "../../support/egress/internet/product.ts";
import { LIBRARIES, newestPrograms } from "../../support/store/postgres-server.ts";
import { postgresServer } from "../../support/store/temporary.ts";
import { REGISTRY_HOSTS, registryFiles } from "./registries.ts";

/*
 * Programs that know nothing of Assay, in sandboxes whose policy allows what they do, or does not. pip, npm, git and curl are those of the image, as are the
 * libraries of Go, Java, Python and Node. The image has no psql: that of this machine is copied into the sandbox, with its libraries.
 */

const product = useEgressProduct({ sandboxes: 4 }, async (started) => {
  const names = ALLOWED.map(({ host }) => [host, ADDRESSES]);
  await started.internet.setZone(Object.fromEntries(names));
  await started.internet.setFiles(registryFiles());
  const server = await postgresServer();
  databaseUrl = server.url("postgres");
  await started.permit({ policy: { allow: [...ALLOWED, ...OTHERS] } });
});
/** All that the clients need, and nothing more. */
const ALLOWED = [
  ...[...REGISTRY_HOSTS.pypi, ...REGISTRY_HOSTS.npm, "github.com"].map((host) => ({ host, ports: [443] })),
  { host: "api.example.com", ports: [80, 443] },
  { host: "db.example.com", ports: [5_432] },
];
/** Another host, so that the sandbox has a network. */
const OTHERS = [{ host: "other.example.com", ports: [443] }];
const ADDRESSES = { a: ["23.1.1.1"], aaaa: ["2600:0:0:0:0:0:0:1"] };
/** How often a client may try at most, if it is refused. */
const TRIES = 6;

interface Client {
  readonly run: (sandbox: NetworkSandbox, options: RunOptions) => Promise<Run>;
  /** What it writes if it works. */
  readonly writes: RegExp;
  /** The name that it cannot reach if it is not allowed, and what it says then. */
  readonly name: string;
  readonly says: RegExp;
}

const GO = `package main
import ("fmt"; "io"; "net/http"; "os")
func main() {
	response, err := http.Get("https://api.example.com/go")
	if err != nil { fmt.Fprintln(os.Stderr, err); os.Exit(1) }
	body, _ := io.ReadAll(response.Body)
	fmt.Print(string(body))
}`;
const JAVA = `import java.net.URI;
import java.net.http.*;
public class Main {
  public static void main(String[] args) throws Exception {
    System.setProperty("javax.net.ssl.trustStore", "/home/user/trusted.p12");
    System.setProperty("javax.net.ssl.trustStorePassword", "changeit");
    var request = HttpRequest.newBuilder(URI.create("https://api.example.com/java")).build();
    System.out.print(HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body());
  }
}`;
const NODE = `const response = await fetch("https://api.example.com/node");
process.stdout.write(await response.text());`;
const PYTHON = `import urllib.request
print(urllib.request.urlopen("https://api.example.com/python").read().decode(), end="")`;

const shell = (command: string) => (sandbox: NetworkSandbox, options: RunOptions) => sandbox.run(command, options);
const API = "api.example.com";
let databaseUrl = "";

const CLIENTS: Readonly<Record<string, Client>> = {
  pip: {
    run: shell("pip install -q greeting && python3 -c 'import greeting; greeting.main()'"),
    writes: /^hello\n$/,
    name: "pypi.org",
    says: /No matching distribution found for greeting|Failed to resolve 'pypi\.org'/,
  },
  npm: {
    run: shell("npm install -g --no-fund --no-audit welcome >&2 && welcome"),
    writes: /^welcome\n$/,
    name: "registry.npmjs.org",
    says: /ENOTFOUND .*registry\.npmjs\.org/,
  },
  git: {
    run: shell("git clone -q https://github.com/repository.git cloned && cat cloned/README"),
    writes: /^cloned over HTTPS\n$/,
    name: "github.com",
    says: /Could not resolve host: github\.com/,
  },
  "curl over HTTPS": {
    run: shell("curl -sS https://api.example.com/curl"),
    writes: /^GET api\.example\.com\/curl 0 bytes\n$/,
    name: API,
    says: /Could not resolve host: api\.example\.com/,
  },
  "curl over HTTP": {
    run: shell("curl -sS http://api.example.com/curl http://api.example.com/again"),
    writes: /^GET api\.example\.com\/curl 0 bytes\nGET api\.example\.com\/again 0 bytes\n$/,
    name: API,
    says: /Could not resolve host: api\.example\.com/,
  },
  psql: {
    run: (sandbox, options) => {
      const url = new URL(databaseUrl);
      url.host = "db.example.com:5432";
      const program = "psql/ld.so --library-path psql psql/psql";
      return sandbox.run(`tar -xf psql.tar && ${program} '${url.href}?sslmode=disable' -Atc 'select 6 * 7'`, options);
    },
    writes: /^42\n$/,
    name: "db.example.com",
    says: /could not translate host name "db\.example\.com" to address/,
  },
  "net/http of Go": {
    run: (sandbox, options) => sandbox.code("go", GO, options),
    writes: /^GET api\.example\.com\/go 0 bytes\n$/,
    name: API,
    says: /lookup api\.example\.com.*no such host/,
  },
  "HttpClient of Java": {
    run: (sandbox, options) => sandbox.code("java", JAVA, options),
    writes: /^GET api\.example\.com\/java 0 bytes\n$/,
    name: API,
    says: /java\.net\.ConnectException|UnresolvedAddressException/,
  },
  "fetch of Node": {
    run: (sandbox, options) => sandbox.run(`node --input-type=module <<'end'\n${NODE}\nend`, options),
    writes: /^GET api\.example\.com\/node 0 bytes\n$/,
    name: API,
    says: /ENOTFOUND/,
  },
  "urllib of Python": {
    run: (sandbox, options) => sandbox.python(PYTHON, [], options),
    writes: /^GET api\.example\.com\/python 0 bytes\n$/,
    name: API,
    says: /Name or service not known/,
  },
};

/** A sandbox that trusts the certificate authority of the fake internet, as everybody trusts that of the real one. */
async function trusting(t: TestContext, allow: readonly object[]): Promise<readonly [NetworkSandbox, RunOptions]> {
  const sandbox = await product().sandbox(t, { allow });
  const path = "/home/user/ca.pem";
  await sandbox.writeFile(path, product().internet.ca);
  const names = ["SSL_CERT_FILE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT", "NODE_EXTRA_CA_CERTS"];
  return [sandbox, { env: Object.fromEntries(names.map((name) => [name, path])), wallSeconds: 120 }];
}

async function prepare(name: string, sandbox: NetworkSandbox): Promise<void> {
  if (name === "psql") await sandbox.writeFile("/home/user/psql.tar", psqlArchive());
  if (!/Java/.test(name)) return;
  const imported =
    "keytool -importcert -noprompt -file ca.pem -keystore trusted.p12 -storetype PKCS12 -storepass changeit";
  const { result, output } = await sandbox.run(imported);
  assert.equal(result.exit_code, 0, output.stdout + output.stderr);
}

for (const [name, { run, writes, name: host, says }] of Object.entries(CLIENTS)) {
  test(`${name} works unmodified if the policy allows what it needs`, async (t) => {
    const [sandbox, options] = await trusting(t, ALLOWED);
    await prepare(name, sandbox);
    const { result, output, egress } = await run(sandbox, options);
    assert.equal(result.exit_code, 0, output.stdout + output.stderr + JSON.stringify(egress));
    assert.match(output.stdout, writes);
    const reached = egress.connections.filter(({ decision }) => decision === "allowed").map((one) => one.name);
    assert.ok(reached.includes(host), reached.join());
    assert.deepEqual([egress.denied, egress.refused_names], [0, []]);
  });

  test(`${name} fails at once if the policy does not allow it, says which name it cannot find, and the record says why`, async (t) => {
    const [sandbox, options] = await trusting(t, OTHERS);
    await prepare(name, sandbox);
    const { result, output, egress } = await run(sandbox, options);
    assert.notEqual(result.exit_code, 0);
    assert.match(output.stdout + output.stderr, says);
    assert.deepEqual(
      egress.refused_names.map((one) => one.name),
      [host],
    );
    const [refused] = egress.refused_names;
    // Each try asks for both kinds of addresses, at most.
    assert.ok((refused?.queries ?? 0) <= 2 * TRIES, `${refused?.queries} queries`);
    assert.deepEqual(egress.connections, []);
  });
}

test("a request over plain HTTP that is denied gets the reason as its response", async (t) => {
  const sandbox = await product().sandbox(t, { allow: OTHERS });
  const { result, output, egress } = await sandbox.run(
    "curl -sS -w '%{http_code}\\n' http://23.1.1.1/; curl -sS --fail http://other.example.com/",
  );
  const reason = "23.1.1.1 is not allowed by the policy of this sandbox";
  assert.equal(output.stdout, `${reason}\n403\n`, output.stderr);
  assert.deepEqual([result.exit_code, egress.bytes_down], [22, 0]); // curl says so of a response with an error
  assert.deepEqual(
    egress.connections.map((one) => one.reason),
    [reason, "port 80 of other.example.com is not allowed by the policy of this sandbox"],
  );
});

test("`assay sandbox run` says after a program that has failed what the policy has denied", async (t) => {
  const { url, key } = await product().url(t);
  const env = { ...process.env, ASSAY_URL: url, ASSAY_KEY: key };
  const run = async (...command: string[]) => {
    const args = [MAIN, "sandbox", "run", "--allow", "api.example.com:80", "--", ...command];
    const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "pipe"] });
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
    return { stdout, stderr, code };
  };
  const allowed = await run("curl", "-sS", "http://api.example.com/command");
  assert.deepEqual(allowed, { stdout: "GET api.example.com/command 0 bytes\n", stderr: "", code: 0 });
  const denied = await run("sh", "-c", "curl -s https://example.org/; curl -s http://api.example.com:8080/");
  const not = "is not allowed by the policy of this sandbox";
  const said = `assay: example.org ${not}\nassay: port 8080 of api.example.com ${not}\n`;
  assert.ok(denied.stderr.endsWith(said), denied.stderr);
  assert.notEqual(denied.code, 0);
});

/** psql with all its libraries, as a tar archive with the directory `psql`. */
function psqlArchive(): Buffer {
  const directory = mkdtempSync(join(tmpdir(), "assay-psql-"));
  const target = join(directory, "psql");
  mkdirSync(target);
  const program = join(newestPrograms(), "psql");
  const libraries = execFileSync("ldd", [program], { encoding: "utf8", env: LIBRARIES });
  copyFileSync(program, join(target, "psql"));
  for (const path of libraries.match(/\/\S+/g) ?? [])
    if (existsSync(path)) copyFileSync(path, join(target, /ld-linux/.test(path) ? "ld.so" : basename(path)));
  execFileSync("tar", ["-cf", "psql.tar", "psql"], { cwd: directory });
  const archive = readFileSync(join(directory, "psql.tar"));
  rmSync(directory, { recursive: true });
  return archive;
}
