/**
 * Programs for a shell that the program of each pack starts as `attack.sh`: they depend on how a runtime starts, waits for and
 * survives its children, or on what a pack adds to the image. The attacks of test/system/attacks/ that depend on the kernel
 * alone (its calls, privileges, resources, neighbours) are not repeated: the box and its filter do not know the language.
 */
export interface Hostile {
  readonly title: string;
  readonly script: string;
  /** Verdict, cause, exit code, signal. */
  readonly ends: RegExp;
  /** The standard output of a program that ends with 7, which proves that the script did its work. */
  readonly stdout?: string;
  /** Whether processes are left, which the judge ends. */
  readonly leaves?: true;
  /** Whether the same program runs again, with the stored result of its compile step. It must end as before. */
  readonly twice?: true;
  /** Whether its output exceeds the limit. */
  readonly floods?: true;
}

const tries = [
  // Each attempt must fail: one that succeeds prints its message on standard output.
  ...["/", "/usr/bin", "/etc", "/opt", "/var/tmp", "/proc/1", "/dev"].map(
    (place) => `(echo x >"${place}/new") 2>/dev/null && echo "wrote in ${place}"`,
  ),
  "ln -s /etc/passwd link && (echo x >>link) 2>/dev/null && echo 'wrote through a link'",
  "mkdir inner && mount -t tmpfs none inner 2>/dev/null && echo mounted",
  "chroot . /bin/true 2>/dev/null && echo 'changed its root'",
  "unshare --user true 2>/dev/null && echo 'made a user namespace'",
  "cat /etc/shadow /proc/1/environ /proc/1/maps 2>/dev/null | grep -q . && echo 'read files of others'",
  "ls /proc/1/root/ /proc/1/cwd/ /var/lib/assay /root /home 2>/dev/null | grep -q . && echo 'listed directories of others'",
  `python3 -c 'import socket; socket.create_connection(("1.1.1.1", 53), 2)' 2>/dev/null && echo connected`,
  `python3 -c 'import socket; socket.create_connection(("127.0.0.1", 22), 2)' 2>/dev/null && echo 'connected to the host'`,
  // Only directories, because each file that is examined takes memory of the kernel. layers.test.ts examines the files of the image.
  "find / -xdev -type d -writable ! -path '/box*' ! -path '/tmp*' ! -path '/proc*' ! -path '/dev*' 2>/dev/null | grep . && echo 'found a writable directory'",
  "kill -9 1 2>/dev/null && echo 'ended the first process'",
  "find /proc -maxdepth 1 -name '[0-9]*' ! -uid $(id -u) | grep . && echo 'saw a process of another user'",
  "find /proc/[0-9]*/fd \\( -lname '/var/*' -o -lname '/root/*' -o -lname '/home/*' \\) 2>/dev/null | grep . && echo 'got a descriptor of the host'",
  // A runtime adds variables of its own. None is of the service, and those of every box stay.
  "cat /proc/[0-9]*/environ | tr '\\000' '\\n' | grep -vx 'USER=user' | grep -E '^(ASSAY|SUDO|SSH|XDG|USER|LOGNAME)' && echo 'saw variables of the service'",
  "cat /proc/[0-9]*/environ | tr '\\000' '\\n' | grep -qx HOME=/box || echo 'has another home directory'",
  'for limit in c n p v; do (ulimit -H -$limit unlimited) 2>/dev/null && [ $(ulimit -H -$limit) != unlimited ] && echo "raised limit $limit"; done',
  "(sh -c 'kill -ABRT $$'; true) 2>/dev/null; find /box /tmp -name 'core*' | grep . && echo 'left a core file'",
];

const FAILED = "every try failed\n";
const SEVEN = /^RE nonzero_exit 7 null$/;

export const HOSTILE: readonly Hostile[] = [
  {
    title: "a fork bomb is PLE",
    script: "while :; do sleep 60 & done\n",
    ends: /^PLE pids_limit /,
    leaves: true,
  },
  {
    title: "cannot leave its box",
    script: `${tries.join("\n")}\necho 'every try failed'\n`,
    ends: SEVEN,
    stdout: FAILED,
  },
  {
    title: "a child that kills every process is SIG",
    script: "kill -9 -1\n",
    ends: /^SIG fatal_signal null 9$/,
  },
  {
    title: "a child that sends the signals of limits forges no limit",
    // The second signal has no receiver if the first one ended the wait of the runtime, which then ended with 7.
    script: "trap '' XCPU XFSZ\nkill -s XCPU -- -1 || echo 'not sent'\nkill -s XFSZ -- -1\n",
    // The exit code is 1 if the runtime has a helper between itself and the shell, which the signal ends.
    ends: /^(RE nonzero_exit [17] null|SIG fatal_signal null 2[45])$/,
    stdout: "",
  },
  {
    title: "daemons end with the program",
    script:
      "if command -v epmd >/dev/null; then epmd -daemon; fi\nfor n in 1 2 3; do setsid sh -c 'trap \"\" HUP INT TERM; while :; do sleep 1; done' </dev/null >/dev/null 2>&1 & done\n",
    ends: SEVEN,
    leaves: true,
  },
  {
    title: "a child with endless output is cut off",
    script: "yes | head -c 50000000\n",
    // Some runtimes keep the output of a child in memory.
    ends: /^(RE nonzero_exit 7 null|MLE oom_kill null 9)$/,
    floods: true,
  },
  {
    title: "a child that writes a big file is FSE",
    script: "head -c 30000000 /dev/zero >big\n",
    ends: /^FSE file_size_limit 7 null$/,
  },
  {
    title: "a program that damages its own files does not change its next run",
    script:
      'find /box -type f ! -name attack.sh | while read -r file; do (echo damaged >"$file") 2>/dev/null; rm "$file" && echo removed; done | sort -u\n',
    ends: SEVEN,
    stdout: "removed\n",
    twice: true,
  },
];
