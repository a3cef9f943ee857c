/**
 * The allowed imports between the modules of src/. ARCHITECTURE.md ("Modules") has the same table, and reasons for it. A contributor
 * reads `comment` when an import breaks a rule.
 */

/** The modules that each module may import besides itself. main.ts and cli/ compose the modules and may import all. */
const MODULES = {
  domain: [],
  fairness: ["domain"],
  config: ["domain"],
  languages: ["domain"],
  verdict: ["domain"],
  store: ["domain", "fairness"],
  conversation: ["domain", "fairness", "store"],
  sandbox: ["domain"],
  files: ["domain"],
  network: [],
  egress: ["domain", "fairness", "network"],
  link: ["domain", "fairness", "store"],
  admin: ["domain", "store"],
  webhooks: ["domain", "fairness", "network", "store"],
  retention: ["domain", "store"],
  history: ["domain", "store"],
  metrics: ["domain", "store"],
  tracing: ["domain"],
  http: ["domain", "fairness", "languages", "store", "conversation", "admin", "problems"],
  compat: ["domain", "fairness", "languages", "store", "conversation", "problems", "http"],
  worker: ["domain", "fairness", "languages", "verdict", "store", "conversation", "sandbox", "egress", "files"],
  problems: ["domain", "languages", "worker"],
};

const modules = Object.entries(MODULES).map(([module, allowed]) => ({
  name: `module-${module}`,
  severity: "error",
  comment:
    allowed.length === 0
      ? `${module} imports no other module: others share what it has.`
      : `${module} may import only ${allowed.join(", ")}. src/cli/service.ts passes the rest to it.`,
  from: { path: `^src/${module}(/|\\.ts$)` },
  to: { path: "^src/", pathNot: `^src/(${[module, ...allowed].join("|")})(/|\\.ts$)` },
}));

/** The folders of dashboard/src that each of them may import besides itself; the files above them may import all. */
const DASHBOARD = {
  client: [],
  components: ["client"],
  lists: ["client", "components"],
  run: ["client", "components"],
  judgement: ["client", "components", "run"],
  egress: ["client", "components"],
  pages: ["client", "components", "lists", "run", "judgement", "egress"],
  shell: ["client", "components", "pages"],
};

const dashboardFolders = Object.entries(DASHBOARD).map(([folder, allowed]) => ({
  name: `dashboard-${folder}`,
  severity: "error",
  comment: `dashboard/src/${folder} may import only ${allowed.join(", ") || "itself"}. Move what several folders use to the lowest of them.`,
  from: { path: `^dashboard/src/${folder}/` },
  to: { path: "^dashboard/src/", pathNot: `^dashboard/src/(${[folder, ...allowed].join("|")})/` },
}));

/** A package that only one module may import, or several, as in `http|compat`. */
const owned = (module, packages, comment) => ({
  name: `only-${module}-uses-${packages[0]}`,
  severity: "error",
  comment,
  from: { path: "^src/", pathNot: `^src/(${module})(/|\\.ts$)` },
  to: { path: `^(node_modules/)?(${packages.join("|")})(/|$)` },
});

export default {
  forbidden: [
    ...modules,
    ...dashboardFolders,
    owned("http|compat", ["fastify"], "Only http, and the routes for clients of other services, depend on Fastify."),
    owned("http", ["@modelcontextprotocol"], "Only http depends on the SDK of the protocol of assistants."),
    owned(
      "metrics",
      ["prom-client"],
      "Modules report to a Meter (src/domain/meter.ts); only metrics depends on Prometheus.",
    ),
    owned(
      "tracing",
      ["@opentelemetry"],
      "Modules report to a Tracer (src/domain/tracer.ts); only tracing depends on OpenTelemetry.",
    ),
    owned(
      "store",
      ["kysely", "better-sqlite3", "pg"],
      "Only store depends on databases: use the Store (src/store/store.ts), never a driver.",
    ),
    {
      name: "database-imports-no-store",
      severity: "error",
      comment: "The layer of the database knows no table by its meaning: hand it what it needs (src/store/open.ts).",
      from: { path: "^src/store/database/" },
      to: { path: "^src/store/", pathNot: "^src/store/database/" },
    },
    {
      name: "no-circular",
      severity: "error",
      comment: "Two files import each other: merge them, or move the shared part to a third file.",
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } },
    },
    {
      name: "not-to-unresolvable",
      severity: "error",
      comment: "The imported file or package does not exist.",
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: "not-to-dev-dependency",
      severity: "error",
      comment: "The service runs without development packages: move this one to dependencies.",
      from: { path: "^src/" },
      to: { dependencyTypes: ["npm-dev", "npm-no-pkg"], dependencyTypesNot: ["type-only"] },
    },
    {
      name: "src-not-to-test",
      severity: "error",
      comment: "Only tests import tests.",
      from: { path: "^src/" },
      to: { path: "^test/" },
    },
    {
      name: "unit-tests-are-pure",
      severity: "error",
      comment: "npm test needs no root, no database and no other process.",
      from: { path: "^test/unit/" },
      to: {
        path: "^(test/(integration|system)/(?!matrix/cells)|test/support/(store|launcher|programs/product)|child_process$)",
      },
    },
    {
      name: "src-not-to-bench",
      severity: "error",
      comment: "Benchmarks import the service, and are a program of their own (bench/main.ts).",
      from: { path: "^src/" },
      to: { path: "^bench/" },
    },
    {
      name: "dashboard-imports-api-types-and-domain-only",
      severity: "error",
      comment:
        "The dashboard imports the types of the API, and rules of src/domain that it would otherwise have to repeat. It requests the rest through the API. (A module that needs Node fails in its build.)",
      from: { path: "^dashboard/" },
      to: { path: "^(src|test|bench)/", pathNot: "^src/(http/dashboard/api|domain)/" },
    },
    {
      name: "client-imports-nothing",
      severity: "error",
      comment: "The client is a package of its own, without dependencies.",
      from: { path: "^client/", pathNot: "^client/typescript/src/mcp\\.ts$" },
      to: { pathNot: "^client/" },
    },
    {
      name: "client-command-imports-node",
      severity: "error",
      comment: "The command of the client needs Node, and nothing else.",
      from: { path: "^client/typescript/src/mcp\\.ts$" },
      to: { pathNot: "^client/", dependencyTypesNot: ["core"] },
    },
    {
      name: "service-not-to-dashboard",
      severity: "error",
      comment: "The service serves the built dashboard as files.",
      from: { path: "^src/" },
      to: { path: "^dashboard/" },
    },
    {
      name: "no-drawers",
      severity: "error",
      comment: "Such folders collect unrelated files: name the file for what it does, in the folder of its module.",
      from: {},
      to: { path: "/(util|utils|helper|helpers|lib|common|core|service|services)/", pathNot: "node_modules" },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "^test/programs/" },
    parser: "swc",
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      extensions: [".ts", ".tsx", ".js"],
      exportsFields: ["exports"],
      conditionNames: ["import", "node", "default"],
    },
  },
};
