"""What the interpreter has learned about itself, its user and the machine."""
import gc
import locale
import os
import platform
import re
import resource
import signal
import site
import sys
import threading
import time

# Those that need an argument are skipped below.
GETTERS = [name for name in dir(sys) if name.startswith("get") and not re.search("sizeof|refcount|internedsize|allocatedblocks", name)]
for name in sorted(dir(sys)):
    value = getattr(sys, name)
    if name in GETTERS:
        try:
            value = value()
        except TypeError:
            continue
    if name != "modules" and not callable(value):
        value = sorted(value) if isinstance(value, frozenset) else value
        print(name, re.sub(r" at 0x[0-9a-f]+", "", str(value)))
print(locale.getlocale(), locale.setlocale(locale.LC_ALL), time.tzname, time.timezone, platform.platform())
print(site.getusersitepackages(), site.getsitepackages(), site.ENABLE_USER_SITE, os.path.expanduser("~"), os.get_exec_path())
print(os.cpu_count(), os.process_cpu_count(), os.getpriority(0, 0), os.sched_getscheduler(0), os.sched_getparam(0))
print(threading.main_thread().native_id == os.getpid(), threading.get_native_id() == os.getpid(), threading.stack_size())
print([(name, resource.getrlimit(getattr(resource, name))) for name in dir(resource) if re.match("RLIMIT_(?!STACK)", name)])
print(gc.get_stats()[2]["collections"], signal.getitimer(0), signal.pthread_sigmask(0, []), signal.sigpending(), signal.set_wakeup_fd(-1))
print(time.thread_time() < 5, time.process_time() < 5, sys.stdout.write_through, os.sysconf("SC_NPROCESSORS_ONLN"))
