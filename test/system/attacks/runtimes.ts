import { useProduct } from "../../support/programs/product.ts";
import { all, attack } from "./probes.ts";

const product = useProduct({ workers: 2, parked: true });

attack(
  product,
  { language: "cpp", program: "runtime" },
  {
    "the C++ library gives no access": [
      ["through a link to the root", "the image"],
      ...all("EROFS", "copy over a file of the image", "resize a file of the image", "permissions of the image"),
      ["space of the root", "65536"],
      ...all(
        "EPERM",
        "root in one thread",
        "namespace in one thread",
        "namespace by generated code",
        "filter of one thread",
      ),
      ["library in tmp", "refused"],
      ...all("ESRCH", "signal to all processes", "signal to the launcher"),
    ],
  },
);

attack(
  product,
  { language: "python", program: "runtime" },
  {
    "ctypes, machine code and os give no access": [
      ...all("EPERM", "unshare by ctypes", "mount by machine code", "keyring", "become root", "root directory"),
      ...all("EPERM", "namespace of the box's first process", "lower the niceness", "device"),
      ["raise a limit", "ValueError"],
      ["child", "True ['0', '1', '2', '3']"],
      ["site packages writable", "False"],
    ],
  },
);

attack(
  product,
  { language: "javascript", program: "runtime" },
  {
    "bindings, workers, children and the inspector give no access": [
      ...all("EPERM", "become root", "root group", "switch user"),
      ["raise the priority", "ERR_SYSTEM_ERROR"],
      ...all("ENOENT", "internal file binding", "memory of the box's first process"),
      ["load a native library", "ERR_DLOPEN_FAILED"],
      ["child", "nobody 4"],
      ["worker writes to the image", "EROFS"],
      ["datagrams", "EAFNOSUPPORT"],
      ["names", "EAI_AGAIN"],
      ["names by the resolver", "failed"],
      ["inspector", "does not listen"],
    ],
  },
);

attack(
  product,
  { language: "typescript", program: "runtime" },
  {
    "modules, links and source maps give no access": [
      ["module of the host", "MODULE_NOT_FOUND"],
      ["become root", "EPERM"],
      ...all("EROFS", "change the compiler", "change the runtime"),
      ["hard link to the runtime", "EXDEV"],
      ["link to the password file", "ENOENT"],
      ["source map of another file", "not shown"],
      ["left by the compiler", "false"],
      ["child", "nobody"],
      ["listen", "EAFNOSUPPORT"],
    ],
  },
);

attack(
  product,
  { language: "go", program: "runtime" },
  {
    "raw calls, unsafe and children with other credentials give no access": [
      ...all("EPERM", "raw unshare", "raw chroot", "raw ptrace", "become root", "child in a user namespace"),
      ...all("EPERM", "child in another root", "child as root", "traced child"),
      ["new control group", "ENOSYS"],
      ...all("EAFNOSUPPORT", "raw netlink", "listen", "addresses"),
      ["names", "failed"],
      ["own memory by /proc", "EROFS"],
    ],
  },
);

attack(
  product,
  { language: "rust", program: "runtime" },
  {
    "inline assembly and foreign functions give no access": [
      ...all("EPERM", "unshare by assembly", "mount by assembly", "become root", "other root", "child as root"),
      ["socket by assembly", "EAFNOSUPPORT"],
      ...all("ENOSYS", "io_uring by assembly", "x32 by assembly"),
      ["set-uid copy of id", "nobody"],
      ["library of the image", "loaded"],
    ],
  },
);

attack(
  product,
  { language: "java", program: "runtime" },
  {
    "Unsafe, foreign functions and processes give no access": [
      ...all("-1", "root by foreign functions", "namespace by foreign functions"),
      ["memory of the process by Unsafe", "only its own"],
      ...all("nobody", "child", "set-uid file"),
      ["child's descriptors", "/proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2 /proc/self/fd/3"],
      ["visible processes", "1"],
      ...all("SocketException", "listen", "datagrams", "active interfaces"),
      ["names", "UnknownHostException"],
      ["executable in tmp", "IOException"],
      ["owner of the image's files", "root"],
      ["agent of another process", "1"],
      ["host name", "false"],
    ],
  },
);
