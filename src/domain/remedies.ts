/** What a failed check means, and what to do. */
export interface Meaning {
  /** If true, nothing is run while the check fails. */
  readonly needed: boolean;
  readonly means: string;
  readonly remedy: string;
}

const namespace = (what: string): Meaning => ({
  needed: true,
  means: `a program would see ${what} of the host`,
  remedy: "use a kernel with all namespaces enabled, and run as root outside an unprivileged container",
});

/** One row for each check that `assay-launcher --check` prints, and three that only the doctor makes. */
export const MEANINGS: Readonly<Record<string, Meaning>> = {
  build: {
    needed: true,
    means: "launcher and service are from different releases and may not support the same requests",
    remedy: "stop both and start them with one 'assay serve', which builds the launcher from the service's own files",
  },
  root: {
    needed: true,
    means: "boxes cannot be created without root; the service itself never runs as root",
    remedy: "run it with sudo",
  },
  kernel: {
    needed: true,
    means: "the kernel lacks system calls that every box uses",
    remedy: "use Linux 5.9 or newer; in a container, allow the system call that the detail names",
  },
  pid_namespace: namespace("the processes"),
  mount_namespace: namespace("the file systems"),
  network_namespace: namespace("the network"),
  ipc_namespace: namespace("shared memory and message queues"),
  uts_namespace: namespace("the host name"),
  cgroup_namespace: namespace("the cgroups"),
  seccomp: {
    needed: true,
    means: "dangerous system calls cannot be blocked",
    remedy: "use a kernel with CONFIG_SECCOMP_FILTER; in a container, allow the seccomp system call",
  },
  cgroup: {
    needed: true,
    means: "memory and processes cannot be limited, so MLE and PLE cannot be determined",
    remedy:
      "mount the memory and pids controllers (v1 or v2) writable; on v2, start the command in a cgroup of its own: systemd-run --scope -p Delegate=yes",
  },
  memory_limit: {
    needed: true,
    means: "the kernel does not keep the memory limit as written",
    remedy: "make sure that no other manager changes the memory controller of this cgroup",
  },
  process_limit: {
    needed: true,
    means: "the kernel does not keep the process limit as written",
    remedy: "make sure that no other manager changes the pids controller of this cgroup",
  },
  memory_peak: {
    needed: true,
    means: "the peak memory of a run cannot be measured",
    remedy: "on cgroup v2 use Linux 5.19 or newer",
  },
  pressure: {
    needed: false,
    means: "interference by the host (divergence host_interference_suspected) is not detected",
    remedy: "boot with psi=1 and mount cgroup v2",
  },
  cpu_share: {
    needed: false,
    means: "a submission with many processes takes CPU time from a concurrent submission with few",
    remedy: "mount the cpu controller, or start the command in a cgroup where it is delegated",
  },
  address_spaces: {
    needed: false,
    means:
      "the launcher cannot end long reads about the memory of a program that has ended: a run with many of them can end up to 2.5 s late",
    remedy: "set kernel.yama.ptrace_scope to 2 or less, or allow the launcher to trace programs",
  },
  core_handler: {
    needed: false,
    means:
      "the kernel sends the memory of crashed programs to the host's core dump handler, and no box limit prevents it",
    remedy:
      "set kernel.core_pattern to a file name or a pipe (|); the kernel uses a socket (@) regardless of the core limit",
  },
  descriptors: {
    needed: false,
    means:
      "a compromised service can block the launcher by passing sockets that take long to close; boxes and verdicts are not affected",
    remedy: "use Linux 6.16 or newer (SO_PASSRIGHTS)",
  },
  oom_score: {
    needed: false,
    means: "if the whole machine runs out of memory, the kernel kills programs first, but may then kill the launcher",
    remedy:
      "give the launcher CAP_SYS_RESOURCE, or start it with an oom_score_adj of -900 (systemd: OOMScoreAdjust=-900)",
  },
  formats: {
    needed: false,
    means:
      "the host has an interpreter for this format (binfmt_misc, flag F) that also runs for files in a box, although it is not in the image",
    remedy: "register the format without flag F, or remove it: echo -1 >/proc/sys/fs/binfmt_misc/NAME",
  },
  swap: {
    needed: false,
    means: "the host uses swap; a swap limit prevents boxes from swapping",
    remedy:
      "no action is needed if the kernel accounts swap per cgroup (swapaccount=1); without swap, timings are more stable",
  },
  bpf: {
    needed: false,
    means:
      "FSE is determined by an end through SIGXFSZ, which a program can send to itself; a runtime that ignores the signal gets RE, not FSE",
    remedy: "allow BPF raw tracepoints (CAP_BPF and CAP_PERFMON)",
  },
  sandboxes: {
    needed: false,
    means: "this machine cannot have sandboxes that live (ASSAY_SANDBOXES); submissions run all the same",
    remedy: "use Linux 5.14 or newer with cgroup v2, alone or beside v1, and set fs.suid_dumpable to 0 or 2",
  },
  sandbox_sockets: {
    needed: false,
    means: "programs of sandboxes have no sockets of the Internet protocols, not even on their loopback interface",
    remedy: "use Linux 6.1 or newer, and allow BPF programs for cgroups (CAP_BPF and CAP_NET_ADMIN)",
  },
  sandbox_network: {
    needed: false,
    means: "a sandbox that asks for a network is refused; others run all the same",
    remedy:
      "use Linux 6.1 or newer with IPv6, and allow BPF programs for cgroups and for the lookup of sockets (CAP_BPF and CAP_NET_ADMIN)",
  },
  sandbox_locks: {
    needed: false,
    means: "locks of files in sandboxes succeed and lock nothing",
    remedy: "use Linux 6.11 or newer with type information (BTF), and allow BPF tracepoints",
  },
  sandbox_memory_peak: {
    needed: false,
    means: "the peak of memory of an execution in a sandbox can be the highest value that was measured once a second",
    remedy: "use Linux 6.12 or newer, or cgroup v1 controllers",
  },
  image: {
    needed: true,
    means: "the root file system for boxes is missing, or users other than root may change it",
    remedy:
      "remove the directory image/ in the data directory and start the service or worker again, which builds a new image",
  },
  image_in_memory: {
    needed: false,
    means:
      "the first program that reads a page of the image is charged for it: memory figures depend on earlier runs, and a program with tens of thousands of mappings of such files can end some seconds late",
    remedy:
      "use a machine with four times as much memory as the detail names, or set ASSAY_IMAGE_BYTES to a larger value, or to 0 if you accept this; in a container or unit, permit CAP_IPC_LOCK",
  },
  own_image: {
    needed: true,
    means:
      "boxes would share the files of the image: concurrent programs could watch and lock them, and see their location on the host",
    remedy:
      "load the kernel module overlay, and keep the data directory on a file system that can be the lower layer of an overlay",
  },
  box: {
    needed: true,
    means: "the kernel did not confirm a control on a waiting program",
    remedy: "see the detail for the control; nothing is run without all of them",
  },
  teardown: {
    needed: true,
    means: "the removal of a box could not be verified",
    remedy: "look for processes that cannot be killed (state D) and for other managers of Assay's cgroups",
  },
  language: {
    needed: false,
    means: "the language is not offered",
    remedy:
      "see the detail; if the image is damaged, remove image/ in the data directory and start the service or worker again",
  },
  runtime: {
    needed: false,
    means: "each submission in this language starts its own runtime, which takes longer",
    remedy: "see the launcher's messages; give the machine more memory",
  },
  launcher: {
    needed: true,
    means: "the launcher does not run on this machine",
    remedy: "see the detail for its error message",
  },
};

/** Checks of a readiness proof that have the meaning of a row above. */
const PROVEN_AS: Readonly<Record<string, string>> = { file_size_evidence: "bpf", pressure_evidence: "pressure" };

/** Checks of a readiness proof without a row above, because the doctor tries each control separately. */
const OF_PROOFS: Readonly<Record<string, Meaning>> = {
  sandbox: {
    needed: true,
    means: "a test run with every control failed, so nothing is run",
    remedy: "run 'assay doctor' on the machine, which tries each control separately",
  },
  workers: {
    needed: true,
    means: "no worker has recently proven every control, so accepted submissions wait",
    remedy: "start 'assay worker' on a machine, and run 'assay doctor' there if it does not become ready",
  },
  engine: {
    needed: true,
    means: "the state of the sandbox is unknown, so nothing is run",
    remedy: "after a start, wait for the language tests; if that does not help, run 'assay doctor' on the machine",
  },
};

/** @param check a check of the launcher, the doctor or a readiness proof; `language` stands for all languages. */
export function meaningOf(check: string): Meaning | undefined {
  return MEANINGS[PROVEN_AS[check] ?? check] ?? OF_PROOFS[check];
}
