import { readFileSync } from "node:fs";
import { useEngine } from "../engine/engine.ts";
import { all, attack } from "./probes.ts";

const engine = useEngine({ workers: 1 });
/** In user-mode Linux, every entry is the native one, so the filter sees a different call. */
const userMode = readFileSync("/proc/cpuinfo", "utf8").includes("User Mode Linux");
const x64 = process.arch === "x64";

attack(
  engine,
  { language: "c", program: "kernel" },
  {
    "terminals are out of reach": [
      ...all("ENOTTY", "push a character into a terminal", "console ioctl", "with the upper half of the request set"),
      ...all("ENOENT", "a new pseudo terminal", "the terminal"),
    ],
    "the disk of the image cannot be identified, flushed or frozen": [
      ...all("ENOTTY", "uuid of the file system", "uuid of ext4", "trim the file system"),
      ...all("ENOTTY", "freeze the file system", "immutable file"),
      ["lease on a file of the image", "EINVAL"],
      ...all("EINVAL", "read past the memory of files", "read past it by an open file"),
      ["open with flags behind a pointer", "ENOSYS"],
      ...all("EPERM", "sync", "syncfs", "drop a file of the image from memory", "cached pages of a file of the image"),
      ["blocks of the root", "16"],
      ...(x64 ? all("ENOSYS", "how full another file system is", "list of file systems") : []),
    ],
    "memory and objects that no limit counts cannot be created": [
      ...all("EPERM", "huge pages", "huge pages in a file", "message queue"),
      ...all("ENOSYS", "secret memory", "requests of asynchronous input and output", "huge pages in a segment"),
      ...all("ENOSYS", "semaphores of System V", "memory of System V", "messages of System V"),
      ...all("EINVAL", "lock of an open file", "lock of an open file, waiting", "lease on a file of its own"),
      ...all("EINVAL", "notices of a directory", "queue of the kernel's notices", "pipe of packets"),
      ["names of mappings", "EINVAL"],
      ["lock of a process", "allowed"],
      ["record of that lock", "none"],
      ...all("EOPNOTSUPP", "access list for new files", "access list by a descriptor", "access list of a link"),
      ...all("EOPNOTSUPP", "access list by the young call", "rules of Landlock"),
    ],
    "CPU time that the box is not charged for cannot be used": [
      ["processors of its choice", "EPERM"],
      ["merge pages", "EINVAL"],
      ...all("ENOSYS", "pages into a pipe", "copies between pipes"),
    ],
    "no program is loaded into the kernel, and other socket options work": [
      ...all("EPERM", "filter on a socket", "filter of its own on a socket"),
      ...all("EPERM", "filter that chooses a socket", "its own filter that chooses a socket"),
      ...all("EPERM", "filter of calls", "filter of calls by prctl"),
      ["buffer size of a socket", "allowed"],
    ],
    "large, new and privileged interfaces are closed": [
      ...all("ENOTTY", "interfaces with a virtual network", "bridges", "what a pidfd is of"),
      ...all("EOPNOTSUPP", "data out of band", "data out of band in a message"),
      ...all("ENOSYS", "io_uring", "tunables by the old call"),
      ...all("EPERM", "bpf", "performance counters", "page faults", "fanotify", "kernel log", "mounts by number"),
      ...all("EPERM", "handle of a file", "file by its handle", "restart of the machine"),
      ...all("ENOENT", "device of page faults", "device of the kernel log", "physical memory", "machine registers"),
      ...all("ENOENT", "virtual machines", "file system in user space", "network tunnels", "tunables", "system tree"),
    ],
    "the filter covers every entry, and calls newer than itself": [
      ...all("ENOSYS", "a call that this list is too old for", "a call of the far future"),
      ["another table of calls", "EPERM"],
      ["program in memory ended with", "7"],
      ["unshare by x32", "ENOSYS"],
      ...all(userMode ? "is the native one" : "ENOSYS", "unshare by the 32-bit entry", "mount by the 32-bit entry"),
    ],
    "only local sockets can be created": [
      ["families other than unix", "0"],
      ...all("EAFNOSUPPORT", "pair of internet sockets", "pair with the upper half set"),
    ],
  },
);
