"""Starts a program of its own name in another directory, in the way in which it was started itself."""
import os
import subprocess
import sys

if os.getcwd() != "/box":
    sys.exit("the program itself was started")
os.mkdir("other")
with open("other/main.py", "w") as program:
    program.write("import os, sys\nprint(os.getcwd(), sys.argv, sys.path[0], __file__)\n")
open("input", "w").close()
for command in sys.executable, "python3":
    with open("input") as stdin:
        ended = subprocess.run([command, "main.py"], cwd="other", stdin=stdin, capture_output=True, text=True)
    print(command, ended.returncode, ended.stdout, ended.stderr)
