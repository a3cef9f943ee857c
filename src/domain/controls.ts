/** The controls of a box (launcher/controls.def). Each run must report every one of them. */
// generated: controls
export const CONTROLS = [
  "pid_namespace",
  "mount_namespace",
  "network_namespace",
  "ipc_namespace",
  "uts_namespace",
  "cgroup_namespace",
  "unprivileged_user",
  "no_capabilities",
  "no_new_privileges",
  "seccomp_filter",
  "cgroup_membership",
  "read_only_root",
  "own_image",
  "restricted_proc",
  "memory_limit",
  "process_limit",
  "resource_limits",
] as const;
// end

/**
 * The controls of a sandbox. Its root can be written: in place of `read_only_root`, `own_upper` says that programs write to a layer of the
 * sandbox's own, and cannot write to the image below it. `loopback_only`: its network has no other interface, and no route out.
 */
export const SANDBOX_CONTROLS: readonly string[] = [
  ...CONTROLS.map((name) => (name === "read_only_root" ? "own_upper" : name)),
  "loopback_only",
];

/** Those that are read back before the first execution. The limits of a process are those of its execution, which reads them back as well as all others. */
export const HELD_CONTROLS: readonly string[] = SANDBOX_CONTROLS.filter((name) => name !== "resource_limits");

/**
 * Controls of a sandbox that need more of the kernel. Without `socket_limit`, its programs cannot open sockets of the Internet protocols; without
 * `lock_limit`, locks of files succeed and lock nothing. `no_route_out` is one of a sandbox with a network: all that it connects to is the proxy.
 */
export const SANDBOX_OPTIONAL_CONTROLS: readonly string[] = ["socket_limit", "lock_limit", "no_route_out"];
export type Control = (typeof CONTROLS)[number];
