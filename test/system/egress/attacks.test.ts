import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { PolicyError, parseNetworkPolicy, ruleText } from "../../../src/domain/egress/policy.ts";
import { type Observed, PORTS } from "../../support/egress/internet/messages.ts";
import { type NetworkSandbox, type Run, useEgressProduct } from "../../support/egress/internet/product.ts";
import { read, startedBelow } from "../../support/launcher/machine.ts";
import { NOT_GLOBAL_4, NOT_GLOBAL_6 } from "../../support/network/addresses.ts";
import { ASK_NAMES, ATTEMPT, ATTEMPT_ALL, FRAGMENTED_HELLO, OTHER_SOCKETS, RACE, TLS } from "./programs.ts";

/*
 * What a hostile program can try to reach more than its policy allows, or to send more than its budget: the whole product, in a namespace whose only way out is
 * a fake internet that answers on every address (test/support/egress/internet/). So an attack that succeeds is seen there.
 */

const RUNS = process.env.ASSAY_TEST_LONG === "yes" ? 100 : 5;
const product = useEgressProduct({ sandboxes: 4 });

/** Ports of the policies of these tests, unless a test says otherwise. */
const API = { host: "api.example.com", ports: [80, 443, PORTS.echo, PORTS.sink, PORTS.bulk, PORTS.drip] };
const ZONE = {
  "api.example.com": { a: ["23.1.1.1"] },
  "other.example.com": { a: ["23.1.1.2"] },
  "*.example.org": { a: ["23.1.1.3"] },
} as const;

/** A sandbox with a network policy, which the operator permits and nothing more. */
async function opened(t: TestContext, network: object): Promise<NetworkSandbox> {
  await product().internet.setZone(ZONE);
  await product().permit({ policy: network });
  return product().sandbox(t, network);
}

/** What has reached the fake internet while something ran. */
async function during(work: () => Promise<unknown>): Promise<Observed & { readonly packets: Record<string, number> }> {
  const { internet } = product();
  const [before, counted] = [await internet.observed(), internet.namespaces.counters()];
  await work();
  const now = internet.namespaces.counters();
  const packets = Object.fromEntries(
    [
      "TcpPassiveOpens",
      "UdpInDatagrams",
      "UdpNoPorts",
      "Udp6InDatagrams",
      "Udp6NoPorts",
      "IcmpInMsgs",
      "Icmp6InEchos",
    ].map((name) => [name, (now.get(name) ?? 0) - (counted.get(name) ?? 0)]),
  );
  return { ...(await internet.since(before)), packets };
}

function assertNothing({ connections, questions, quic, packets }: Awaited<ReturnType<typeof during>>): void {
  assert.deepEqual({ connections, questions, quic }, { connections: [], questions: [], quic: 0 });
  assert.ok(
    Object.values(packets).every((count) => count === 0),
    JSON.stringify(packets),
  );
}

const reasonsOf = ({ egress }: Run) => egress.connections.map(({ reason }) => reason);

test("the fake internet answers on every address, so that a connection that these tests refuse would be seen", async () => {
  const { internet } = product();
  await internet.setZone(ZONE);
  const curl = (url: string) => {
    const [command = "", ...args] = [...internet.namespaces.tested, "curl", "-gsS", "--max-time", "60", url];
    return execFileSync(command, args, { encoding: "utf8" });
  };
  const urls = [
    "http://api.example.com/",
    "http://10.0.0.1/",
    "http://169.254.169.254/",
    "http://[fd00::1]/",
    "http://[64:ff9b::a00:1]/",
  ];
  const { connections, questions } = await during(async () => {
    for (const url of urls) assert.match(curl(url), /^GET /);
  });
  assert.deepEqual(
    connections.map(({ address }) => address),
    ["23.1.1.1", "10.0.0.1", "169.254.169.254", "fd00::1", "64:ff9b::a00:1"],
  );
  assert.deepEqual(questions, ["api.example.com A", "api.example.com AAAA"]);
});

test("a sandbox without a network reaches nothing, and none can be given to it later", async (t) => {
  await opened(t, { allow: [API] });
  const sandbox = await product().sandbox(t, "none");
  const seen = await during(async () => {
    const { output } = await sandbox.python(ATTEMPT_ALL, [JSON.stringify(["api.example.com", "23.1.1.1", "9.9.9.9"])]);
    assert.deepEqual(
      new Set(Object.values(JSON.parse(output.stdout))),
      new Set(["no such name", "ENETUNREACH"]),
      output.stdout,
    );
  });
  assertNothing(seen);
  assert.equal((await sandbox.replaceNetwork({ allow: [API] })).status, 409);
});

test("a policy beyond what the operator permits is refused, when a sandbox is created and when it is replaced", async (t) => {
  const sandbox = await opened(t, { allow: [API], bytes_up: 1_000 });
  for (const network of [
    { allow: [{ host: "other.example.com", ports: [443] }], bytes_up: 1 },
    { allow: [{ host: "*.example.com", ports: [443] }], bytes_up: 1 },
    { allow: [{ host: "api.example.com", ports: [8_443] }], bytes_up: 1 },
    { allow: [{ cidr: "23.1.1.1/32", ports: [443] }], bytes_up: 1 },
    { allow: [API], bytes_up: 1_001 },
  ]) {
    const created = await product().first.ask("POST", "/api/sandboxes", { network });
    const replaced = await sandbox.replaceNetwork(network);
    assert.deepEqual([created.status, replaced.status], [403, 403], JSON.stringify(network));
  }
});

test("a mistake in a policy is an error that names its place, and never means everything", async () => {
  const [host, ports] = ["api.example.com", [443]];
  const mistakes: readonly (readonly [unknown, RegExp])[] = [
    [null, /network/],
    ["", /network/],
    ["all", /network/],
    ["*", /network/],
    [[], /network/],
    [true, /network/],
    [{}, /allow/],
    [{ allow: [] }, /allow/],
    [{ allow: "*" }, /allow/],
    [{ allow: [{ host: "*", ports }] }, /allow\[0\]\.host/],
    [{ allow: [{ host: "", ports }] }, /allow\[0\]\.host/],
    [{ allow: [{ host: "*.", ports }] }, /allow\[0\]\.host/],
    [{ allow: [{ host: "*.com", ports }] }, /allow\[0\]\.host/],
    [{ allow: [{ host: "com", ports }] }, /allow\[0\]\.host/],
    [{ allow: [{ host: "api.*.com", ports }] }, /allow\[0\]\.host/],
    [{ allow: [{ host: "*api.example.com", ports }] }, /allow\[0\]\.host/],
    [{ allow: [{ host: "api.example.com.", ports }] }, /allow\[0\]\.host/],
    [{ allow: [{ host: "api.example.com:443", ports }] }, /allow\[0\]\.host/],
    [{ allow: [{ host: "https://api.example.com", ports }] }, /allow\[0\]\.host/],
    [{ allow: [{ host: "bücher.example", ports }] }, /allow\[0\]\.host/],
    [{ allow: [{ host: "api.example.com\u0000", ports }] }, /allow\[0\]\.host/],
    [{ allow: [{ host: " api.example.com", ports }] }, /allow\[0\]\.host/],
    [{ allow: [{ host: "localhost", ports }] }, /allow\[0\]\.host/],
    [{ allow: [{ host: "a.localhost", ports }] }, /allow\[0\]\.host/],
    [{ allow: [{ host: "127.0.0.1", ports }] }, /allow\[0\]\.host/],
    [{ allow: [{ host: "0x7f.1", ports }] }, /allow\[0\]\.host/],
    [{ allow: [{ host, ports: [] }] }, /allow\[0\]\.ports/],
    [{ allow: [{ host, ports: [0] }] }, /allow\[0\]\.ports/],
    [{ allow: [{ host, ports: [65_536] }] }, /allow\[0\]\.ports/],
    [{ allow: [{ host, ports: [53] }] }, /allow\[0\]\.ports/],
    [{ allow: [{ host, ports: [443, 443] }] }, /allow\[0\]\.ports/],
    [{ allow: [{ host, ports: ["443"] }] }, /allow\[0\]\.ports/],
    [{ allow: [{ host, ports: "*" }] }, /allow\[0\]\.ports/],
    [{ allow: [{ host }] }, /allow\[0\]\.ports/],
    [
      {
        allow: [
          { host, ports },
          { host, ports: [80] },
        ],
      },
      /allow\[1\]/,
    ],
    [{ allow: [{ host, cidr: "23.0.0.0/24", ports }] }, /allow\[0\]/],
    [{ allow: [{ ports }] }, /allow\[0\]/],
    [{ allow: [{ cidr: "0.0.0.0/0", ports }] }, /allow\[0\]\.cidr/],
    [{ allow: [{ cidr: "::/0", ports }] }, /allow\[0\]\.cidr/],
    [{ allow: [{ cidr: "23.0.0.1/24", ports }] }, /allow\[0\]\.cidr/],
    [{ allow: [{ cidr: "023.0.0.0/24", ports }] }, /allow\[0\]\.cidr/],
    [{ allow: [{ cidr: "::ffff:23.0.0.0/120", ports }] }, /allow\[0\]\.cidr/],
    [{ allow: [{ cidr: "198.18.0.0/16", ports }] }, /allow\[0\]\.cidr/],
    [{ allow: [{ host, ports }], bytes_up: -1 }, /bytes_up/],
    [{ allow: [{ host, ports }], bytes_up: 1.5 }, /bytes_up/],
    [{ allow: [{ host, ports }], bytes_down: "1" }, /bytes_down/],
    [{ allow: [{ host, ports }], connections: 0 }, /connections/],
    [{ allow: [{ host, ports }], connections: 65 }, /connections/],
    [{ allow: [{ host, ports }], deny: [] }, /network/],
    [{ allow: [{ host, ports, protocol: "tcp" }] }, /allow\[0\]/],
  ];
  await product().permit({ policy: { allow: [API] } });
  for (const [network, place] of mistakes) {
    const { status, json } = await product().first.ask("POST", "/api/sandboxes", { network });
    assert.equal(status, 400, JSON.stringify(network));
    assert.match(json.error, place, JSON.stringify(network));
  }
});

describe("names", () => {
  test("a name that no rule allows is asked of no name server, by whichever query a program asks", async (t) => {
    const sandbox = await opened(t, { allow: [API] });
    const names = ["c2vjcmv0.data.evil.example", "api.example.com.evil.example", "x.api.example.com", "example.com"];
    let run: Run | undefined;
    const seen = await during(async () => {
      run = await sandbox.python(ASK_NAMES, [JSON.stringify(names)]);
    });
    assertNothing(seen);
    const codes: number[] = JSON.parse(run?.output.stdout || run?.output.stderr || "");
    assert.equal(codes.length, 42 * names.length);
    assert.ok(
      codes.every((code) => code === 3),
      codes.join(),
    ); // NXDOMAIN, after which no usual resolver asks again
    assert.deepEqual(run?.egress.refused_names.map(({ name }) => name).sort(), names.sort());
    assert.ok((run?.egress.dns.refused ?? 0) >= codes.length);
    assert.deepEqual([run?.egress.bytes_up, run?.egress.connections], [0, []]);
  });

  test("a name under a wildcard is asked of a name server only for a connection, and its bytes count as sent", async (t) => {
    const sandbox = await opened(t, { allow: [{ host: "*.example.org", ports: [443, PORTS.echo] }], bytes_up: 100 });
    const name = "c2vjcmv0.example.org";
    const asked = await during(() => sandbox.python(ASK_NAMES, [JSON.stringify([name])]));
    assertNothing(asked);
    let run: Run | undefined;
    const connected = await during(async () => {
      run = await sandbox.python(`${ATTEMPT}\nprint(attempt("${name}", ${PORTS.echo}, b"hello"))`);
    });
    assert.equal(run?.output.stdout, "answered hello\n");
    assert.deepEqual(connected.questions, [`${name} A`, `${name} AAAA`]);
    assert.equal(run?.egress.bytes_up, name.length + 5);
    const deep = `${"a.".repeat(4)}example.org`;
    const other = "d2l0ag91da.example.org";
    const last = await during(async () => {
      run = await sandbox.python(
        `${ATTEMPT}\nprint(attempt("${deep}", ${PORTS.echo}, b"x"))\nfor n in range(4): print(attempt("%02d${other}" % n, ${PORTS.echo}, b"x"))`,
      );
    });
    assert.equal(
      last.questions.some((question) => question.startsWith("a.a")),
      false,
    );
    const { bytes_up, budget_left } = await sandbox.egress();
    assert.ok(bytes_up <= 100, `${bytes_up} bytes`);
    assert.equal(budget_left.up, 100 - bytes_up);
    // The bytes of all names that were asked for, each once for A and once for AAAA, are within the budget as well.
    const sent = [...connected.questions, ...last.questions].filter((question) => question.endsWith(" A"));
    assert.ok(sent.reduce((bytes, question) => bytes + question.length - 2, 0) <= 100, sent.join());
  });

  test("a program can make at most 60 names under a wildcard known within a minute", async (t) => {
    const sandbox = await opened(t, { allow: [{ host: "*.example.org", ports: [443] }] });
    const { output, egress } = await sandbox.python(`import socket
count = 0
for n in range(100):
    try: socket.getaddrinfo(f"n{n}.example.org", 443); count += 1
    except OSError: pass
print(count)`);
    assert.equal(output.stdout, "60\n");
    assert.equal(egress.refused_names.length, 40);
  });

  test("a flood of refused names leaves a log of bounded length, and all are counted", async (t) => {
    const sandbox = await opened(t, { allow: [API] });
    const { output, egress } = await sandbox.python(`import socket
for n in range(1500):
    try: socket.getaddrinfo(f"n{n}.evil.example", 443, socket.AF_INET)
    except OSError: pass
print("done")`);
    assert.equal(output.stdout, "done\n");
    assert.equal(egress.refused_names.length, 1_000);
    assert.ok(egress.dns.refused >= 1_500, `${egress.dns.refused}`);
  });
});

describe("servers of another name", () => {
  for (const [what, name, reason] of [
    ["another server name", "other.example.com", /asks for other\.example\.com in its TLS server name/],
    ["a server name that is not allowed", "evil.example", /asks for evil\.example in its TLS server name/],
    ["no server name", "", /has no TLS server name/],
  ] as const)
    test(`TLS with ${what} than that of the connection is refused before a byte is forwarded`, async (t) => {
      const sandbox = await opened(t, { allow: [API, { host: "other.example.com", ports: [443] }] });
      let run: Run | undefined;
      const seen = await during(async () => {
        run = await sandbox.python(TLS, ["api.example.com", name]);
      });
      assertNothing(seen);
      assert.equal(run?.output.stdout, "ConnectionResetError\n", run?.output.stderr);
      assert.match(run?.egress.connections[0]?.reason ?? "", reason);
      assert.equal(run?.egress.denied, 1);
    });

  test("TLS with the name of the connection is forwarded, in however small pieces and records it begins", async (t) => {
    const sandbox = await opened(t, { allow: [API] });
    const whole = await sandbox.python(TLS, ["api.example.com", "API.example.com"]);
    assert.match(whole.output.stdout, /^answered HTTP\/1\.1 200/, whole.output.stderr);
    const fragments = await sandbox.python(FRAGMENTED_HELLO);
    assert.equal(fragments.output.stdout, "answered\n", fragments.output.stderr);
  });

  test("on port 443, anything but the beginning of TLS is refused", async (t) => {
    const sandbox = await opened(t, { allow: [API] });
    const seen = await during(async () => {
      const { output, egress } = await sandbox.python(`${ATTEMPT}
for send in (b"SSH-2.0-x\\r\\n", REQUEST, b"\\x16\\3\\1\\0\\0", b"\\x16\\3\\1\\xff\\xff", b"\\x15\\3\\1\\0\\2\\2\\x28", bytes(64), b"\\x16\\3\\1\\0\\4\\1\\xff\\xff\\xff"):
    print(attempt("api.example.com", 443, send))`);
      assert.equal(output.stdout, "ECONNRESET\n".repeat(7), output.stderr);
      assert.equal(egress.denied, 7);
    });
    assertNothing(seen);
  });

  test("a connection to port 443 or 80 on which nothing comes is refused after a few seconds", async (t) => {
    const sandbox = await opened(t, { allow: [API] });
    const seen = await during(async () => {
      const { output, egress } = await sandbox.python(`${ATTEMPT}
print(attempt("api.example.com", 443, b""), attempt("api.example.com", 80, b"GET / HT"))`);
      assert.equal(output.stdout, "ECONNRESET answered HTTP/1.1 403 Forbidden\n", output.stderr);
      assert.equal(egress.denied, 2);
    });
    assertNothing(seen);
  });

  test("on port 80, each request of a connection must be for its name, and what can be read in two ways is refused", async (t) => {
    const sandbox = await opened(t, { allow: [API] });
    const heads = [
      "GET / HTTP/1.1\\r\\nHost: other.example.com\\r\\n\\r\\n",
      "GET / HTTP/1.1\\r\\n\\r\\n",
      "GET / HTTP/1.1\\r\\nHost: api.example.com\\r\\nHost: other.example.com\\r\\n\\r\\n",
      "GET http://other.example.com/ HTTP/1.1\\r\\nHost: api.example.com\\r\\n\\r\\n",
      "CONNECT other.example.com:443 HTTP/1.1\\r\\nHost: other.example.com:443\\r\\n\\r\\n",
      "CONNECT api.example.com:80 HTTP/1.1\\r\\nHost: api.example.com:80\\r\\n\\r\\n",
      "PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n",
      "POST / HTTP/1.1\\r\\nHost: api.example.com\\r\\nContent-Length: 1\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n",
      "GET / HTTP/1.1\\r\\nHost : other.example.com\\r\\nHost: api.example.com\\r\\n\\r\\n",
      "GET / HTTP/1.1\\nHost: other.example.com\\n\\nGET / HTTP/1.1\\r\\nHost: api.example.com\\r\\n\\r\\n",
    ];
    const seen = await during(async () => {
      const { output, egress } = await sandbox.python(
        `${ATTEMPT}\nfor send in (${heads.map((head) => `b"${head}"`).join(", ")}): print(attempt("api.example.com", 80, send))`,
      );
      const outcomes = output.stdout.trim().split("\n");
      assert.equal(outcomes.length, heads.length, output.stderr);
      assert.ok(
        outcomes.every((outcome) => outcome === "ECONNRESET" || /^answered HTTP\/1\.1 403 /.test(outcome)),
        outcomes.join("; "),
      );
      assert.equal(egress.denied, heads.length, reasonsOf({ egress } as Run).join("; "));
    });
    assertNothing(seen);
    // The second request of a connection is as good an attack as the first one.
    const second = await during(async () => {
      const { output, egress } = await sandbox.python(`${ATTEMPT}
s = socket.create_connection(("api.example.com", 80), 50)
s.sendall(b"GET /first HTTP/1.1\\r\\nHost: api.example.com\\r\\n\\r\\n")
print(s.recv(15))
s.sendall(b"GET /second HTTP/1.1\\r\\nHost: other.example.com\\r\\n\\r\\n")
try:
    while s.recv(1000): pass
    print("ended")
except OSError as e: print(type(e).__name__)`);
      assert.equal(output.stdout, "b'HTTP/1.1 200 OK'\nConnectionResetError\n", output.stderr);
      assert.match(egress.connections[0]?.reason ?? "", /other\.example\.com/);
      assert.equal(egress.connections[0]?.ended, "policy");
    });
    assert.deepEqual(second.requests, ["GET api.example.com /first"]);
  });
});

/** Notations by which programs write an address that another one reads as a private one. */
const NOTATIONS = [
  ...[
    "127.1",
    "127.0.1",
    "0",
    "0x0",
    "0x7f.1",
    "0x7f000001",
    "0177.0.0.1",
    "017700000001",
    "2130706433",
    "0x7F.0x0.0x0.0x1",
  ],
  ...["10.1", "0xa.1", "012.0.0.1", "167772161", "0xa9fea9fe", "2852039166", "0251.0376.0251.0376", "169.254.43518"],
  ...["0xa9.254.0251.254", "192.168.257", "3232235777", "0300.0250.1", "172.1048577", "127.0.0.1.", "[::1]", "::1%lo"],
  ...["169.254.169.254.nip.io", "localhost", "localhost.", "a.localhost", "localhost.localdomain", "ip6-localhost"],
  ...["\uff11\uff12\uff17.\uff10.\uff10.\uff11", "127\u30020\u30020\u30021", "metadata", "metadata.google.internal"],
];
/** In a sandbox, these are the sandbox itself, whatever its policy. */
const OWN = /^(127\.|0\.0\.0\.0$|::1?$|::ffff:(127|7f00)|localhost)/;

describe("addresses", () => {
  test("an address is refused, in every notation, if no rule is for a network", async (t) => {
    const sandbox = await opened(t, { allow: [API] });
    const hosts = [...NOTATIONS, ...NOT_GLOBAL_4, ...NOT_GLOBAL_6, "23.1.1.1", "8.8.8.8", "2600::1"];
    let run: Run | undefined;
    const seen = await during(async () => {
      run = await sandbox.python(ATTEMPT_ALL, [JSON.stringify(hosts)]);
    });
    assertNothing(seen);
    assertNotReached(run, hosts);
    const reasons = new Set(run?.egress.connections.map(({ address, reason }) => reason?.replace(address ?? "", "IT")));
    assert.deepEqual(
      [...reasons].filter((reason) => reason !== "IT stands for no name in this sandbox"),
      ["IT is not allowed by the policy of this sandbox"],
    );
  });

  for (const [family, addresses] of [
    ["IPv4", NOT_GLOBAL_4],
    ["IPv6", NOT_GLOBAL_6],
  ] as const) {
    test(`no ${family} address that is not public is reached, although a rule allows it`, async (t) => {
      // Some of the addresses are the same one in other words.
      const rules = [...new Set(addresses.flatMap(ruleFor))].map((cidr) => ({ cidr, ports: [80] }));
      assert.ok(rules.length > addresses.length / 2);
      const sandbox = await opened(t, { allow: rules });
      let run: Run | undefined;
      const seen = await during(async () => {
        run = await sandbox.python(ATTEMPT_ALL, [JSON.stringify([...addresses, ...NOTATIONS])]);
      });
      assertNothing(seen);
      assertNotReached(run, [...addresses, ...NOTATIONS]);
      const why = run?.egress.connections.filter(({ reason }) =>
        /^only public addresses are allowed/.test(reason ?? ""),
      );
      assert.ok((why?.length ?? 0) >= rules.length / 2, `${why?.length} of ${rules.length}`);
    });

    test(`a name that is allowed, and has an ${family} address that is not public, is not reached`, async (t) => {
      const names = addresses.map((_, at) => `n${at}.example.org`);
      const sandbox = await opened(t, { allow: names.map((host) => ({ host, ports: [80, PORTS.echo] })) });
      const answers = addresses.map((address) =>
        family === "IPv4" ? { a: [address] } : { aaaa: [groupsOf6(address)] },
      );
      await product().internet.setZone(Object.fromEntries(names.map((name, at) => [name, answers[at] ?? {}])));
      let run: Run | undefined;
      const seen = await during(async () => {
        run = await sandbox.python(ATTEMPT_ALL, [JSON.stringify(names)]);
      });
      assert.deepEqual(seen.connections, []);
      assertNotReached(run, names);
      assert.equal(run?.egress.denied, names.length, reasonsOf(run as Run).join("; "));
    });
  }

  test("a name whose addresses change is checked for each connection, by the addresses of that connection", async (t) => {
    const names = ["rebind", "mixed", "alias", "many", "own", "own6"].map((label) => `${label}.example.org`);
    const sandbox = await opened(t, { allow: names.map((host) => ({ host, ports: [PORTS.echo] })) });
    await product().internet.setZone({
      "rebind.example.org": [{ a: ["23.1.1.9"] }, { a: ["10.0.0.1"] }, { a: ["127.0.0.1"] }, { a: ["23.1.1.9"] }],
      "mixed.example.org": { a: ["23.1.1.9", "192.168.0.1"] },
      "alias.example.org": { cname: ["a.evil.example", "b.evil.example"], a: ["169.254.169.254"] },
      "many.example.org": { a: [...Array.from({ length: 24 }, (_, at) => `23.1.2.${at}`), "10.1.1.1"] },
      "own.example.org": { a: ["44.0.0.2"] },
      "own6.example.org": { aaaa: ["2a0c:44:0:0:0:0:0:2"] },
    });
    let run: Run | undefined;
    const { connections } = await during(async () => {
      run = await sandbox.python(`${ATTEMPT}
for name in ["rebind"] * 4 + ["mixed", "alias", "many", "own", "own6"]: print(attempt(name + ".example.org", ${PORTS.echo}, b"x"))`);
    });
    const refused = "ECONNRESET";
    assert.deepEqual(run?.output.stdout.trim().split("\n"), [
      "answered x",
      refused,
      refused,
      "answered x",
      ...Array(5).fill(refused),
    ]);
    assert.deepEqual(
      connections.map(({ address }) => address),
      ["23.1.1.9", "23.1.1.9"],
    );
    assert.equal(run?.egress.denied, 7);
    const own = reasonsOf(run).filter((reason) => /this machine's own$/.test(reason ?? ""));
    assert.equal(own.length, 2);
  });

  test("a redirect to a private address, or to a host that no rule allows, leads nowhere", async (t) => {
    const sandbox = await opened(t, { allow: [API] });
    const targets = [
      "http://169.254.169.254/",
      "http://10.0.0.1/",
      "http://127.0.0.1/",
      "http://evil.example/",
      "https://[::ffff:a9fe:a9fe]/",
    ];
    const seen = await during(async () => {
      for (const target of targets) {
        const { result } = await sandbox.run(`curl -gsSL --fail 'http://api.example.com/redirect?to=${target}'`);
        assert.notEqual(result.exit_code, 0, target);
      }
    });
    assert.deepEqual(new Set(seen.connections.map(({ address }) => address)), new Set(["23.1.1.1"]));
    assert.equal(seen.requests.length, targets.length);
  });

  test("a name server that does not answer, or that answers nothing, fails the connection and nothing else", async (t) => {
    const names = ["silent", "empty", "failing", "slow"].map((label) => `${label}.example.org`);
    const sandbox = await opened(t, { allow: [API, ...names.map((host) => ({ host, ports: [PORTS.echo] }))] });
    await product().internet.setZone({
      ...ZONE,
      "silent.example.org": { isSilent: true },
      "empty.example.org": {},
      "failing.example.org": { rcode: 2 },
      "slow.example.org": { a: ["23.1.1.9"], delayMs: 1_000 },
    });
    const { output, egress } = await sandbox.python(
      `${ATTEMPT}
results = {}
def one(name): results[name] = attempt(name, ${PORTS.echo}, b"x")
threads = [threading.Thread(target=one, args=(name,)) for name in json.loads(sys.argv[1])]
for t in threads: t.start()
print(attempt("api.example.com", ${PORTS.echo}, b"y"), any(name.startswith("silent") for name in results))
for t in threads: t.join()
print(json.dumps(results))`,
      [JSON.stringify(names)],
    );
    const [meanwhile, results = "{}"] = output.stdout.trim().split("\n");
    assert.equal(meanwhile, "answered y False", output.stderr);
    const failed = "ECONNRESET";
    assert.deepEqual(
      JSON.parse(results),
      Object.fromEntries(names.map((name, at) => [name, at === 3 ? "answered x" : failed])),
    );
    assert.match(
      egress.connections.find(({ name }) => name === "empty.example.org")?.reason ?? "",
      /not found|no answer|no address/,
    );
  });
});

/** A rule for one address alone; none if no policy can have one, because the address is IPv4-mapped or stands for a name. */
function ruleFor(address: string): string[] {
  const rule = { cidr: `${address}/${address.includes(":") ? 128 : 32}`, ports: [80] };
  try {
    const policy = parseNetworkPolicy({ allow: [rule] });
    return policy === "none" ? [] : policy.allow.map(ruleText);
  } catch (error) {
    assert.ok(error instanceof PolicyError);
    return [];
  }
}

/** The eight groups of an IPv6 address, by the parser of URLs. */
function groupsOf6(address: string): string {
  const [before = "", behind] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split("::");
  const [head, tail] = [before, behind ?? ""].map((part) => (part === "" ? [] : part.split(":")));
  const missing = behind === undefined ? 0 : 8 - (head?.length ?? 0) - (tail?.length ?? 0);
  return [...(head ?? []), ...Array<string>(missing).fill("0"), ...(tail ?? [])].join(":");
}

/** What a program can see of a connection that is refused. No server of the fake internet answers with this status. */
const REFUSED = /^(E[A-Z]+|no such name|answered HTTP\/1\.1 403 Forbidden)$/;

/** No attempt got an answer of a server, and none waited for one. */
function assertNotReached(run: Run | undefined, hosts: readonly string[]): void {
  const outcomes: Record<string, string> = JSON.parse(run?.output.stdout || `"${run?.output.stderr}"`);
  const wrong = hosts.filter((host) => !REFUSED.test(outcomes[host] ?? ""));
  assert.deepEqual(
    wrong.map((host) => [host, outcomes[host]]),
    [],
  );
  assert.ok(hosts.some((host) => !OWN.test(host)));
}

describe("ports and protocols", () => {
  test("a host is reached on the ports of its rule only, and there is no proxy that leads to others", async (t) => {
    const sandbox = await opened(t, { allow: [API, { host: "other.example.com", ports: [8_443] }] });
    const ports = [21, 22, 23, 25, 110, 853, 1_080, 3_128, 5_432, 8_080, 8_443, 65_535];
    const seen = await during(async () => {
      const { output, egress } = await sandbox.python(`${ATTEMPT}
for port in ${JSON.stringify(ports)}: print(attempt("api.example.com", port, b"x"))
for port in (80, 443): print(attempt("other.example.com", port))
for port, send in ((80, b"\\5\\1\\0"), (443, b"\\4\\1\\0\\x16\\x17\\1\\1\\1\\0")): print(attempt("api.example.com", port, send))`);
      const outcomes = output.stdout.trim().split("\n");
      assert.equal(outcomes.length, ports.length + 4, output.stderr);
      assert.ok(
        outcomes.every((outcome) => REFUSED.test(outcome)),
        outcomes.join(),
      );
      assert.ok(
        reasonsOf({ egress } as Run).includes(
          "port 22 of api.example.com is not allowed by the policy of this sandbox",
        ),
      );
    });
    assertNothing(seen);
    const { output } = await sandbox.run(
      "env | grep -i proxy; curl -sS -x http://api.example.com:80 http://evil.example/",
    );
    assert.doesNotMatch(output.stdout, /proxy|GET/i);
  });

  test("QUIC and all that is not TCP is refused at once, and no packet of it leaves the machine", async (t) => {
    const sandbox = await opened(t, { allow: [API, { cidr: "23.0.0.0/8", ports: [443] }] });
    let run: Run | undefined;
    const seen = await during(async () => {
      run = await sandbox.python(OTHER_SOCKETS);
    });
    assertNothing(seen);
    const lines =
      run?.output.stdout
        .trim()
        .split("\n")
        .map((line) => line.split(" ")) ?? [];
    const outcomes = Object.fromEntries(lines.map(([what = "", outcome]) => [what, outcome]));
    assert.equal(lines.length, 20, `${run?.output.stdout}${run?.output.stderr}`);
    for (const what of ["quic", "quic6", "ntp"]) assert.equal(outcomes[what], "ECONNREFUSED", what);
    assert.ok(!lines.some(([, outcome]) => outcome === "opened"), run?.output.stdout);
  });

  test("an HTTP/3 client falls back to TCP, because no name has a record that offers QUIC", async (t) => {
    const sandbox = await opened(t, { allow: [API] });
    const { output } = await sandbox.python(`${ATTEMPT}
for kind in (64, 65):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(50)
    s.sendto(b"\\0\\1\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\3api\\7example\\3com\\0" + struct.pack(">HH", kind, 1), ("9.9.9.9", 53))
    data = s.recv(4096); print(data[3] & 15, struct.unpack(">H", data[6:8])[0])`);
    assert.equal(output.stdout, "0 0\n0 0\n", output.stderr);
  });
});

describe("budgets", () => {
  const budget = 3_000_001;

  test(`64 connections that race for the last byte receive exactly the budget, ${RUNS} times`, async (t) => {
    for (let run = 0; run < RUNS; run++) {
      const sandbox = await opened(t, { allow: [API], bytes_down: budget });
      const bulk = [API.host, String(PORTS.bulk), "64", "100000000\n", "receive"];
      const { output, egress } = await sandbox.python(RACE, bulk);
      const [received = Number.NaN, begun] = JSON.parse(output.stdout || `"${output.stderr}"`);
      assert.equal(begun, 64);
      assert.equal(egress.bytes_down, budget);
      assert.equal(egress.budget_left.down, 0);
      assert.ok(received <= budget, `${received} bytes`);
      assert.equal(
        egress.connections.reduce((bytes, { bytes_down }) => bytes + bytes_down, 0),
        budget,
      );
      assert.ok(
        egress.connections.every(({ ended, reason }) => ended === "budget" && /receive is used up/.test(reason ?? "")),
      );
      await sandbox.end();
    }
  });

  test(`64 connections that race for the last byte send exactly the budget, ${RUNS} times`, async (t) => {
    for (let run = 0; run < RUNS; run++) {
      const sandbox = await opened(t, { allow: [API], bytes_up: budget });
      let egress: Run["egress"] | undefined;
      const { connections } = await during(async () => {
        ({ egress } = await sandbox.python(RACE, [API.host, String(PORTS.sink), "64", "", "send"]));
        await allClosed();
      });
      assert.equal(egress?.bytes_up, budget);
      assert.equal(egress?.budget_left.up, 0);
      assert.ok(received(connections) <= budget, `${received(connections)} bytes`);
      assert.ok(received(connections) > 0);
      await sandbox.end();
    }
  });

  test("an allowed host gets no more than the upload budget, by whichever connections and protocols, and 1 MiB by default", async (t) => {
    const mebibyte = 1_048_576;
    const sandbox = await opened(t, { allow: [API] });
    const seen = await during(async () => {
      await sandbox.run(`head -c 600000 /dev/urandom > secret
for n in 1 2 3 4; do curl -sk -T secret https://api.example.com/ & curl -s -T secret http://api.example.com/ & done; wait`);
      await sandbox.python(RACE, [API.host, String(PORTS.sink), "8", "", "send"]);
      await allClosed();
    });
    assert.ok(received(seen.connections) <= mebibyte, `${received(seen.connections)} bytes`);
    const { bytes_up, budget_left } = await sandbox.egress();
    assert.deepEqual([bytes_up, budget_left.up], [mebibyte, 0]);
    const later = await during(() => sandbox.run("curl -s http://api.example.com/"));
    assert.equal(received(later.connections), 0);
  });

  test("a budget that is used up stays so when the policy is replaced, and a higher one gives the difference", async (t) => {
    const sandbox = await opened(t, { allow: [API], bytes_down: 10_000 });
    await product().permit({ policy: { allow: [API], bytes_down: 15_000 } });
    const read = async () =>
      (await sandbox.python(RACE, [API.host, String(PORTS.bulk), "2", "9000\n", "receive"])).egress.bytes_down;
    assert.equal(await read(), 10_000);
    assert.equal((await sandbox.replaceNetwork({ allow: [API], bytes_down: 9_000 })).status, 200);
    assert.equal(await read(), 0);
    assert.equal((await sandbox.replaceNetwork({ allow: [API], bytes_down: 15_000 })).status, 200);
    assert.equal(await read(), 5_000);
    assert.equal((await sandbox.egress()).bytes_down, 15_000);
  });

  test("connections above the bounds of the policy are refused, and another sandbox does not notice", async (t) => {
    const sandbox = await opened(t, { allow: [API], connections: 8, connections_per_minute: 40 });
    const other = await product().sandbox(t, { allow: [API] });
    let flood: Run | undefined;
    const seen = await during(async () => {
      const begun = sandbox.python(`${ATTEMPT}
held, address = [], socket.gethostbyname("api.example.com")
def one():
    try:
        s = socket.create_connection((address, ${PORTS.drip}), 50); s.settimeout(50); s.recv(1); held.append(s)
    except OSError: pass
threads = [threading.Thread(target=one) for n in range(30)]
for t in threads: t.start()
for t in threads: t.join()
print(len(held))
for s in held: s.close()
refused = 0
for n in range(20): refused += attempt("api.example.com", ${PORTS.echo}, b"x") != "answered x"
print(refused)`);
      const { output } = await other.python(
        `${ATTEMPT}\nfor n in range(20): print(attempt("api.example.com", ${PORTS.echo}, b"mine"))`,
      );
      assert.equal(output.stdout, "answered mine\n".repeat(20), output.stderr);
      flood = await begun;
    });
    const [held, refused] = flood?.output.stdout.trim().split("\n").map(Number) ?? [];
    assert.equal(held, 8, flood?.output.stderr);
    assert.ok((refused ?? 0) >= 10, `${refused}`);
    assert.ok(seen.connections.filter(({ port }) => port === PORTS.drip).length === 8);
    const reasons = new Set(reasonsOf(flood as Run));
    assert.ok(reasons.has("more than 8 connections at the same time"));
    assert.ok(reasons.has("more than 40 connections within a minute"));
  });
});

const received = (connections: Observed["connections"]) => connections.reduce((bytes, one) => bytes + one.received, 0);

/** Waits until the fake internet has no open connection. */
async function allClosed(): Promise<void> {
  while ((await product().internet.observed()).connections.some(({ isOpen }) => isOpen)) await sleep(20);
}

describe("inside of the sandbox", () => {
  test("a program that listens on the ports and addresses of the policy gets no connection that is meant for a name", async (t) => {
    const sandbox = await opened(t, { allow: [API] });
    const { output } = await sandbox.python(`${ATTEMPT}
address = socket.gethostbyname("api.example.com")
stolen, listening = [], 0
def serve(s):
    while True:
        c = s.accept()[0]; stolen.append(1); c.sendall(b"stolen"); c.close()
for family, where, port in [(socket.AF_INET, where, port) for where in (address, "0.0.0.0", "198.18.0.53") for port in (${PORTS.echo}, 80, 443, 53, 1)] + [(socket.AF_INET6, "::", port) for port in (${PORTS.echo}, 80, 1)]:
    s = socket.socket(family); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try: s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    except OSError: pass
    try: s.bind((where, port)); s.listen(); listening += 1
    except OSError: continue
    threading.Thread(target=serve, args=(s,), daemon=True).start()
for n in range(20): print(attempt("api.example.com", ${PORTS.echo}, b"mine"))
print(attempt("api.example.com", 80))
print(len(stolen))`);
    assert.equal(output.stdout, `${"answered mine\n".repeat(20)}answered HTTP/1.1 200 OK\n0\n`, output.stderr);
  });

  test("a program sees neither the relay nor a socket of the service, and cannot end the network of its sandbox", async (t) => {
    const sandbox = await opened(t, { allow: [API] });
    const { output } = await sandbox.python(`import os, stat
found = []
for top, directories, files in os.walk("/"):
    for name in files + directories:
        path = os.path.join(top, name)
        try: mode = os.lstat(path).st_mode
        except OSError: continue
        if stat.S_ISSOCK(mode): found.append(path)
    if top == "/": directories[:] = [d for d in directories if d not in ("proc", "sys")]
names = [line.split()[-1] for line in open("/proc/net/unix").read().splitlines()[1:] if "/" in line or "@" in line]
programs = [open(f"/proc/{p}/comm").read().strip() for p in os.listdir("/proc") if p.isdigit()]
print(found, names, [p for p in programs if "relay" in p or "node" in p])`);
    assert.match(output.stdout, /^\[\] \[\] \[\]\n$/, output.stderr);
    await sandbox.run("kill -9 -1");
    const after = await sandbox.python(`${ATTEMPT}\nprint(attempt("api.example.com", ${PORTS.echo}, b"still"))`);
    assert.equal(after.output.stdout, "answered still\n", after.output.stderr);
  });

  test("the record of an execution has its own connections only, by name, rule, address and bytes", async (t) => {
    const sandbox = await opened(t, { allow: [API] });
    const program = (text: string) =>
      `${ATTEMPT}\nprint(attempt("api.example.com", ${PORTS.echo}, b"${text}"), attempt("evil.example", 443))`;
    const runs = await Promise.all(["a", "bb", "ccc", "dddd"].map((text) => sandbox.python(program(text))));
    for (const [at, { output, egress }] of runs.entries()) {
      assert.match(output.stdout, /^answered (a|bb|ccc|dddd) no such name\n$/, output.stderr);
      const [connection, ...others] = egress.connections;
      assert.deepEqual(others, []);
      const { at: began, ...facts } = connection ?? { at: "" };
      assert.ok(Date.parse(began) > 0);
      assert.deepEqual(facts, {
        ...{
          name: "api.example.com",
          address: "23.1.1.1",
          port: PORTS.echo,
          decision: "allowed",
          rule: "api.example.com",
        },
        ...{
          reason: null,
          bytes_up: at + 1,
          bytes_down: at + 1,
          ended: facts && "ended" in facts ? facts.ended : null,
        },
      });
      assert.deepEqual(
        egress.refused_names.map(({ name }) => name),
        ["evil.example"],
      );
      assert.deepEqual([egress.bytes_up, egress.bytes_down, egress.source], [at + 1, at + 1, "inet_diag cgroup id"]);
    }
    const { bytes_up, hosts } = await sandbox.egress();
    assert.equal(bytes_up, 10);
    assert.deepEqual(
      hosts.map(({ name, connections }) => [name, connections]),
      [["api.example.com", 4]],
    );
  });

  test("a policy that is replaced holds at once, also for connections that are open", async (t) => {
    const sandbox = await opened(t, { allow: [API] });
    const begun = await sandbox.begin(`python3 - <<'end'\n${ATTEMPT}
s = socket.create_connection(("api.example.com", ${PORTS.drip}), 50); s.settimeout(50)
s.recv(1); open("connected", "w").close()
try:
    while s.recv(100): pass
    print("ended")
except OSError as e: print(type(e).__name__)
print(attempt("api.example.com", ${PORTS.drip}, b"x"), attempt("api.example.com", ${PORTS.echo}, b"x"))
end`);
    await sandbox.run("until [ -e connected ]; do sleep 0.05; done");
    const replaced = await sandbox.replaceNetwork({ allow: [{ host: "api.example.com", ports: [PORTS.echo] }] });
    assert.deepEqual([replaced.status, replaced.json.network?.version], [200, 2]);
    const { output, egress } = await sandbox.ended(begun.number);
    assert.equal(output.stdout, "ConnectionResetError\nECONNRESET answered x\n", output.stderr);
    assert.deepEqual(
      egress.connections.map(({ ended, decision }) => [ended === "policy" ? ended : "", decision]),
      [
        ["policy", "allowed"],
        ["", "denied"],
        ["", "allowed"],
      ],
    );
    assert.equal(egress.policy_version, 2);
  });
});

describe("failures", () => {
  /** The relays of a launcher. */
  const relays = (launcher: number) =>
    startedBelow(launcher).filter((pid) => read(`/proc/${pid}/comm`) === "assay-relay\n");

  test("whenever the relay is killed, connections end, nothing else opens, and the next connection is served again", async (t) => {
    const sandbox = await opened(t, { allow: [API] });
    const begun = await sandbox.begin(
      `python3 - <<'end'\n${ATTEMPT}
answered = 0
while answered < 200:
    answered += attempt("api.example.com", ${PORTS.echo}, b"x") == "answered x"
    attempt("10.0.0.1", 80); attempt("evil.example", 80)
    time.sleep(0.02)
print(answered)
end`,
      { wallSeconds: 120 },
    );
    const seen = await during(async () => {
      for (let kill = 0; kill < 4 * RUNS; kill++) {
        for (const pid of relays(product().first.launcher.pid)) process.kill(pid, "SIGKILL");
        await sleep(Math.random() * 200);
      }
      const { output } = await sandbox.ended(begun.number);
      assert.equal(output.stdout, "200\n", output.stderr);
    });
    assert.deepEqual(
      new Set(seen.connections.map(({ address, port }) => `${address} ${port}`)),
      new Set([`23.1.1.1 ${PORTS.echo}`]),
    );
  });
});
