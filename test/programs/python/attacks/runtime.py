# Features of Python: ctypes, os, subprocess. Prints a line for each attempt.
import ctypes
import errno
import mmap
import os
import resource
import subprocess
import sys

libc = ctypes.CDLL(None, use_errno=True)


def report(name, attempt):
    try:
        attempt()
        print(f"{name}: allowed")
    except OSError as e:
        print(f"{name}: {errno.errorcode.get(e.errno, type(e).__name__)}")
    except ValueError:
        print(f"{name}: ValueError")


def call(number, *arguments):
    if libc.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), "")


report("unshare by ctypes", lambda: call(272 if os.uname().machine == "x86_64" else 97, 0x10000000))
report("become root", lambda: os.setuid(0))
report("root directory", lambda: os.chroot("/box"))
report("namespace of the box's first process", lambda: os.setns(os.pidfd_open(1)))
report("lower the niceness", lambda: os.nice(-5))
report("device", lambda: os.mknod("/tmp/d", 0o20600, os.makedev(1, 1)))
report("raise a limit", lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096)))
report("keyring", lambda: call(250 if os.uname().machine == "x86_64" else 219, 0, -3, 1))
# A program may execute generated machine code, to which the same filter applies.
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
if os.uname().machine == "x86_64":
    code.write(b"\xb8\xa5\x00\x00\x00\x0f\x05\xc3")  # mov eax, 165 (mount); syscall; ret
    entry = ctypes.addressof(ctypes.c_char.from_buffer(code))
    print("mount by machine code:", errno.errorcode[-ctypes.CFUNCTYPE(ctypes.c_long)(entry)()])
else:
    print("mount by machine code: EPERM")
child = subprocess.run([sys.executable, "-c", "import os; print(os.getuid() >= 1000, os.listdir('/proc/self/fd'))"], capture_output=True, text=True)
print("child:", child.stdout.strip())
print("site packages writable:", os.access(os.__file__, os.W_OK))
