import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Command, Observed, Served, ServersOptions } from "./messages.ts";
import { makeNamespaces, type Namespaces } from "./namespaces.ts";
import type { Zone } from "./zone.ts";

/*
 * A fake internet: name servers and hosts in a network namespace of the test, with a certificate authority of its own. Every address, public or private,
 * leads to the same servers there, which note the address that the client used. So a connection to an address that is not allowed would succeed, and be
 * seen.
 */

const SERVERS = join(import.meta.dirname, "servers.ts");
/** Whoever has a name below these has a valid certificate. */
const CERTIFIED = [
  ...["example.com", "*.example.com", "example.org", "*.example.org", "*.b.example.org", "pypi.org"],
  ...["files.pythonhosted.org", "registry.npmjs.org", "github.com", "proxy.golang.org", "repo.maven.apache.org"],
];

export class FakeInternet {
  readonly namespaces: Namespaces;
  /** The certificate authority, in PEM. */
  readonly ca: string;
  /** A directory that ends with the fake internet. */
  readonly directory: string;
  readonly #servers: ChildProcess;

  private constructor(directory: string, namespaces: Namespaces, servers: ChildProcess) {
    this.directory = directory;
    this.namespaces = namespaces;
    this.#servers = servers;
    this.ca = readFileSync(join(directory, "ca.pem"), "utf8");
  }

  /** @param postgres the server behind port 5432 of every host: a port of this machine would not be reachable, so it is the path of a socket. */
  static async start(t: Pick<TestContext, "after">, postgres: string): Promise<FakeInternet> {
    const directory = mkdtempSync(join(tmpdir(), "assay-internet-"));
    chmodSync(directory, 0o755);
    t.after(() => rmSync(directory, { recursive: true, force: true }));
    makeCertificates(directory);
    const repository = makeRepository(directory);
    const namespaces = await makeNamespaces(t, directory);
    const [key, certificate] = [join(directory, "server.key"), join(directory, "server.pem")];
    const options: ServersOptions = { key, certificate, repository, postgres };
    const [command = "", ...within] = ["setpriv", "--pdeathsig", "KILL", ...namespaces.internet];
    const servers = spawn(command, [...within, process.execPath, SERVERS, JSON.stringify(options)], {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    const ended = once(servers, "exit");
    t.after(async () => {
      servers.kill("SIGKILL");
      await ended;
    });
    await Promise.race([once(servers, "message"), ended.then(() => Promise.reject(new Error("the servers ended")))]);
    return new FakeInternet(directory, namespaces, servers);
  }

  /** Replaces all answers of the name server. */
  async setZone(zone: Zone): Promise<void> {
    await this.#command({ kind: "zone", zone });
  }

  /** Replaces all files of the web servers. @param files by name of the host and path. */
  async setFiles(files: Readonly<Record<string, Served>>): Promise<void> {
    await this.#command({ kind: "files", files });
  }

  /** Everything that has reached the fake internet so far. */
  async observed(): Promise<Observed> {
    return (await this.#command({ kind: "seen" })) as Observed;
  }

  /** Only what has reached it since an earlier observation. */
  async since(before: Observed): Promise<Observed> {
    const now = await this.observed();
    return {
      connections: now.connections.slice(before.connections.length),
      questions: now.questions.slice(before.questions.length),
      quic: now.quic - before.quic,
      requests: now.requests.slice(before.requests.length),
    };
  }

  /** The commands are answered in order. */
  #last: Promise<unknown> = Promise.resolve();
  #command(command: Command): Promise<unknown> {
    const sent = this.#last.then(async () => {
      const answered = once(this.#servers, "message");
      this.#servers.send(command);
      const [response] = await answered;
      return response;
    });
    this.#last = sent.catch(() => {});
    return sent;
  }
}

/** `ca.pem`, `server.pem` and `server.key`. */
function makeCertificates(directory: string): void {
  const path = (name: string) => join(directory, name);
  const openssl = (...args: string[]) => execFileSync("openssl", args, { stdio: ["ignore", "ignore", "pipe"] });
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const usage = ["-addext", "keyUsage=critical,keyCertSign"];
  openssl(
    "req",
    "-x509",
    ...key,
    ...usage,
    "-subj",
    "/CN=fake internet",
    "-keyout",
    path("ca.key"),
    "-out",
    path("ca.pem"),
  );
  openssl("req", "-new", ...key, "-subj", "/CN=host", "-keyout", path("server.key"), "-out", path("server.csr"));
  writeFileSync(path("names"), `subjectAltName=${CERTIFIED.map((name) => `DNS:${name}`).join()}\n`);
  const signed = ["-CA", path("ca.pem"), "-CAkey", path("ca.key"), "-CAcreateserial", "-extfile", path("names")];
  openssl("x509", "-req", "-in", path("server.csr"), ...signed, "-days", "2", "-out", path("server.pem"));
}

/** A git repository with one commit. */
function makeRepository(directory: string): string {
  const [work, bare] = [join(directory, "work"), join(directory, "repository.git")];
  mkdirSync(work);
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
  const git = (...args: string[]) => execFileSync("git", args, { cwd: work, env, stdio: ["ignore", "ignore", "pipe"] });
  git("init", "-q", "-b", "main");
  writeFileSync(join(work, "README"), "cloned over HTTPS\n");
  git("add", "README");
  git("-c", "user.name=Test", "-c", "user.email=test@example.com", "commit", "-qm", "first");
  git("clone", "-q", "--bare", work, bare);
  return bare;
}
