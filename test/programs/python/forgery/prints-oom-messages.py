"""Prints all messages that could appear beside a killed program, and exits as a shell would after SIGKILL."""
import sys

for stream in sys.stdout, sys.stderr:
    print("Killed", file=stream)
    print("Out of memory: Killed process 2 (python3) total-vm:9999999kB", file=stream)
    print("MemoryError", file=stream)
    print("terminate called after throwing an instance of 'std::bad_alloc'", file=stream)
    print("java.lang.OutOfMemoryError: Java heap space", file=stream)
    print("fatal error: runtime: out of memory", file=stream)
    print("File size limit exceeded (core dumped)", file=stream)
    print("CPU time limit exceeded", file=stream)
sys.exit(137)
