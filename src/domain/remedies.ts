/** What a check of the launcher means when it fails. `needed`: without it nothing is run. */
export interface Meaning {
  readonly needed: boolean;
  readonly means: string;
  readonly remedy: string;
}

const namespace = (what: string): Meaning => ({
  needed: true,
  means: `a program would see ${what} of the host`,
  remedy: "use a kernel with all namespaces enabled, and run as root outside an unprivileged container",
});

/** One row per check that `assay-launcher --check` prints, and two of the doctor's own. */
export const MEANINGS: Readonly<Record<string, Meaning>> = {
  build: {
    needed: true,
    means: "launcher and service are of different releases: what one asks for, the other may not do",
    remedy: "stop both and start them with one 'assay serve': it builds the launcher from the service's own files",
  },
  root: {
    needed: true,
    means: "boxes cannot be built without root; the service itself never runs as root",
    remedy: "run it with sudo",
  },
  kernel: {
    needed: true,
    means: "the kernel lacks calls that every box uses",
    remedy: "use Linux 5.9 or newer; in a container, allow the call that the detail names",
  },
  pid_namespace: namespace("the processes"),
  mount_namespace: namespace("the file systems"),
  network_namespace: namespace("the network"),
  ipc_namespace: namespace("shared memory and message queues"),
  uts_namespace: namespace("the host name"),
  cgroup_namespace: namespace("the control groups"),
  seccomp: {
    needed: true,
    means: "dangerous system calls could not be refused",
    remedy: "use a kernel with CONFIG_SECCOMP_FILTER; in a container, allow the seccomp call",
  },
  cgroup: {
    needed: true,
    means: "memory and processes cannot be limited, so MLE and PLE could not be told",
    remedy:
      "mount the memory and pids controllers (v1 or v2) writable; on v2 start from a group of its own: systemd-run --scope -p Delegate=yes",
  },
  memory_limit: {
    needed: true,
    means: "the memory limit does not read back as written",
    remedy: "free the memory controller from whoever else manages this group",
  },
  process_limit: {
    needed: true,
    means: "the process limit does not read back as written",
    remedy: "free the pids controller from whoever else manages this group",
  },
  memory_peak: {
    needed: true,
    means: "the peak memory of a run cannot be told",
    remedy: "on cgroup v2 use Linux 5.19 or newer",
  },
  pressure: {
    needed: false,
    means: "interference by the host (divergence host_interference_suspected) is not recognised",
    remedy: "boot with psi=1 and mount cgroup v2",
  },
  cpu_share: {
    needed: false,
    means: "a submission with many processes takes CPU time from one with few that runs at the same time",
    remedy: "mount the cpu controller, or start assay where it is delegated; timings are fair then",
  },
  core_handler: {
    needed: false,
    means: "the kernel hands the memory of programs that crash to the host's handler, and no limit of a box keeps it",
    remedy:
      "set kernel.core_pattern to a file name or to a pipe (|); a socket (@) is asked whatever the core limit says",
  },
  descriptors: {
    needed: false,
    means:
      "a compromised service can block the launcher by passing sockets that take long to close; boxes and verdicts are not affected",
    remedy: "use Linux 6.16 or newer (SO_PASSRIGHTS)",
  },
  oom_score: {
    needed: false,
    means: "when the whole machine is out of memory, the kernel takes programs first, but may then take the launcher",
    remedy:
      "give the launcher CAP_SYS_RESOURCE, or start it with an oom_score_adj of -900 (systemd: OOMScoreAdjust=-900)",
  },
  formats: {
    needed: false,
    means:
      "the host runs a program of its own for this format (binfmt_misc, flag F), also for a file in a box: it is not of the image",
    remedy: "register the format without F, or remove it: echo -1 >/proc/sys/fs/binfmt_misc/NAME",
  },
  swap: {
    needed: false,
    means: "the host swaps; boxes are kept from swapping by a limit of their own",
    remedy:
      "nothing has to be done where the kernel counts swap by group (swapaccount=1); without swap, timings are steadier",
  },
  bpf: {
    needed: false,
    means:
      "a broken file-size limit is known by the end through SIGXFSZ, which a program can send itself; runtimes that ignore the signal get RE, not FSE",
    remedy: "allow BPF raw tracepoints (CAP_BPF and CAP_PERFMON)",
  },
  image: {
    needed: true,
    means: "there is no root file system for the boxes, or others than root may change it",
    remedy: "remove the directory image/ in the data directory and start assay again: it builds a new one",
  },
  own_image: {
    needed: true,
    means:
      "boxes would share the files of the image: programs that run at the same time could watch and lock them, and see where they lie",
    remedy:
      "load the kernel module overlay, and keep the data directory on a file system that may lie below an overlay",
  },
  box: {
    needed: true,
    means: "a control could not be confirmed by the kernel on a parked program",
    remedy: "the detail says which; nothing is run without all of them",
  },
  teardown: {
    needed: true,
    means: "a box could not be proven gone",
    remedy: "look for processes that cannot be killed (state D) and for other managers of our control groups",
  },
  language: {
    needed: false,
    means: "the language is not offered",
    remedy: "see its detail; if the image is damaged, remove image/ in the data directory and start assay again",
  },
  launcher: {
    needed: true,
    means: "the launcher does not run here",
    remedy: "its own words are in the detail",
  },
};

/** What else a proof of readiness checks, by the row that says it. */
const PROVEN_AS: Readonly<Record<string, string>> = { file_size_evidence: "bpf", pressure_evidence: "pressure" };

/** What a proof finds of which the doctor, who tries each control by itself, has no row. */
const OF_PROOFS: Readonly<Record<string, Meaning>> = {
  sandbox: {
    needed: true,
    means: "a run through every control did not succeed just now, so nothing is run",
    remedy: "run 'assay doctor' on the machine: it tries each control by itself",
  },
  workers: {
    needed: true,
    means: "no worker has just proven every control: what is accepted waits",
    remedy: "start 'assay worker' on a machine, and run 'assay doctor' there if it does not become ready",
  },
  engine: {
    needed: true,
    means: "nothing can be said of the sandbox now, so nothing is run",
    remedy:
      "after a start, wait until the languages are tried; if that does not help, run 'assay doctor' on the machine",
  },
};

/** Of a check of the launcher's, of the doctor's or of a proof; `language` stands for all languages. */
export function meaningOf(check: string): Meaning | undefined {
  return MEANINGS[PROVEN_AS[check] ?? check] ?? OF_PROOFS[check];
}
