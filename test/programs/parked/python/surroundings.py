"""What a program can see of the way in which it was started."""
import builtins
import gc
import inspect
import os
import signal
import sys

print(sys.argv, sys.orig_argv, sys._xoptions, sys.flags, sys.warnoptions)
print(sys.path, sys.executable, sys.prefix, sys.version_info[:2], sys.dont_write_bytecode)
print(__name__, __file__, __doc__, __package__, __spec__, type(__loader__).__name__, sorted(globals()))
print(sorted(os.environ.items()), os.getcwd(), os.getpid(), os.getppid(), os.getpgrp() == os.getpid())
print(sorted(os.listdir("/proc/self/fd"), key=int), os.listdir("."), os.umask(0o22))
print([(name, hasattr(builtins, name)) for name in ("exit", "quit", "copyright", "help", "_")])
print(len(inspect.stack()), sys.getrecursionlimit(), gc.isenabled(), gc.get_threshold())
print([(s.name, signal.getsignal(s)) for s in signal.valid_signals() if not isinstance(s, int) or s < 32 and hasattr(s, "name")])
print([(stream.name, stream.encoding, stream.errors, stream.line_buffering, stream.isatty()) for stream in (sys.stdin, sys.stdout, sys.stderr)])
print(sorted(name for name in sys.modules))
print(sys.stdin.tell(), sys.stdin.read())
