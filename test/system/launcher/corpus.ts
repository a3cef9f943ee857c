import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { type Entry, entry, step } from "./raw.ts";

/**
 * The seed corpora of the fuzzers, one directory for each target: inputs as the kernel or the service writes them and
 * variants, one for each branch that is hard to find by chance. `node test/system/launcher/corpus.ts` writes the files. Inputs
 * found by long runs (launcher/fuzz/run) are in the same directories, named by hash.
 */
export const CORPUS_DIRECTORY = new URL("../../../launcher/fuzz/corpus/", import.meta.url);

const PLAIN = step(["/bin/true"]);
const files = (...names: string[]): Entry[] =>
  names.flatMap((name): Entry[] => [
    ["FILE_NAME", name],
    ["FILE_DATA", `content of ${name}`],
  ]);

const TOKEN = "0123456789abcdef".repeat(2);
const HOLD: readonly Entry[] = [
  ["HOLD_MEMORY", 1 << 28],
  ["HOLD_PROCESSES", 64],
  ["HOLD_DISK", 1 << 26],
  ["HOLD_INODES", 4096],
  ["HOLD_ON_DISK", 0],
  ["HOLD_ACCOUNT", 7],
];
const BODIES: Readonly<Record<string, readonly Entry[]>> = {
  "01-nothing": [],
  "02-plain": PLAIN,
  "03-files": [...PLAIN, ...files("main.c", "a+b_c-d.h")],
  "04-second-step": step(["./main"], { KEEP_WORK: 1 }),
  "05-first-step": [...step(["/usr/bin/gcc", "main.c", "-o", "main"], { MORE: 1 }), ...files("main.c")],
  "06-many-arguments": step(Array(128).fill("a")),
  "07-too-many-arguments": step(Array(129).fill("a")),
  "08-many-variables": [...PLAIN, ...Array(63).fill(["ENV", "A=b"])],
  "09-most-files": [...PLAIN, ...files(...Array.from({ length: 16 }, (_, i) => `f${i}`))],
  "10-same-name": [...PLAIN, ...files("a", "a")],
  "11-path": [...PLAIN, ...files("../a")],
  "12-name-alone": [...PLAIN, ["FILE_NAME", "a"]],
  "13-no-value": [...PLAIN, ["ENV", "ALONE"]],
  "14-nul": [...PLAIN, ["ARG", "a\0b"]],
  "15-files-into-kept-work": [...step(["./main"], { KEEP_WORK: 1 }), ...files("a")],
  "16-twice": [...PLAIN, ["MORE", 1]],
  "17-unknown": [...PLAIN, [255, "?"]],
  "18-of-another-frame": [...PLAIN, ["EXIT_CODE", 0]],
  "19-short-number": [...PLAIN.filter(([key]) => key !== "MORE"), ["MORE", "four"]],
  "20-too-much": step(["/bin/true"], { WALL_MS: 1n << 63n }),
  "21-missing": PLAIN.slice(0, -1),
  "23-kept": [...step(["./main"], { KEEP_FILES: 1 }), ...files("main")],
  "24-kept-with-work": step(["./main"], { KEEP_WORK: 1, KEEP_FILES: 1 }),
  "25-live": step(["./main"], { LIVE_STDIN: 1 }),
  "26-live-with-input": step(["./main"], { LIVE_STDIN: 1, STDIN: "a" }),
  "27-names": [...PLAIN, ...files("my data.txt", "д/é", "日本語", "𝒳", "a".repeat(255))],
  "28-half-a-character": [...PLAIN, ["FILE_NAME", Buffer.from([0xd0])], ["FILE_DATA", ""]],
  "29-slash-of-two-bytes": [...PLAIN, ["FILE_NAME", Buffer.from([97, 0xc0, 0xaf, 98])], ["FILE_DATA", ""]],
  "30-control-character": [...PLAIN, ["FILE_NAME", "a\u0085"], ["FILE_DATA", ""]],
  "50-modes": [...PLAIN, ...files("a", "b"), ["FILE_MODES", Buffer.from([0xed, 0x01, 0xff, 0xff])]],
  "51-directory": [...PLAIN, ["FILE_NAME", "a"], ["FILE_DATA", ""], ["FILE_MODES", Buffer.from([0xed, 0x41])]],
  "52-too-few-modes": [...PLAIN, ...files("a", "b"), ["FILE_MODES", Buffer.from([0xed, 0x01])]],
  "53-no-mode": [...PLAIN, ...files("a"), ["FILE_MODES", Buffer.from([0xed, 0x0f])]],
  "60-sandbox": [...PLAIN, ["SANDBOX", TOKEN], ["CWD", "/tmp"], ["LEAVE_PROCESSES", 1], ["PACED", 1]],
  "61-terminal": [...step(["sh"], { LIVE_STDIN: 1 }), ["SANDBOX", TOKEN], ["ROWS", 24], ["COLUMNS", 80]],
  "62-half-a-terminal": [...step(["sh"], { LIVE_STDIN: 1 }), ["SANDBOX", TOKEN], ["ROWS", 24]],
  "63-no-token": [...PLAIN, ["SANDBOX", "../".padEnd(32, "a")]],
  "64-paced-without-sandbox": [...PLAIN, ["PACED", 1]],
  "65-files-into-a-sandbox": [...PLAIN, ...files("a"), ["SANDBOX", TOKEN]],
  "66-hold": HOLD,
  "67-hold-of-nothing": [["HOLD_MEMORY", 0], ...HOLD.slice(1)],
  "68-rejoin": [["REJOIN_TOKEN", TOKEN]],
  "69-hold-with-a-network": [...HOLD, ["HOLD_NETWORK", TOKEN]],
  "70-hold-with-no-token": [...HOLD, ["HOLD_NETWORK", "../".padEnd(32, "a")]],
  "54-directory-with-data": [...PLAIN, ...files("a"), ["FILE_MODES", Buffer.from([0xed, 0x41])]],
};

function wire(): Map<string, Buffer> {
  const bodies = Object.entries(BODIES).map(([name, entries]): [string, Buffer] => [name, body(entries)]);
  return new Map([...bodies, ["22-torn", body(PLAIN).subarray(0, -3)]]);
}

const body = (entries: readonly Entry[]) => Buffer.concat(entries.map(([key, value]) => entry(key, value)));
const text = (parts: Readonly<Record<string, string>>) =>
  new Map(Object.entries(parts).map(([name, content]) => [name, Buffer.from(content, "latin1")]));

const STEP = 2;
const PEER = 12;
const [INPUT, SIGNAL, RESIZE] = [13, 14, 25];
const framed = (content: Buffer, type = STEP) => {
  const header = Buffer.alloc(5, type);
  header.writeUInt32LE(content.length);
  return Buffer.concat([header, content]);
};

function slot(): Map<string, Buffer> {
  const plain = framed(body(PLAIN));
  const tooLong = Buffer.from([1, 0, 144, 0, STEP]);
  return new Map([
    ["01-nothing", Buffer.alloc(0)],
    ["02-one", plain],
    ["03-two", Buffer.concat([plain, framed(body(step(["./main"], { KEEP_WORK: 1 })))])],
    ["04-of-another-kind", Buffer.concat([plain, framed(Buffer.alloc(3), 3)])],
    ["05-too-long", Buffer.concat([tooLong, plain])],
    ["06-empty", Buffer.concat([plain, framed(Buffer.alloc(0))])],
    ["07-cut-off", plain.subarray(0, -1)],
    ["08-cut-off-header", plain.subarray(0, 3)],
    ["09-peer", Buffer.concat([framed(body(PLAIN), PEER), plain, plain])],
    ["10-two-peers", Buffer.concat([framed(body(PLAIN), PEER), framed(body(PLAIN), PEER)])],
    ["11-peer-of-a-first-step", Buffer.concat([framed(body(PLAIN), PEER), framed(body(step(["a"], { MORE: 1 })))])],
    ["12-late-input", Buffer.concat([framed(Buffer.from("a"), INPUT), framed(Buffer.of(9), SIGNAL), plain])],
    [
      "13-late-input-too-long",
      Buffer.concat([framed(Buffer.alloc(0), INPUT), Buffer.from([1, 0, 1, 0, INPUT]), plain]),
    ],
    [
      "14-peer-of-a-live-step",
      Buffer.concat([framed(body(PLAIN), PEER), framed(body(step(["a"], { LIVE_STDIN: 1 })))]),
    ],
    ["15-late-size", Buffer.concat([framed(Buffer.from([24, 0, 80, 0]), RESIZE), plain])],
    ["16-step-in-a-sandbox", Buffer.concat([framed(body([...PLAIN, ["SANDBOX", TOKEN]])), plain])],
  ]);
}

const STATUS = (uid: number, privileges: string, filter: number) =>
  [
    `Name:\tassay-launcher\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t7\nUid:\t${`${uid}\t`.repeat(3)}${uid}`,
    `Gid:\t${`${uid}\t`.repeat(3)}${uid}\nFDSize:\t64\nGroups:\t \nNStgid:\t7\t2\nCapInh:\t0000000000000000`,
    `CapPrm:\t${privileges}\nCapEff:\t${privileges}\nCapBnd:\t0000000000000000\nCapAmb:\t0000000000000000`,
    `NoNewPrivs:\t1\nSeccomp:\t${filter}\nSeccomp_filters:\t1\n`,
  ].join("\n");
const NONE = "0000000000000000";
const MEMBER = "12:pids:/assay-t/s0-b1\n4:memory:/assay-t/s0-b1\n0::/assay-t/s0-b2\n";
const ROOT = "60 59 0:40 / / ro,nosuid,nodev,relatime - overlay image ro,lowerdir=/dev/shm:/\n";
const PROC = (options: string) => `61 60 0:41 / /proc ${options} - proc proc rw,hidepid=invisible,subset=pid\n`;
const BOX = "62 60 0:42 / /box rw,nosuid,nodev,relatime - tmpfs tmpfs rw,size=1024k,nr_inodes=64\n";

const controls = () =>
  text({
    "01-nothing": "",
    "02-all-held": `${STATUS(1234, NONE, 2)}\0${MEMBER}\0${ROOT}${BOX}${PROC("ro,nosuid,nodev,noexec")}`,
    "03-root": `${STATUS(0, "000001ffffffffff", 0)}\0${MEMBER}\0${ROOT}`,
    "04-capability-without-digits": `${STATUS(1234, "", 2)}\0${MEMBER}\0`,
    "05-filter-of-two-digits": `${STATUS(1234, NONE, 20)}\0${MEMBER}\0`,
    "06-in-one-group-alone": `${STATUS(1234, NONE, 2)}\0${MEMBER.slice(MEMBER.indexOf("4"))}\0`,
    "07-proc-of-all": `\0\0${ROOT}${PROC("rw,nosuid,nodev,noexec")}`,
    "08-something-over-the-root": `\0\0${ROOT}${ROOT.replace("overlay image", "ext4 /dev/vda")}`,
    "09-no-type": `\0\0${ROOT.split(" - ")[0]}\n`,
  });

const box = () =>
  text({
    "01-nothing": "",
    "02-the-same": `${ROOT}${BOX}\0${ROOT}${BOX}`,
    "03-one-more": `${ROOT}\0${ROOT}${PROC("ro")}`,
    "04-a-number-that-ends-another": `1${PROC("ro")}\0${PROC("ro")}`,
    "05-nine-more": `\0${PROC("ro").repeat(9)}`,
    "06-cut-off": `${ROOT}\0${ROOT.slice(0, -9)}`,
    "07-work": `${PROC("ro")}\0${PROC("ro")}${BOX}`,
  });

const EVENTS = "low 0\nhigh 0\nmax 17\noom 2\noom_kill 1\noom_group_kill 0\n";
const OWN = "9:name=systemd:/\n8:pids:/docker/1\n4:memory:/docker/1\n0::/docker/1\n";
const TREES = [
  "30 22 0:26 /docker/1 /sys/fs/cgroup/memory rw,nosuid - cgroup cgroup rw,memory",
  "31 22 0:27 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids",
  "32 22 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n",
].join("\n");

/** The first byte selects the reader: a number in a file, a group's member list, or the launcher's own groups. */
const cgroup = () =>
  text({
    "01-nothing": "",
    "02-events": `\0${EVENTS}`,
    "03-number": "\x0018446744073709551615\n",
    "04-no-limit": "\0max\n",
    "05-pressure":
      "\0some avg10=0.00 avg60=0.00 avg300=0.00 total=4711\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=42\n",
    "06-pressure-of-the-next-line": "\0some avg10=0.00\nfull total=42\n",
    "07-too-large": "\x0018446744073709551616\n",
    "08-signed": "\0-1\n",
    "09-no-number": "\0usage_usec \nusage_usec 5\n",
    "10-v1": "\0oom_kill_disable 0\nunder_oom 0\noom_kill 3\n",
    "11-usage": "\0usage_usec 1234567\nuser_usec 1\npopulated 1\n",
    "20-members": "\x011\n42\n4711\n",
    "21-cut-off": "\x0142\n4",
    "22-more-than-a-pid": "\x014294967297\n-1\n0\n",
    "30-trees": `\x02${TREES}\0${OWN}`,
    "31-longer-name": `\x02${TREES}\0${OWN.replaceAll("/docker/1", "/docker/10/a")}`,
    "33-no-path": `\x02${TREES}\0${OWN.replaceAll("/docker/1", "docker")}`,
    "32-outside": `\x02${TREES}\0${OWN.replaceAll("/docker", "/../docker")}`,
  });

const chosen = (choice: number, ...rest: (Buffer | string)[]) =>
  Buffer.concat([Buffer.from([choice]), ...rest.map((part) => Buffer.from(part as string))]);
const HAND_BYTES = 4760;

/**
 * The first byte selects the reader: output, the memory shared with the program, the strings of a request, or the samples
 * of a run.
 */
function supervise(): Map<string, Buffer> {
  return new Map([
    ["01-nothing", Buffer.alloc(0)],
    ["02-output", chosen(0, Buffer.from([0, 40]), "what a program says, and says, and says again")],
    ["03-packets", chosen(0, Buffer.from([7, 1]), "0123456789abcdefghijklmnopqrstuvwxyz".repeat(5))],
    ["04-nothing-kept", chosen(0, Buffer.from([1, 0]), "for nobody")],
    ["10-hand", chosen(1, Buffer.alloc(HAND_BYTES))],
    ["11-hand-full", chosen(1, Buffer.alloc(HAND_BYTES, 255))],
    ["20-strings", chosen(2, body(PLAIN))],
    ["21-many", chosen(2, body(step(Array(128).fill("a"))))],
    ["30-samples", chosen(3, Buffer.from([10, 1, 2, 3, 0, 9, 9, 5, 1, 4]))],
    [
      "31-full",
      chosen(3, Buffer.from([10]), Buffer.from(Array.from({ length: 390 }, (_, i) => [1, 2, i % 251]).flat())),
    ],
  ]);
}

/** File contents by target and file name. */
export const CORPUS: Readonly<Record<string, ReadonlyMap<string, Buffer>>> = {
  box: box(),
  cgroup: cgroup(),
  controls: controls(),
  slot: slot(),
  supervise: supervise(),
  wire: wire(),
};

/** Whether a long run found the input; others are written here. */
export const isFound = (name: string) => /^[0-9a-f]{40}$/.test(name);

if (import.meta.main) {
  for (const [target, inputs] of Object.entries(CORPUS)) {
    const directory = new URL(`${target}/`, CORPUS_DIRECTORY);
    mkdirSync(directory, { recursive: true });
    for (const name of readdirSync(directory)) if (!isFound(name)) rmSync(new URL(name, directory));
    for (const [name, content] of inputs) writeFileSync(new URL(name, directory), content);
  }
}
