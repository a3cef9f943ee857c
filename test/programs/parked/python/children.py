import multiprocessing
import os
import subprocess
import sys

script = "import sys; print(sys.argv, sys._xoptions, sys.flags.isolated, sys.stdin.read())"
if __name__ == "__main__":
    print(subprocess.run([sys.executable, "-c", script], input="in", text=True, capture_output=True), flush=True)
    pid = os.fork()
    if pid == 0:
        os._exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(abs, [-1, -2]))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(abs, [-3]))
