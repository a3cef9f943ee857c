/**
 * All attacks in one process. On another kernel, an engine takes longer to start than most attacks take, so attacks
 * that need the same engine share it (useEngine).
 */
import "./compilers.ts";
import "./hand-over.ts";
import "./host-files.ts";
import "./information.ts";
import "./kernel.ts";
import "./privileges.ts";
import "./resources.ts";
import "./runtimes.ts";
import "./side-by-side.ts";
