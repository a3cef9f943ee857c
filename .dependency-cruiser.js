/**
 * Who may import whom. Rooms under src/ form a straight line, and this file is what keeps it
 * straight; ARCHITECTURE.md says why. `comment` is what a contributor reads when it breaks.
 */

/** What each room may import besides itself. main.ts and cli/ compose the rooms and may import all. */
const ROOMS = {
  domain: [],
  config: ["domain"],
  languages: ["domain"],
  verdict: ["domain"],
  store: ["domain"],
  sandbox: ["domain"],
  admin: ["domain", "store"],
  webhooks: ["domain", "store"],
  retention: ["domain", "store"],
  history: ["domain", "store"],
  metrics: ["domain", "store"],
  tracing: ["domain"],
  http: ["domain", "languages", "store", "admin"],
  worker: ["domain", "languages", "verdict", "store", "sandbox"],
};

const rooms = Object.entries(ROOMS).map(([room, allowed]) => ({
  name: `room-${room}`,
  severity: "error",
  comment:
    allowed.length === 0
      ? `${room} imports no other room: it holds the words that all of them share.`
      : `${room} may import ${allowed.join(", ")} only. What else it needs is handed to it by src/cli/service.ts.`,
  from: { path: `^src/${room}(/|\\.ts$)` },
  to: { path: "^src/", pathNot: `^src/(${[room, ...allowed].join("|")})(/|\\.ts$)` },
}));

/** A package that one room owns. */
const owned = (room, packages, comment) => ({
  name: `only-${room}-uses-${packages[0]}`,
  severity: "error",
  comment,
  from: { path: "^src/", pathNot: `^src/${room}(/|\\.ts$)` },
  to: { path: `^(node_modules/)?(${packages.join("|")})(/|$)` },
});

export default {
  forbidden: [
    ...rooms,
    owned("http", ["fastify"], "Fastify stays in http, so that the rest does not know how it is reached."),
    owned(
      "metrics",
      ["prom-client"],
      "Rooms say what they do to a Meter (src/domain/meter.ts); how it is measured, only metrics knows.",
    ),
    owned(
      "tracing",
      ["@opentelemetry"],
      "Rooms say what they do to a Tracer (src/domain/tracer.ts); where that goes, only tracing knows.",
    ),
    owned("store", ["kysely", "better-sqlite3", "pg"], "Databases stay in store: ask its port, never a driver."),
    {
      name: "no-circular",
      severity: "error",
      comment: "Two files that import each other are one file, or a third one is missing that both import.",
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } },
    },
    {
      name: "not-to-unresolvable",
      severity: "error",
      comment: "This import leads nowhere: the file or the package does not exist.",
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: "not-to-dev-dependency",
      severity: "error",
      comment: "The service runs without development packages; move this one to dependencies or do without it.",
      from: { path: "^src/" },
      to: { dependencyTypes: ["npm-dev", "npm-no-pkg"], dependencyTypesNot: ["type-only"] },
    },
    {
      name: "src-not-to-test",
      severity: "error",
      comment: "Tests import the service, never the other way round.",
      from: { path: "^src/" },
      to: { path: "^test/" },
    },
    {
      name: "unit-tests-are-pure",
      severity: "error",
      comment: "npm test needs no root, no database and no other process.",
      from: { path: "^test/unit/" },
      to: {
        path: "^(test/(integration|system)/(?!matrix/cells)|test/support/(store|launcher|engine/engine)|child_process$)",
      },
    },
    {
      name: "only-cli-bench-uses-bench",
      severity: "error",
      comment: "Benchmarks import the service; only their command imports them.",
      from: { path: "^src/", pathNot: "^src/cli/bench\\.ts$" },
      to: { path: "^bench/" },
    },
    {
      name: "dashboard-imports-api-types-only",
      severity: "error",
      comment: "The dashboard imports the types of the API from the service, and requests the rest through the API.",
      from: { path: "^dashboard/" },
      to: { path: "^(src|test|bench)/", pathNot: "^src/http/dashboard/api/" },
    },
    {
      name: "service-not-to-dashboard",
      severity: "error",
      comment: "The service serves the built page as files and knows nothing of how it is made.",
      from: { path: "^src/" },
      to: { path: "^dashboard/" },
    },
    {
      name: "no-drawers",
      severity: "error",
      comment: "Folders of these names collect what nobody placed. Name the file for what it does, in its room.",
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
