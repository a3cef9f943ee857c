const { spawnSync } = require("node:child_process");

// The child searches for the end of a line and keeps everything until it finds one.
const { signal } = spawnSync("/usr/bin/tail", ["/dev/zero"]);
process.exit(signal === "SIGKILL" ? 0 : 1);
