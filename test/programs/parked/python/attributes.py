"""What the kernel keeps for a process, its threads, mappings and descriptors: in the program, a thread, a child and a grandchild."""
import ctypes
import os
import re
import sys
import threading

# Numbers and amounts that differ between two new programs as well.
VARIES = re.compile(r"^(State|Tgid|Ngid|Pid|PPid|NS\w+|Vm\w+|Rss\w+|HugetlbPages|SigQ|\w*voluntary_ctxt_switches|Cpus_allowed_list):")
# The stack limit lets the program start by itself.
OWN = re.compile(r"^Max stack size")
# Flags of mappings that follow from protection, source, history and limits (image/freeze/save-memory.c).
PLAIN = set("rd wr ex mr mw me sh ms io pf dw sd gd ac nr mt de".split())
OF_PROCESS = "personality limits oom_score_adj loginuid sessionid cgroup uid_map gid_map mountinfo environ cmdline timerslack_ns coredump_filter timers".split()
libc = ctypes.CDLL(None)
libm = ctypes.CDLL("libm.so.6")
libc.pthread_self.restype = ctypes.c_size_t


def read(path):
    try:
        with open(path, encoding="latin1") as file:
            text = file.read().replace("-X\0assay_park\0", "")
            return re.sub(r"(?m)^\d+ \d+ \d+:\d+ /", "/", text) if path.endswith("mountinfo") else text
    except OSError as error:
        return error.strerror


def of_thread(task):
    for line in read(f"{task}/status").splitlines():
        if line.startswith("Cpus_allowed:"):
            yield f"CPUs {int(line.split()[1].replace(',', ''), 16).bit_count()}"
        elif not VARIES.match(line):
            yield line
    fields = read(f"{task}/stat").rpartition(") ")[2].split()
    yield "stat " + str([fields[number - 3] for number in (7, 9, 18, 19, 20, 21, 25, 38, 40, 41)])
    yield f"comm {read(f'{task}/comm')}"
    # PR_GET_PDEATHSIG writes to its argument, the others return their values.
    signal = ctypes.c_int(-1)
    libc.prctl(2, ctypes.byref(signal))
    yield f"prctl {signal.value} {[libc.prctl(option) for option in (3, 21, 39)]}"
    yield f"floating point {libm.fegetround()} {libm.fegetexcept()} {libm.fetestexcept(0x3f)}"
    cpu_id = libc.pthread_self() + ctypes.c_ssize_t.in_dll(libc, "__rseq_offset").value + 4
    yield f"restartable sequences {ctypes.c_int.from_address(cpu_id).value >= 0}"


def of_mappings():
    sizes = {}
    name = size = ""
    for line in read("/proc/self/smaps").splitlines():
        key, *words = line.split()
        if not key.endswith(":"):
            name = words[4] if len(words) == 5 and words[4].startswith("[v") else ""
        elif key == "Size:":
            size = int(words[0])
        elif key == "VmFlags:" and (flags := " ".join(sorted(set(words) - PLAIN))):
            # Stacks of threads are as large as the stack limit.
            sizes[flags, name] = sizes.get((flags, name), 0) + (size if flags != "nh" else 0)
    return sorted(sizes.items())


def of_process():
    for name in OF_PROCESS:
        yield from (f"{name} {line}" for line in read(f"/proc/self/{name}").splitlines() if not OWN.match(line))
    for link in ("cwd", "root"):
        yield f"{link} {os.readlink(f'/proc/self/{link}')}"
    yield f"mappings {of_mappings()}"
    for fd in sorted(map(int, os.listdir("/proc/self/fd"))):
        if info := read(f"/proc/self/fdinfo/{fd}").split("mnt_id")[0].split():
            yield f"descriptor {fd} {re.sub('[0-9]+', '', os.readlink(f'/proc/self/fd/{fd}'))} {info}" if info[0] == "pos:" else "closed"


def describe(who):
    print("---", who, "\n" + "\n".join([*of_thread("/proc/thread-self"), *of_process()]), flush=True)


def beget(who, *others):
    pid = os.fork()
    if pid == 0:
        describe(who)
        if others:
            beget(*others)
        os._exit(0)
    os.waitpid(pid, 0)


os.urandom(1)
describe("program")
thread = threading.Thread(target=describe, args=["thread"])
thread.start()
thread.join()
beget("child", "grandchild")
