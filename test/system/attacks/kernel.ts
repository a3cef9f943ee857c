import { readFileSync } from "node:fs";
import { useProduct } from "../../support/programs/product.ts";
import { all, attack } from "./probes.ts";

const product = useProduct({ workers: 1, parked: true });
/** In user-mode Linux, every entry is the native one, so the filter sees a different call. */
const userMode = readFileSync("/proc/cpuinfo", "utf8").includes("User Mode Linux");
const x64 = process.arch === "x64";

attack(
  product,
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
      ...all("EINVAL", "direct read (O_DIRECT)", "direct read by F_SETFL"),
      ["openat2", "ENOSYS"],
      ...all("EPERM", "sync", "syncfs", "drop a file of the image from memory", "cached pages of a file of the image"),
      ["blocks of the root", "16"],
      ...(x64 ? all("ENOSYS", "free space of another file system", "list of file systems") : []),
    ],
    "memory and objects that no limit counts cannot be created": [
      ...all("EPERM", "huge pages", "huge pages in a file", "message queue"),
      ...all("ENOSYS", "secret memory", "asynchronous I/O context", "huge pages in System V shared memory"),
      ["inotify instance", "ENOSYS"],
      ...all("ENOSYS", "System V semaphores", "System V shared memory", "System V message queue"),
      ...all("EINVAL", "open file description lock", "open file description lock, blocking", "lease on its own file"),
      ...all("EINVAL", "directory notifications", "watch queue", "packet pipe"),
      ["names of mappings", "EINVAL"],
      ["process lock", "allowed"],
      ["record of the process lock", "none"],
      ...all("EOPNOTSUPP", "default ACL", "ACL by a descriptor", "ACL of a link"),
      ...all("EOPNOTSUPP", "attribute by setxattrat", "Landlock ruleset"),
    ],
    "CPU time that the box is not charged for cannot be used": [
      ["CPU affinity", "EPERM"],
      ["page merging", "EINVAL"],
      ...all("ENOSYS", "vmsplice", "tee"),
    ],
    "no program is loaded into the kernel, and other socket options work": [
      ...all("EPERM", "filter on a socket", "BPF program on a socket"),
      ...all("EPERM", "reuseport filter", "reuseport BPF program"),
      ...all("EPERM", "seccomp filter", "seccomp filter by prctl"),
      ["buffer size of a socket", "allowed"],
    ],
    "large, new and privileged interfaces are closed": [
      ...all("ENOTTY", "VLAN interfaces", "bridges", "information about a pidfd"),
      ...all("EOPNOTSUPP", "out-of-band data", "out-of-band data in a message"),
      ...all("ENOSYS", "io_uring", "sysctl by the old call"),
      ...all("EPERM", "bpf", "performance counters", "userfaultfd", "fanotify", "kernel log", "listmount"),
      ...all("EPERM", "handle of a file", "file by its handle", "reboot"),
      ...all("ENOENT", "userfaultfd device", "kernel log device", "physical memory device", "MSR device"),
      ...all("ENOENT", "KVM device", "FUSE device", "tun device", "sysctl files", "sysfs"),
    ],
    "the filter covers every entry, and calls newer than itself": [
      ...all("ENOSYS", "a call newer than the list", "an unassigned call number"),
      ["personality PER_LINUX32", "EPERM"],
      ["exit code of a memfd program", "7"],
      ["unshare by x32", "ENOSYS"],
      ...all(userMode ? "is the native one" : "ENOSYS", "unshare by the 32-bit entry", "mount by the 32-bit entry"),
    ],
    "only local sockets can be created": [
      ["socket families except AF_UNIX", "0"],
      ...all("EAFNOSUPPORT", "pair of internet sockets", "pair with the upper half set"),
    ],
  },
);
