// What Node has learned about itself, its user and the machine.
const os = require("node:os");
const v8 = require("node:v8");

function show(object, path) {
  for (const [key, value] of Object.entries(object).sort()) {
    if (value && typeof value === "object" && !Array.isArray(value)) show(value, `${path}${key}.`);
    else console.log(path + key, JSON.stringify(value));
  }
}

const { config, versions, features, release } = process;
show({ config, versions, features, release }, "");
const { heap_size_limit, number_of_native_contexts, number_of_detached_contexts } = v8.getHeapStatistics();
console.log(heap_size_limit, number_of_native_contexts, number_of_detached_contexts);
console.log(v8.getHeapSpaceStatistics().map(({ space_name }) => space_name));
console.log(os.availableParallelism(), os.totalmem(), os.homedir(), os.tmpdir(), os.version(), process.constrainedMemory(), process.getgroups());
console.log(Intl.DateTimeFormat().resolvedOptions(), new Date(0).toString(), require("node:dns").getServers());
console.log(require("node:tls").DEFAULT_MIN_VERSION, require("node:crypto").getFips(), process.allowedNodeEnvironmentFlags.size);
const { header, userLimits, sharedObjects, environmentVariables } = process.report.getReport();
console.log({ ...userLimits, stack_size_bytes: 0 }, header.arch, header.cwd, Object.keys(environmentVariables));
console.log(sharedObjects.filter((path) => path.startsWith("/")), process.title, process.argv0, process.getActiveResourcesInfo());
console.log(process.listenerCount("SIGINT"), Object.getOwnPropertyNames(process).length);
