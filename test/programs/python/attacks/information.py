# Prints, a line for each, what a program can learn about the machine, the service and earlier runs.
import ctypes
import errno
import glob
import os
import re
import socket
import sys

libc = ctypes.CDLL(None, use_errno=True)


def show(name, *value):
    print(f"{name}:", *value)


def text(path):
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError as e:
        return errno.errorcode[e.errno]


show("environment", *(f"{name}={value}" for name, value in os.environ.items()))
show("arguments", *sys.orig_argv)
show("descriptors", *sorted(name for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}")))
show("proc", *sorted(name for name in os.listdir("/proc") if not name.isdigit()))
show("processes", *(name for name in os.listdir("/proc") if name.isdigit()))
for name in ("meminfo", "cpuinfo", "cmdline", "loadavg", "uptime", "stat", "version", "modules", "partitions", "sys", "sysvipc/shm", "keys", "locks", "net/../1/maps"):
    show(f"proc {name}", "there" if os.path.exists(f"/proc/{name}") else "absent")
mounts = [line.split() for line in text("/proc/self/mountinfo").splitlines()]
show("mount points", *sorted(mount[4] for mount in mounts))
show("mount roots", *sorted({mount[3] for mount in mounts}))
show("mount sources", *sorted({mount[mount.index("-") + 2] for mount in mounts}))
show("mount options of the root", next(mount[5] for mount in mounts if mount[4] == "/"))
show("writable mounts", *sorted(mount[4] for mount in mounts if mount[5].split(",")[0] == "rw"))
show("mountinfo", re.sub(r"\s+", " ", text("/proc/self/mountinfo")))
show("groups", *sorted({line.split(":", 2)[2] for line in text("/proc/self/cgroup").splitlines()}))
show("host name", socket.gethostname(), os.uname().nodename)
show("domain", repr(ctypes.create_string_buffer(65).value.decode()))
show("kernel version", os.uname().version)
show("accounts", *(line.split(":")[0] for line in text("/etc/passwd").splitlines()))
show("hosts", *text("/etc/hosts").split())
show("resolver", text("/etc/resolv.conf"))
show("machine id", text("/etc/machine-id"))
show("boot id", text("/proc/sys/kernel/random/boot_id"))
show("time zone", os.path.exists("/etc/timezone"), os.readlink("/etc/localtime") if os.path.islink("/etc/localtime") else "no link")
show("kernel log", libc.klogctl(3, ctypes.create_string_buffer(64), 64), errno.errorcode[ctypes.get_errno()])
show("login records", glob.glob("/var/log/*") + glob.glob("/run/*"))
root = os.statvfs("/")
show("size of the root", root.f_blocks * root.f_frsize)
show("inodes of the root", root.f_files)
show("owners in the image", *sorted({os.lstat(os.path.join(place, name)).st_uid for place in ("/", "/usr", "/etc") for name in os.listdir(place)} - {os.getuid()}))
show("unix sockets", len(text("/proc/self/net/unix").splitlines()) - 1)
show("network devices", *re.findall(r"^ *(\S+):", text("/proc/self/net/dev"), re.M))
show("traffic", sum(int(number) for number in re.findall(r"\d+", text("/proc/self/net/dev").split("lo:")[-1])))
show("routes", len(text("/proc/self/net/route").splitlines()[1:]))
show("connections", len(text("/proc/self/net/tcp").splitlines()) - 1)
show("box", *os.listdir("/box"))
show("tmp", *os.listdir("/tmp"))
show("shm", *os.listdir("/dev/shm"))
show("session", os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid(), os.getppid())
show("terminal", text("/dev/tty"))
show("kernel stack", text("/proc/self/stack"))
show("kernel addresses", text("/proc/kallsyms"))
show("physical pages", os.pread(os.open("/proc/self/pagemap", os.O_RDONLY), 8, (id(libc) >> 12) * 8).hex()[:10])
