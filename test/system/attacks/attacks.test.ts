/**
 * All attacks in one process. On another kernel, a product takes longer to start than most attacks take, so attacks
 * that need the same product share it (useProduct).
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
