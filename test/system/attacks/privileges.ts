import { useProduct } from "../../support/programs/product.ts";
import { all, attack } from "./probes.ts";

const product = useProduct({ workers: 1, parked: true });
const NONE = /^0+$/;
const UID = /^(\d{10})\t\1\t\1\t\1$/;

attack(
  product,
  { language: "c", program: "privileges" },
  {
    "a program is unprivileged": [
      ...all(UID, "Uid", "Gid"),
      ["Groups", ""],
      ...all(NONE, "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"),
      ["NoNewPrivs", "1"],
      ["Seccomp", "2"],
    ],
    "it cannot change its user or gain capabilities": [
      ...all("EPERM", "setuid 0", "setresuid 0", "setreuid 1000", "setgid 0", "setgroups", "file system uid 0"),
      ...all("EPERM", "take capabilities", "ambient capability", "unlock securebits"),
      ["clear no_new_privs", "EINVAL"],
      ["remove the filter", "EPERM"],
    ],
    "no file gives it privileges": [
      ["change a file's owner", "EPERM"],
      ["file capability", "EOPNOTSUPP"],
      ["mode 6755", "allowed"],
      ["set-uid program", "unprivileged"],
      ["set-uid files in the image", "0"],
      ...all("EPERM", "device node of a disk", "device node of memory", "device node of the kernel log"),
      ["tmp", "1777"],
    ],
    "it cannot create namespaces, change its root or mount": [
      ...all("EPERM", "user namespace", "user namespace by clone", "mount namespace", "time namespace by clone"),
      ["clone3", "ENOSYS"],
      ["uid map", "EROFS"],
      ...all("EPERM", "enter a namespace", "chroot", "pivot_root", "mount tmpfs", "mount proc", "bind mount"),
      ...all("EPERM", "remount the root", "unmount proc", "unmount the work directory"),
    ],
    "no other process can be read, changed or signalled": [
      ...all("EPERM", "trace pid 1", "be traced", "read the memory of pid 1", "signal pid 1"),
      ...all("EPERM", "limits of pid 1", "priority of pid 1", "descriptor of pid 1"),
      ...all("ENOENT", "memory file of pid 1", "environment of pid 1"),
      ["parent", "0"],
    ],
    "keys, which namespaces do not separate, cannot be used": [
      ...all(
        "EPERM",
        "key in the session keyring",
        "key in the user keyring",
        "persistent keyring",
        "key by a host program",
      ),
    ],
    "limits and priorities cannot be raised": [
      ...all("EPERM", "more descriptors", "more processes", "more file size", "more CPU time", "more locked memory"),
      ...all("EPERM", "more core", "more stack", "more message queues", "real-time scheduling"),
      ...all("EPERM", "core limit of 0", "core limit of 0 by prlimit"),
      ...all("EPERM", "real-time disk priority", "lock memory", "core scheduling"),
      ["higher priority", "EACCES"],
    ],
  },
);
