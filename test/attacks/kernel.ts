import { readFileSync } from "node:fs";
import { useEngine } from "../engine/engine.ts";
import { all, attack } from "./probes.ts";

const engine = useEngine({ workers: 1 });
/** There every entry is the native one, so the filter sees another call. */
const userMode = readFileSync("/proc/cpuinfo", "utf8").includes("User Mode Linux");
const x64 = process.arch === "x64";

attack(
  engine,
  { language: "c", program: "kernel" },
  {
    "no terminal can be typed into": [
      ...all("EPERM", "push a character into a terminal", "console ioctl", "with the upper half of the request set"),
      ...all("ENOENT", "a new pseudo terminal", "the terminal"),
    ],
    "the disk below the image is not to be told, filled, flushed or held up": [
      ...all("ENOTTY", "uuid of the file system", "uuid of ext4", "trim the file system"),
      ["freeze the file system", "EPERM"],
      ["immutable file", "EROFS"],
      ["lease on a file of the image", "EACCES"],
      ...all("EPERM", "sync", "syncfs", "drop a file of the image from memory", "cached pages of a file of the image"),
      ["blocks of the root", "16"],
      ...(x64 ? all("ENOSYS", "how full another file system is", "list of file systems") : []),
    ],
    "there is no memory or object that no limit counts": [
      ...all("EPERM", "huge pages", "huge pages in a file", "huge pages in a segment", "message queue"),
      ...all("ENOSYS", "secret memory", "requests of asynchronous input and output"),
    ],
    "no program is loaded into the kernel, and sockets are otherwise as ever": [
      ...all("EPERM", "filter on a socket", "filter of its own on a socket"),
      ...all("EPERM", "filter that chooses a socket", "its own filter that chooses a socket"),
      ...all("EPERM", "filter of calls", "filter of calls by prctl"),
      ["buffer size of a socket", "allowed"],
    ],
    "large, young and privileged parts are closed": [
      ...all("ENOSYS", "io_uring", "tunables by the old call"),
      ...all("EPERM", "bpf", "performance counters", "page faults", "fanotify", "kernel log", "mounts by number"),
      ...all("EPERM", "handle of a file", "file by its handle", "restart of the machine"),
      ...all("ENOENT", "device of page faults", "device of the kernel log", "physical memory", "machine registers"),
      ...all("ENOENT", "virtual machines", "file system in user space", "network tunnels", "tunables", "system tree"),
    ],
    "the filter holds whichever way a call is made, and for calls that are younger than it": [
      ...all("ENOSYS", "a call that this list is too old for", "a call of the far future"),
      ["another table of calls", "EPERM"],
      ["program in memory ended with", "7"],
      ["unshare by x32", "ENOSYS"],
      ...all(userMode ? "is the native one" : "ENOSYS", "unshare by the 32-bit entry", "mount by the 32-bit entry"),
    ],
    "sockets are those of the box itself": [
      ["families other than unix", "0"],
      ...all("EAFNOSUPPORT", "pair of internet sockets", "pair with the upper half set"),
    ],
  },
);
